from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("notebook_app", "0003_recalls_summed_apart"),
    ]

    operations = [
        # As the widest column, `search` would be the first to be moved out of a row of more than 2 KB, and recall reads
        # it of up to a thousand rows at a time: each would be two more look-ups. Rows that are there follow as they
        # are written next.
        migrations.RunSQL(
            "ALTER TABLE notebook_app_entry ALTER COLUMN search SET STORAGE MAIN",
            "ALTER TABLE notebook_app_entry ALTER COLUMN search SET STORAGE EXTENDED",
        ),
    ]
