from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0011_what_is_unknown")]

    operations = [migrations.AddField("profile", "must_change_password", models.BooleanField(default=False))]
