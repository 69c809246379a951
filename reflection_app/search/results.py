"""What a search shows: the best of each kind, and where all of them are listed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from notebook_app.public import WAITING, Entry, EntryFilter, EntryState, begun, entries_by_id, matching
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.diagnosis.error_texts import headline
from reflection_app.repairs.models import Report, Ticket, ToolFailure
from reflection_app.reviews.models import OPEN, Review
from reflection_app.runs.models import NOT_OF_THE_DESK, Run
from reflection_app.search.asking import Asked, read_asked
from reflection_app.search.finding import Found, Match, find, find_waiting, ids_with_words
from reflection_app.search.models import Indexed
from reflection_app.sessions.models import Transcript
from reflection_app.web.pages import all_pages
from reflection_app.web.template_filters import why_asked

SHOWN = 5
LONGEST = 140
# An entry that has some of the words alone says too little of what was asked for.
MOSTLY = 0.5
type May = Callable[[Permission], bool]


class Kind(StrEnum):
    """Kinds of searchable objects, in the order shown if they match equally well."""

    RUNS = "runs"
    REVIEWS = "reviews"
    ENTRIES = "entries"
    TICKETS = "tickets"
    REPORTS = "reports"
    SESSIONS = "sessions"
    FAILURES = "tool_failures"


@dataclass(frozen=True)
class Look:
    """The page of one thing of a kind, the page that lists them, and who may search them."""

    page: str
    list: str
    may: Permission = Permission.READ

    @property
    def title(self) -> Promise | str:
        return all_pages()[self.list].title

    @property
    def icon(self) -> str:
        return all_pages()[self.list].icon


LOOKS: dict[Kind, Look] = {
    Kind.RUNS: Look(page="run", list="runs"),
    Kind.REVIEWS: Look(page="review", list="reviews", may=Permission.READ_QUEUE),
    Kind.ENTRIES: Look(page="entry", list="notebook", may=Permission.READ_NOTEBOOK),
    Kind.TICKETS: Look(page="ticket", list="tickets"),
    Kind.REPORTS: Look(page="report", list="reports"),
    Kind.SESSIONS: Look(page="session", list="sessions"),
    Kind.FAILURES: Look(page="tool_failure", list="tool_failures"),
}
INDEXED = {
    Kind.RUNS: Indexed.TASK,
    Kind.TICKETS: Indexed.TICKET,
    Kind.REPORTS: Indexed.REPORT,
    Kind.SESSIONS: Indexed.SESSION,
    Kind.FAILURES: Indexed.FAILURE,
}


@dataclass(frozen=True)
class Hit:
    """One thing that was found. `state` is a value of the registry's `look`, both empty where it has none."""

    kind: Kind
    id: str
    title: str
    path: str
    match: Match
    created_at: datetime
    # The run that it is or belongs to.
    run_id: UUID | None
    detail: str = ""
    state: str = ""
    look: str = ""


@dataclass(frozen=True)
class Group:
    """The best of one kind. `total` are found at least, and no more where `is_counted`; `path` lists them all."""

    kind: Kind
    hits: tuple[Hit, ...]
    total: int
    is_counted: bool
    path: str

    @property
    def look(self) -> Look:
        return LOOKS[self.kind]

    @property
    def has_more(self) -> bool:
        return self.total > len(self.hits)


def search(project: Project, typed: str, *, may: May, kinds: Iterable[Kind] = tuple(Kind)) -> list[Group]:
    """What of the project is found, one group for each kind of which something is; kinds with the thing itself first.

    Kinds that nobody with these permissions may read are left out.
    """
    asked = read_asked(typed)
    if asked is None:
        return []
    wanted = [kind for kind in Kind if kind in set(kinds) and may(LOOKS[kind].may)]
    indexed = [INDEXED[kind] for kind in wanted if kind in INDEXED]
    found = find(project.pk, asked, kinds=indexed, limit=SHOWN) if indexed else {}
    groups = []
    for kind in wanted:
        if kind is Kind.ENTRIES:
            group = _entries(project, asked, may=may)
        elif kind is Kind.REVIEWS:
            group = _reviews(project, asked)
        elif kind is Kind.RUNS:
            group = _runs(project, asked, found[Indexed.TASK])
        else:
            rows = ROWS[kind].filter(project=project)
            group = _group(kind, project, asked, rows, by_id=_by_id(rows, asked), found=found[INDEXED[kind]])
        groups += [group] if group.hits else []
    return sorted(groups, key=lambda group: group.hits[0].match)


