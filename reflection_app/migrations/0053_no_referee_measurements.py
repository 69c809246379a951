from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0042_stored_thought")]

    operations = [migrations.DeleteModel(name="RefereeMeasurement")]
