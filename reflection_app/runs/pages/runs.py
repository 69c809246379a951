"""The list of runs: filtered and searched by its address alone, page by page from the newest."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from reflection_app.core.models import Project
from reflection_app.loops.ends import Outcome
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Mode
from reflection_app.runs.models.attempt import VOID, Verdict
from reflection_app.runs.models.run import NOT_OF_THE_DESK, Run, RunState
from reflection_app.runs.views.runs_behind_figure import behind_figure
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import list_response, page_before

LONGEST_SEARCH = 200
STATES = (RunState.QUEUED, RunState.RUNNING, RunState.WAITING_REVIEW, RunState.WAITING_AGENT)
MODES = (Mode.EXTERNAL_LOOP, Mode.ACTOR_CRITIC, Mode.REFLECTION_PROTOCOL, Mode.INLINE_REFLECTION)
# Shown where they are asked for: what the desk does about other work is not among it.
DESK_MODES = (Mode.ERROR_REFLECTION, Mode.MEMORY_REFLECTION)


@dataclass(frozen=True)
class Filters:
    """What of the address is understood; anything else in it is left aside."""

    status: str = ""
    mode: str = ""
    q: str = ""

    @property
    def any(self) -> bool:
        return bool(self.status or self.mode or self.q)

    @property
    def query(self) -> str:
        given = {"status": self.status, "mode": self.mode, "q": self.q}
        return urlencode({name: value for name, value in given.items() if value})


def read_filters(request: DeskRequest) -> Filters:
    status, mode = request.GET.get("status", ""), request.GET.get("mode", "")
    known = {*RunState.values, *(outcome.value for outcome in Outcome)}
    return Filters(
        status=status if status in known else "",
        mode=mode if mode in {mode.value for mode in (*MODES, *DESK_MODES)} else "",
        q=storable(request.GET.get("q", "").strip())[:LONGEST_SEARCH],
    )


def runs_for_list(project: Project) -> QuerySet[Run]:
    """The project's runs, newest first, each with its task and the score of its best attempt as `best_score`."""
    judged = Verdict.objects.filter(attempt=OuterRef("best_attempt")).exclude(VOID)
    decisive = judged.order_by("-referee", "-created_at", "-id")
    return (
        Run.objects.filter(project=project)
        .select_related("task")
        .defer("spec", "task__tests", "task__metadata")
        .annotate(best_score=Subquery(decisive.values("score")[:1]))
        .order_by("-created_at", "-id")
    )


def filtered(runs: QuerySet[Run], filters: Filters) -> QuerySet[Run]:
    if filters.status in RunState.values:
        runs = runs.filter(state=filters.status)
    elif filters.status:
        runs = runs.filter(outcome=filters.status)
    if filters.mode:
        runs = runs.filter(mode=filters.mode)
    if filters.q:
        runs = runs.filter(Q(task__objective__icontains=filters.q) | Q(task__external_id__icontains=filters.q))
    return runs


@project_page()
@require_safe
def run_list(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    behind = behind_figure(request)
    # The choice of the metrics has a mode of its own; it is part of what is behind the figure.
    filters = Filters() if behind else read_filters(request)
    runs = filtered(runs_for_list(project), filters)
    if behind:
        runs = runs.filter(pk__in=behind.runs.values("pk"))
    elif not filters.mode:
        runs = runs.filter(NOT_OF_THE_DESK)
    page = page_before(runs, request, among=Run.objects.filter(project=project))
    context = {
        "runs": page.rows,
        "older": page.last.pk if page.last else None,
        "before": request.GET.get("before", ""),
        "filters": behind or filters,
        "behind": behind,
        "states": STATES,
        "outcomes": list(Outcome),
        "modes": (*MODES, *DESK_MODES),
    }
    return list_response(request, "runs/list.html", context)
