from django.db import migrations


class Migration(migrations.Migration):
    """Drop the keys that people chose for themselves: everybody has the same ones."""

    dependencies = [("reflection_app", "0045_plain_completeness_checks")]

    operations = [migrations.RemoveField(model_name="profile", name="review_keys")]
