from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0008_referee_measurements")]

    operations = [
        migrations.AddField("run", "worker_deaths", models.PositiveSmallIntegerField(default=0)),
    ]