# The rows of each kind with what is told of one.
ROWS: dict[Kind, QuerySet[Any]] = {
    Kind.RUNS: Run.objects.select_related("task").only(
        "state", "outcome", "created_at", "task__objective", "task__external_id", "task__agent"
    ),
    Kind.REVIEWS: Review.objects.select_related("run__task", "verdict").defer(
        "run__spec", "run__task__tests", "verdict__feedback", "verdict__tests"
    ),
    Kind.TICKETS: Ticket.objects.select_related("run__task").defer("run__spec", "run__task__tests"),
    Kind.REPORTS: Report.objects.select_related("run__task").defer("run__spec", "run__task__tests", "content"),
    Kind.SESSIONS: Transcript.objects.defer("tool_errors", "metadata"),
    Kind.FAILURES: ToolFailure.objects.defer("params", "action", "outcome"),
}


def _tell(row: Any) -> dict[str, str]:
    """What a hit says of a row beside how well it fits."""
    match row:
        case Run():
            state, look = (row.outcome, "outcome") if row.outcome else (row.state, "run")
            detail = _joined(row.task.external_id, row.task.agent)
            return {"title": row.task.title, "detail": detail, "state": state, "look": look}
        case Review():
            reason = why_asked(row.reason, row.verdict.referee_label)
            return {"title": row.run.task.title, "detail": reason, "state": row.verdict.verdict, "look": "verdict"}
        case Entry():
            detail = _joined(row.description or row.content)
            return {"title": row.name, "detail": detail, "state": row.state, "look": "entry"}
        case Ticket():
            issue = next((one.get("description") for one in row.issues), None)
            detail = _joined(row.ticket_id, issue)
            return {"title": row.run.task.title, "detail": detail, "state": row.state, "look": "ticket"}
        case Report():
            title = _joined(row.surface_issue) or row.run.task.title
            return {"title": title, "detail": _joined(row.reflection_id, row.agent, row.run.task.title)}
        case Transcript():
            title = _joined(row.objective) or _("Session of %(agent)s") % {"agent": row.agent or _("unnamed agent")}
            return {"title": title, "detail": _joined(row.external_id, row.agent)}
        case _:
            return {"title": row.tool, "detail": _joined(row.external_id, headline(row.error_message))}


def _runs(project: Project, asked: Asked, found: Found) -> Group:
    """Runs by their own id, and the newest run of each task that is found."""
    runs = ROWS[Kind.RUNS].filter(project=project)
    tasks: dict[UUID, Match] = {}
    for task, match in (*_by_id(project.tasks.all(), asked), *found.rows):
        tasks.setdefault(task, match)
    of_tasks = runs.filter(NOT_OF_THE_DESK, task__in=tasks).order_by("task", "-created_at", "-id").distinct("task")
    newest = dict(of_tasks.values_list("task", "pk"))
    by_task = [(newest[task], match) for task, match in tasks.items() if task in newest]
    total = found.total
    if found.is_counted and total:
        ids = ids_with_words(project.pk, asked.text, kind=Indexed.TASK)
        total = Run.objects.filter(NOT_OF_THE_DESK, project=project, task__in=ids).count()
    return _group(
        Kind.RUNS,
        project,
        asked,
        runs,
        by_id=[*_by_id(runs, asked), *by_task],
        found=Found((), total, is_counted=found.is_counted),
    )


