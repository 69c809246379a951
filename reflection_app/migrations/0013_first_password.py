from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0012_broken_tests")]

    operations = [migrations.AddField("profile", "must_change_password", models.BooleanField(default=False))]
