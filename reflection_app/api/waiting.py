"""Waiting for a run, without holding a database connection meanwhile."""

from time import monotonic, sleep
from typing import Annotated
from uuid import UUID

from django.db import connection
from pydantic import Field

from reflection_app.loops.values import Value
from reflection_app.models import Run, RunState

LONGEST_WAIT_S = 60.0
LOOK_EVERY_S = 0.2

# Nothing more happens by itself: the run has ended, or it is somebody else's turn.
SETTLED = frozenset({RunState.FINISHED, RunState.WAITING_REVIEW, RunState.WAITING_AGENT})


class WaitQuery(Value):
    wait: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=0,
        description=f"answer only when the run has finished or waits for somebody, or after so many seconds; "
        f"at most {LONGEST_WAIT_S:g} are waited",
    )


def wait_until_settled(run_id: UUID, *, longest_s: float) -> None:
    """Returns when the run has ended or waits for somebody, or when the time is up. Call it outside transactions."""
    deadline = monotonic() + min(longest_s, LONGEST_WAIT_S)
    while (left := deadline - monotonic()) > 0:
        if _state_of(run_id) in SETTLED | {None}:
            return
        connection.close()
        sleep(min(LOOK_EVERY_S, left))


def _state_of(run_id: UUID) -> str | None:
    return Run.objects.filter(pk=run_id).values_list("state", flat=True).first()
