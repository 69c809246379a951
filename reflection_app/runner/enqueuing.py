"""Asking the workers to move a run on, by the name of their task, which stands above the runner."""

import logging
import time
from uuid import UUID

from celery import current_app
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

ADVANCE_RUN = "reflection_app.tasks.advance_run"


class Outage:
    """Until when the broker is taken to be away, on the monotonic clock: each vain try costs seconds."""

    LASTS_S = 5.0
    until = 0.0

    @classmethod
    def note(cls) -> None:
        cls.until = time.monotonic() + cls.LASTS_S

    @classmethod
    def is_on(cls) -> bool:
        return time.monotonic() < cls.until


def enqueue(run_id: UUID, *, delay_s: float = 0) -> None:
    """Asks the workers to move a run on. A broker that is away loses nothing: the sweep asks again."""
    if Outage.is_on():
        return
    try:
        current_app.send_task(ADVANCE_RUN, (str(run_id),), countdown=delay_s, retry=False)
    except OperationalError as error:
        Outage.note()
        log.warning("run %s and what follows wait for the next sweep, the broker is away: %s", run_id, error)
