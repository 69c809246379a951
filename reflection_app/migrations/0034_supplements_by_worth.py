from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reflection_app", "0033_seen"),
    ]

    operations = [
        migrations.AddField("completenesscheck", "cost_known", models.BooleanField(default=True)),
        migrations.AddField("completenesscheck", "second_look", models.JSONField(blank=True, null=True)),
        migrations.AddField("completenesscheck", "second_tokens", models.PositiveIntegerField(default=0)),
        migrations.AddField(
            "completenesscheck",
            "second_cost_usd",
            models.DecimalField(decimal_places=8, default=0, max_digits=16),
        ),
        migrations.AddField("supplement", "estimate", models.JSONField(blank=True, null=True)),
        migrations.AddField("supplement", "left_out", models.CharField(blank=True, default="", max_length=20)),
        migrations.AddField("supplement", "cost_known", models.BooleanField(default=True)),
        migrations.AddField("supplement", "seconds", models.FloatField(blank=True, null=True)),
        migrations.AlterField(
            "event",
            "type",
            models.CharField(
                choices=[
                    ("run.created", "Run Created"),
                    ("run.waiting", "Run Waiting"),
                    ("run.resumed", "Run Resumed"),
                    ("run.retried", "Run Retried"),
                    ("run.forked", "Run Forked"),
                    ("run.redone", "Run Redone"),
                    ("run.finished", "Run Finished"),
                    ("step.started", "Step Started"),
                    ("step.finished", "Step Finished"),
                    ("review.opened", "Review Opened"),
                    ("review.claimed", "Review Claimed"),
                    ("review.released", "Review Released"),
                    ("review.decided", "Review Decided"),
                    ("review.assigned", "Review Assigned"),
                    ("review.opinion", "Review Opinion"),
                    ("review.undone", "Review Undone"),
                    ("ticket.issued", "Ticket Issued"),
                    ("ticket.started", "Ticket Started"),
                    ("ticket.ended", "Ticket Ended"),
                    ("report.kept", "Report Kept"),
                    ("question.asked", "Question Asked"),
                    ("question.answered", "Question Answered"),
                    ("comment.added", "Comment Added"),
                    ("tool_failure.diagnosed", "Tool Failure Diagnosed"),
                    ("run.reflected", "Reflected"),
                    ("reflection", "Reflection"),
                    ("reflection_plan", "Reflection Plan"),
                    ("reflection_exec", "Reflection Exec"),
                    ("reflection_again", "Reflection Again"),
                ],
                max_length=30,
            ),
        ),
        migrations.AddIndex(
            "supplement",
            models.Index(fields=["project", "-created_at"], name="supplement_newest"),
        ),
    ]
