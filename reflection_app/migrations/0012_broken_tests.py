from django.db import migrations, models

REASONS = (
    "rejected",
    "low_confidence",
    "unsettled_pick",
    "broken_tests",
    "audit",
    "checkpoint",
    "policy",
    "asked_for",
    "adjudication",
)


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0011_what_is_unknown")]

    operations = [
        migrations.AlterField(
            model, "reason", models.CharField(max_length=20, choices=[(reason, reason) for reason in REASONS])
        )
        for model in ("review", "panel")
    ]
