"""What a run is told for a better start: the hints that normal iterations (3.3.5) of the same agent left behind."""

from django.db.models import Q

from reflection_app.core.models import Project
from reflection_app.loops.ends import Outcome
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.repairs.models.report import Report

MOST_HINTS = 3
MOST_LOOKED_AT = 20
LONGEST_HINT = 1_000


def hints_for(project: Project, *, agent: str, kind: str) -> tuple[str, ...]:
    """The newest hints from the agent's runs on tasks of this kind that came to an accepted answer, each once.

    A report whose class a person corrected to another leaves none. A task without an agent's name has none.
    """
    if not agent:
        return ()
    iteration = ErrorClass.NORMAL_ITERATION.value
    holds = Q(corrected_type=iteration) | Q(corrected_type__isnull=True, error_type=iteration)
    rows = Report.objects.filter(
        holds, project=project, agent=agent[:120], run__task__kind=kind, run__outcome=Outcome.SUCCEEDED.value
    )
    newest = rows.order_by("-created_at", "-id").values_list("content__hint", flat=True)[:MOST_LOOKED_AT]
    hints = dict.fromkeys(" ".join(str(hint or "").split())[:LONGEST_HINT] for hint in newest)
    return tuple(hint for hint in hints if hint)[:MOST_HINTS]
