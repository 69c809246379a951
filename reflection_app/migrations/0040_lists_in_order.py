from django.db import migrations, models


# Lists are filtered by kind and agent whatever their case. Without these PostgreSQL takes such a filter for a narrow
# one, and sorts all that fits it.
STATISTICS = {"task_kind_upper": "upper(kind)", "task_agent_upper": "upper(agent)"}


class Migration(migrations.Migration):
    dependencies = [
        ("reflection_app", "0039_supplementable_checks"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="agentinstruction",
            index=models.Index(fields=["project", "-created_at", "-id"], name="instruction_newest"),
        ),
        migrations.AddIndex(
            model_name="fixpair",
            index=models.Index(fields=["project", "-created_at", "-id"], name="fix_pair_newest"),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(fields=["project", "-created_at", "-id"], name="question_newest"),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["project", "-created_at", "-id"], name="review_newest"),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["project", "state", "-created_at", "-id"], name="review_by_state"),
        ),
        *(
            migrations.RunSQL(
                f"CREATE STATISTICS {name} ON ({expression}) FROM reflection_app_task",
                reverse_sql=f"DROP STATISTICS {name}",
            )
            for name, expression in STATISTICS.items()
        ),
    ]
