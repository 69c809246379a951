"""Waiting for a run or for its news, without holding a database connection meanwhile."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import monotonic, sleep
from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from pydantic import Field

from reflection_app.api.authentication import check_it_works
from reflection_app.core.connections import released
from reflection_app.core.ids import id_from
from reflection_app.core.models import ApiKey, Scope
from reflection_app.loops.values import Value
from reflection_app.repairs.models import Report, Ticket
from reflection_app.reviews.models import Review
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run, RunState
from reflection_app.runs.seen import mark_seen

LONGEST_WAIT_S = 60.0
LOOK_EVERY_S = 0.2
# Whoever has waited long looks less often, so that hundreds who wait for days' work do not keep the web server busy:
# the answer is late by this share of the wait.
LATE_BY = 0.1
LONGEST_LOOK_S = 1.0

# Nothing more happens by itself: the run has ended, or it is somebody else's turn.
SETTLED = frozenset({RunState.FINISHED, RunState.WAITING_REVIEW, RunState.WAITING_AGENT})


WaitS = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class WaitQuery(Value):
    wait: WaitS = Field(
        default=0,
        description=f"seconds to wait until the run has finished or waits for someone; at most {LONGEST_WAIT_S:g}",
    )


def wait_until_settled(run_id: UUID, *, key: ApiKey, longest_s: float) -> None:
    """Returns when the run has ended or waits for somebody, or when the time is up. Call it outside transactions.

    Raises AuthenticationFailed as soon as `key` works no more, as every wait here does.
    """
    wait_until(lambda: _state_of(run_id) in SETTLED | {None}, key=key, longest_s=longest_s)


def wait_for_event(run_id: UUID, *, after: int, key: ApiKey, longest_s: float) -> None:
    """Returns when the run has an event later than `after`, or when the time is up. Call it outside transactions."""
    wait_until(Event.objects.filter(run=run_id, seq__gt=after).exists, key=key, longest_s=longest_s)


def wait_until(is_so: Callable[[], bool], *, key: ApiKey, longest_s: float) -> None:
    """Returns when `is_so`, or when the time is up. Call it outside transactions."""
    began = monotonic()
    deadline = began + min(longest_s, LONGEST_WAIT_S)
    while (left := deadline - monotonic()) > 0 and not is_so():
        check_it_works(key)
        with released():
            sleep(min(left, next_look_s(monotonic() - began)))
    # Whoever may not ask any more is not told what they waited for either.
    check_it_works(key)


def next_look_s(waited_s: float) -> float:
    """How long until the next look, after a wait so far."""
    return min(LONGEST_LOOK_S, max(LOOK_EVERY_S, LATE_BY * waited_s))


def _state_of(run_id: UUID) -> str | None:
    return Run.objects.filter(pk=run_id).values_list("state", flat=True).first()


# What pipelines have been told: a decision that somebody outside of the desk knows of is not taken back.
#
# Every answer passes through here. It is searched for the runs that it tells of, so that no route is forgotten, and
# each such run is marked with its newest event. Nothing is written while no decision could be taken back, nor where
# nothing is new (runs/seen.py, which webhooks call, too).

# What a reviewer's program may call with these alone tells a person, and no agent.
REVIEWERS = frozenset({Scope.REVIEWS_WRITE})
TELLING = (Scope.RUNS_READ, Scope.TASKS_WRITE)
NAMES = frozenset({"run_id", "ticket_id", "reflection_id", "rewind_ticket_id", "review_id"})
NESTED = (list, tuple, dict)


def note_delivered(key: ApiKey, *, scopes: Iterable[Scope], ids: Mapping[str, Any], answer: Any) -> None:
    """Marks the runs that this answer, to a request with `ids` in its address, tells the holder of `key` of."""
    if set(scopes) <= REVIEWERS or not any(key.has_scope(scope) for scope in TELLING):
        return
    found: dict[str, set[str]] = {name: set() for name in NAMES}
    for name, value in (*ids.items(), *_named(answer)):
        if name in found and value:
            found[name].add(str(value))
    runs = {run_id for run_id in map(id_from, found["run_id"]) if run_id}
    rows: tuple[tuple[QuerySet[Any], str, set[Any]], ...] = (
        (Ticket.objects.all(), "ticket_id", found["ticket_id"] | found["rewind_ticket_id"]),
        (Report.objects.all(), "reflection_id", found["reflection_id"]),
        (Review.objects.all(), "pk", {review_id for review_id in map(id_from, found["review_id"]) if review_id}),
    )
    for of_all, column, named in rows:
        if named:
            own = of_all.filter(project=key.project, **{f"{column}__in": named})
            runs.update(own.values_list("run_id", flat=True))
    if runs:
        mark_seen(key.project, runs)


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
