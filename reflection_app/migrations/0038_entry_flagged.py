from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0037_required_review")]

    operations = [
        migrations.AlterField(
            model_name="notification",
            name="kind",
            field=models.CharField(
                choices=[
                    ("mentioned", "Mentioned"),
                    ("commented", "Commented on"),
                    ("assigned", "Assigned"),
                    ("handed_over", "Handed over"),
                    ("adjudication", "Opinions differ"),
                    ("decision_undone", "Decision taken back"),
                    ("webhook_paused", "Webhook paused"),
                    ("webhook_gone", "Webhook switched off"),
                    ("channel_off", "Channel switched off"),
                    ("overdue", "Overdue"),
                    ("checks_suggested", "Checks suggested"),
                    ("entry_flagged", "Entry flagged"),
                ],
                max_length=16,
            ),
        ),
    ]
