from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reflection_app", "0001_squashed_0036_recurring_by_meaning"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="review",
            field=models.CharField(
                choices=[("policy", "policy"), ("required", "required")], default="policy", max_length=8
            ),
        ),
        migrations.AlterField(
            model_name="panel",
            name="reason",
            field=models.CharField(
                choices=[
                    ("rejected", "rejected"),
                    ("low_confidence", "low_confidence"),
                    ("unsettled_pick", "unsettled_pick"),
                    ("broken_tests", "broken_tests"),
                    ("audit", "audit"),
                    ("checkpoint", "checkpoint"),
                    ("policy", "policy"),
                    ("asked_for", "asked_for"),
                    ("adjudication", "adjudication"),
                    ("required", "required"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="review",
            name="reason",
            field=models.CharField(
                choices=[
                    ("rejected", "rejected"),
                    ("low_confidence", "low_confidence"),
                    ("unsettled_pick", "unsettled_pick"),
                    ("broken_tests", "broken_tests"),
                    ("audit", "audit"),
                    ("checkpoint", "checkpoint"),
                    ("policy", "policy"),
                    ("asked_for", "asked_for"),
                    ("adjudication", "adjudication"),
                    ("required", "required"),
                ],
                max_length=20,
            ),
        ),
    ]
