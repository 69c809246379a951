"""Waiting for a run or for its news, without holding a database connection meanwhile."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Annotated
from uuid import UUID

from django.db import connection
from pydantic import Field

from reflection_app.api.authentication import check_it_works
from reflection_app.core.events import Event
from reflection_app.core.models import ApiKey
from reflection_app.loops.values import Value
from reflection_app.runs.models import Run, RunState

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
        description=f"answer only when the run has finished or waits for somebody, or after so many seconds; "
        f"at most {LONGEST_WAIT_S:g} are waited",
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
    _wait_until(is_so, key=key, longest_s=longest_s)
    # Whoever may not ask any more is not told what they waited for either.
    check_it_works(key)


def _wait_until(is_so: Callable[[], bool], *, key: ApiKey, longest_s: float) -> None:
    began = monotonic()
    deadline = began + min(longest_s, LONGEST_WAIT_S)
    while (left := deadline - monotonic()) > 0:
        if is_so():
            return
        check_it_works(key)
        connection.close()
        sleep(min(left, next_look_s(monotonic() - began)))


def next_look_s(waited_s: float) -> float:
    """How long until the next look, after a wait so far."""
    return min(LONGEST_LOOK_S, max(LOOK_EVERY_S, LATE_BY * waited_s))


def _state_of(run_id: UUID) -> str | None:
    return Run.objects.filter(pk=run_id).values_list("state", flat=True).first()
