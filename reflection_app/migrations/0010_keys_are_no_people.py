"""Whose work a run is, who answers for a key, and which key decided, for what is there already as far as it is known."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

# 0 is the person of keys whose maker nobody knows, and what is handed in is of `Actor.hand` (core/audit.py).
BACKFILL = """
SET CONSTRAINTS ALL IMMEDIATE;

UPDATE reflection_app_apikey key SET created_by_label = maker.username
FROM auth_user maker WHERE maker.id = key.created_by_id;

UPDATE reflection_app_invitation invitation SET created_by_key_id = key.id
FROM reflection_app_apikey key
WHERE invitation.created_by_id IS NULL AND key.project_id = invitation.project_id
  AND invitation.created_by_label = 'key ' || key.name;

-- Whoever has another role by now was given it by somebody since, who knew of them.
UPDATE reflection_app_membership member SET invited_by_key_id = invitation.created_by_key_id
FROM reflection_app_invitation invitation
WHERE invitation.created_by_key_id IS NOT NULL AND invitation.accepted_by_id = member.user_id
  AND invitation.project_id = member.project_id AND invitation.role = member.role
  AND member.created_at >= invitation.created_at;

UPDATE reflection_app_run run SET handed_in_by = known.hands
FROM (
  SELECT run_id, array_agg(DISTINCT hand) AS hands
  FROM (
    SELECT run.id AS run_id, 'user:' || task.created_by_id AS hand
    FROM reflection_app_run run JOIN reflection_app_task task ON task.id = run.task_id
    WHERE task.created_by_id IS NOT NULL
    UNION ALL
    SELECT run.id, COALESCE('user:' || key.created_by_id, 'key:' || key.id)
    FROM reflection_app_auditentry entry
    JOIN reflection_app_apikey key ON key.id = entry.api_key_id
    JOIN reflection_app_run run ON run.task_id = entry.target_id
    WHERE entry.action = 'task.submitted'
    UNION ALL
    SELECT run.id, COALESCE('user:' || entry.user_id, 'user:' || key.created_by_id, 'key:' || entry.api_key_id)
    FROM reflection_app_auditentry entry
    JOIN reflection_app_run run ON run.id = entry.target_id
    LEFT JOIN reflection_app_apikey key ON key.id = entry.api_key_id
    WHERE (entry.action = 'attempt.handed_in' OR entry.action = 'run.forked' AND entry.after -> 'edited' <> '[]')
      AND (entry.user_id IS NOT NULL OR entry.api_key_id IS NOT NULL)
  ) found
  GROUP BY run_id
) known
WHERE known.run_id = run.id;

UPDATE reflection_app_review review SET handed_in_by = run.handed_in_by
FROM reflection_app_run run WHERE run.id = review.run_id AND run.handed_in_by <> '{}';

UPDATE reflection_app_review review SET decided_by_key_id = said.api_key_id
FROM (
  SELECT DISTINCT ON (target_id) target_id, api_key_id FROM reflection_app_auditentry
  WHERE action IN ('review.decided', 'review.opinion') ORDER BY target_id, created_at DESC, id DESC
) said
WHERE said.target_id = review.id AND review.state = 'decided' AND review.decided_by_id IS NULL
  AND said.api_key_id IN (SELECT id FROM reflection_app_apikey);

-- Where one person took two seats of a panel by two keys, the later stays nobody's: it was decided as the rules were.
UPDATE reflection_app_review review SET holder_person = held.person
FROM (
  SELECT DISTINCT ON (COALESCE(review.panel_id, review.id), COALESCE(review.holder_id, key.created_by_id, 0))
    review.id, COALESCE(review.holder_id, key.created_by_id, 0) AS person
  FROM reflection_app_review review
  LEFT JOIN reflection_app_apikey key
    ON key.project_id = review.project_id AND review.holder_label = 'key ' || key.name
  WHERE review.state IN ('claimed', 'decided') AND review.reason <> 'adjudication'
    AND (review.holder_id IS NOT NULL OR key.id IS NOT NULL)
  ORDER BY COALESCE(review.panel_id, review.id), COALESCE(review.holder_id, key.created_by_id, 0), review.created_at
) held
WHERE held.id = review.id;
"""


def to_a_key(related_name: str) -> models.ForeignKey:
    return models.ForeignKey(
        blank=True,
        null=True,
        on_delete=django.db.models.deletion.SET_NULL,
        related_name=related_name,
        to="reflection_app.apikey",
    )


def hands() -> django.contrib.postgres.fields.ArrayField:
    return django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list)


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0009_the_engine_under_load")]

    operations = [
        migrations.RemoveConstraint("review", "seat_once"),
        migrations.AddField("apikey", "created_by_label", models.CharField(blank=True, default="", max_length=200)),
        migrations.AddField("invitation", "created_by_key", to_a_key("invitations_made")),
        migrations.AddField("membership", "invited_by_key", to_a_key("brought_members")),
        migrations.AddField(
            "project",
            "own_work",
            models.CharField(
                choices=[("nobody", "Nobody"), ("people", "People"), ("everybody", "People and keys")],
                default="nobody",
                max_length=10,
            ),
        ),
        migrations.AddField("review", "decided_by_key", to_a_key("decided_reviews")),
        migrations.AddField("review", "handed_in_by", hands()),
        migrations.AddField("review", "holder_person", models.IntegerField(blank=True, null=True)),
        migrations.AddField("run", "handed_in_by", hands()),
        migrations.AddConstraint(
            "review",
            models.UniqueConstraint(
                condition=models.Q(
                    ("panel__isnull", False),
                    ("state__in", ("claimed", "decided")),
                    models.Q(("reason", "adjudication"), _negated=True),
                ),
                fields=("panel", "holder_person"),
                name="seat_once",
            ),
        ),
        migrations.RunSQL(BACKFILL, migrations.RunSQL.noop),
    ]
