"""Keeping what a replay of recorded runs measured, for the page that shows it."""

from django.db import transaction

from reflection_app.core.audit import Actor, audit
from reflection_app.core.models import Project
from reflection_app.metrics.models.referee_measurement import RefereeMeasurement
from reflection_app.metrics.referee_quality import RefereeQuality

LONGEST_NAME = 200


@transaction.atomic
def keep_measurement(project: Project, quality: RefereeQuality, *, name: str, actor: Actor) -> RefereeMeasurement:
    """The measurement, kept in the project under the name of its file."""
    row = RefereeMeasurement.objects.create(
        project=project, name=name[:LONGEST_NAME], figures=quality.model_dump(mode="json"), by_label=actor.label
    )
    after = {"name": row.name, "runs": quality.runs, "kept": quality.kept}
    audit(project.pk, actor, "referee.measured", target=row, after=after)
    return row
