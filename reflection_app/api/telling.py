"""What pipelines have been told: a decision that somebody outside of the desk knows of is not taken back.

Every answer passes through here. It is searched for the runs that it tells of, so that no route is forgotten, and each
such run is marked with its newest event. Nothing is written while no decision could be taken back, nor where nothing is
new (runs/told.py, which webhooks call, too).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from reflection_app.core.ids import id_from
from reflection_app.core.models import ApiKey, Project, Scope
from reflection_app.repairs.models import Report, Ticket
from reflection_app.reviews.models import Review
from reflection_app.runs.told import mark_told

# What a reviewer's program may call with these alone tells a person, and no agent.
REVIEWERS = frozenset({Scope.REVIEWS_WRITE})
TELLING = (Scope.RUNS_READ, Scope.TASKS_WRITE)
NAMES = frozenset({"run_id", "ticket_id", "reflection_id", "rewind_ticket_id", "review_id"})
NESTED = (list, tuple, dict)


def note_told(key: ApiKey, *, scopes: Iterable[Scope], ids: Mapping[str, Any], answer: Any) -> None:
    """Marks the runs that this answer, to a request with `ids` in its address, tells the holder of `key` of."""
    if set(scopes) <= REVIEWERS or not any(key.has_scope(scope) for scope in TELLING):
        return
    found: dict[str, set[str]] = {name: set() for name in NAMES}
    for name, value in (*ids.items(), *_named(answer)):
        if name in found and value:
            found[name].add(str(value))
    runs = {run_id for run_id in map(id_from, found["run_id"]) if run_id}
    tickets = found["ticket_id"] | found["rewind_ticket_id"]
    reviews = {review_id for review_id in map(id_from, found["review_id"]) if review_id}
    runs |= _runs_of(key.project, tickets=tickets, reports=found["reflection_id"], reviews=reviews)
    if runs:
        mark_told(key.project, runs)


def _named(answer: Any) -> Iterator[tuple[str, Any]]:
    """The names and values in an answer that may tell of a run. Walks without recursion: agents choose the depth."""
    left = [answer]
    while left:
        one = left.pop()
        if isinstance(one, (list, tuple)):
            left += one
        elif isinstance(one, dict):
            yield from ((name, one[name]) for name in one.keys() & NAMES if isinstance(one[name], str))
            if "outcome" in one and "task_id" in one:
                yield "run_id", one.get("id")
            left += [value for value in one.values() if isinstance(value, NESTED)]


def _runs_of(project: Project, *, tickets: set[str], reports: set[str], reviews: set[UUID]) -> set[UUID]:
    found: set[UUID] = set()
    if tickets:
        rows = Ticket.objects.filter(project=project, ticket_id__in=tickets)
        found.update(rows.values_list("run_id", flat=True))
    if reviews:
        found.update(Review.objects.filter(project=project, pk__in=reviews).values_list("run_id", flat=True))
    if reports:
        rows_of_reports = Report.objects.filter(project=project, reflection_id__in=reports)
        found.update(rows_of_reports.values_list("run_id", flat=True))
    return found
