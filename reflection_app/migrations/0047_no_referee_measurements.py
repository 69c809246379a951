from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0046_no_own_keys")]

    operations = [migrations.DeleteModel(name="RefereeMeasurement")]
