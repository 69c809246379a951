import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

import reflection_app.core.ids

# Until now supplements recurred by their words alone: each of these is a group of its own, under the name that the
# notebook knows it by (`source_of` in repairs/recurring.py). Vectors come with the next checks of their kind.
GROUP = """
INSERT INTO reflection_app_supplementgroup (id, project_id, task_kind, source, vector, created_at)
SELECT gen_random_uuid(), project_id, task_kind, source, NULL, min(created_at)
FROM (
    SELECT s.project_id, s.task_kind, s.created_at, 'supplement:' || left(encode(sha256(
        convert_to(s.task_kind, 'UTF8') || '\\x00'::bytea || convert_to(s.operation_key, 'UTF8')
    ), 'hex'), 40) AS source
    FROM reflection_app_supplement s
    JOIN reflection_app_completenesscheck c ON c.id = s.completeness_check_id
    JOIN reflection_app_run r ON r.id = c.run_id
    WHERE r.parent_id IS NULL
) known
GROUP BY project_id, task_kind, source;

UPDATE reflection_app_supplement s
SET group_id = g.id
FROM reflection_app_supplementgroup g, reflection_app_completenesscheck c, reflection_app_run r
WHERE c.id = s.completeness_check_id AND r.id = c.run_id AND r.parent_id IS NULL
  AND g.project_id = s.project_id
  AND g.source = 'supplement:' || left(encode(sha256(
        convert_to(s.task_kind, 'UTF8') || '\\x00'::bytea || convert_to(s.operation_key, 'UTF8')
    ), 'hex'), 40);

-- Rows that were written have checks of their keys waiting, and PostgreSQL alters no table that has.
SET CONSTRAINTS ALL IMMEDIATE;
"""


EVENT_TYPES = [
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
    ("checks.suggested", "Checks Suggested"),
    ("completeness.incomplete", "Found Incomplete"),
    ("completeness.completed", "Completed"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("reflection_app", "0035_adaptive_checks"),
        ("notebook_app", "0006_refining_conflicts"),
    ]

    operations = [
        migrations.CreateModel(
            name="SupplementGroup",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("task_kind", models.CharField(blank=True, default="", max_length=60)),
                ("source", models.CharField(max_length=60)),
                ("vector", pgvector.django.halfvec.HalfVectorField(dimensions=384, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="supplement_groups",
                        to="reflection_app.project",
                    ),
                ),
            ],
            options={
                "ordering": ("created_at", "id"),
                "constraints": (
                    models.UniqueConstraint(fields=("project", "source"), name="supplement_group_once"),
                ),
                "indexes": [
                    models.Index(fields=["project", "task_kind", "-created_at"], name="supplement_group_of_kind")
                ],
            },
        ),
        migrations.AddField(
            model_name="supplement",
            name="group",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="supplements",
                to="reflection_app.supplementgroup",
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="type",
            field=models.CharField(choices=EVENT_TYPES, max_length=30),
        ),
        migrations.RunSQL(GROUP, migrations.RunSQL.noop),
    ]
