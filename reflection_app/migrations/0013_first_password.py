from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0009_the_engine_under_load")]

    operations = [migrations.AddField("profile", "must_change_password", models.BooleanField(default=False))]
