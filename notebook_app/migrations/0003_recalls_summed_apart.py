from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notebook_app", "0002_the_notebook")]

    operations = [
        # What was recorded before was counted at once.
        migrations.AddField("exposure", "is_summed", models.BooleanField(default=True)),
        migrations.AlterField("exposure", "is_summed", models.BooleanField(default=False)),
        migrations.AddIndex(
            "exposure",
            models.Index(fields=["project_id"], condition=models.Q(is_summed=False), name="exposure_unsummed"),
        ),
    ]
