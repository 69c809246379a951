from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notebook_app", "0004_search_kept_in_the_row"),
    ]

    operations = [
        migrations.AddField(
            model_name="entry",
            name="read_by_weights",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(fields=["read_by_weights", "updated_at"], name="entry_to_read"),
        ),
    ]