def _reviews(project: Project, asked: Asked) -> Group:
    """Reviews that wait; by its whole id any."""
    reviews = ROWS[Kind.REVIEWS].filter(project=project)
    is_whole = asked.ids is not None and asked.ids[0] == asked.ids[1]
    by_id = _by_id(reviews if is_whole else reviews.filter(state__in=OPEN), asked)
    found = Found() if is_whole else find_waiting(project.pk, asked, limit=SHOWN)
    return _group(Kind.REVIEWS, project, asked, reviews, by_id=by_id, found=found)


def _entries(project: Project, asked: Asked, *, may: May) -> Group:
    """Entries that hold, and after them, for whoever decides on them, those that are proposed."""
    ranked: dict[UUID, Match] = {}
    for states in ((EntryState.APPROVED,), WAITING) if may(Permission.CURATE) else ((EntryState.APPROVED,),):
        among = EntryFilter(states=states)
        words = begun(project.pk, asked.text, among=among, limit=SHOWN + 1) if asked.words else []
        if asked.words and len(words) <= SHOWN:
            with_most = matching(project.pk, asked.text, among=among, limit=SHOWN + 1)
            words += [one.entry_id for one in with_most if one.score >= MOSTLY]
        for pk, match in (*_by_id(among.among(project.pk), asked), *((one, Match.WORDS) for one in words)):
            ranked.setdefault(pk, match)
    rows = entries_by_id(project.pk, list(ranked))
    hits = [
        _hit(Kind.ENTRIES, project, row, Match.EXACT if row.name.lower() == asked.text else ranked[pk])
        for pk in ranked
        if (row := rows.get(pk))
    ]
    # How many the notebook's own search finds is known on its page alone.
    best = tuple(sorted(hits, key=lambda hit: hit.match)[:SHOWN])
    return Group(Kind.ENTRIES, best, len(hits), len(hits) <= SHOWN, _list(Kind.ENTRIES, project, asked))


def _group(
    kind: Kind,
    project: Project,
    asked: Asked,
    rows: QuerySet[Any],
    *,
    by_id: Sequence[tuple[UUID, Match]],
    found: Found,
) -> Group:
    """The best of what was found by its id and by its words, each once; of equals in the order in which they come."""
    best: dict[UUID, Match] = {}
    for pk, match in sorted((*by_id, *found.rows), key=lambda one: one[1]):
        best.setdefault(pk, match)
    shown = rows.in_bulk(list(best)[:SHOWN])
    hits = tuple(_hit(kind, project, shown[pk], match) for pk, match in best.items() if pk in shown)
    return Group(kind, hits, max(found.total, len(hits)), found.is_counted, _list(kind, project, asked))


def _hit(kind: Kind, project: Project, row: Any, match: Match) -> Hit:
    # Tickets and reports go by names of their own.
    named = str(getattr(row, {Kind.TICKETS: "ticket_id", Kind.REPORTS: "reflection_id"}.get(kind, "id")))
    path = reverse(LOOKS[kind].page, args=[project.slug, named])
    run_id = row.pk if isinstance(row, Run) else getattr(row, "run_id", None)
    return Hit(kind, named, path=path, match=match, created_at=row.created_at, run_id=run_id, **_tell(row))


def _list(kind: Kind, project: Project, asked: Asked) -> str:
    return f"{reverse(LOOKS[kind].list, args=[project.slug])}?{urlencode({'q': asked.text})}"


def _by_id(rows: QuerySet[Any], asked: Asked) -> list[tuple[UUID, Match]]:
    """The newest of the rows whose id it is, or begins so."""
    if asked.ids is None:
        return []
    first, last = asked.ids
    match = Match.EXACT if first == last else Match.BEGINNING
    found = rows.filter(pk__gte=first, pk__lte=last).order_by("-pk").values_list("pk", flat=True)[:SHOWN]
    return [(pk, match) for pk in found]


def _joined(*parts: str | None) -> str:
    """The parts in one line, cut where it is long."""
    line = " ".join(" · ".join(part[: 4 * LONGEST] for part in parts if part).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"
