"""Asking the workers to move a run on, by the name of their task, which stands above the runner."""

import logging
import math
import time
from typing import Protocol
from uuid import UUID

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from reflection_app.loops.task_spec import OF_THE_DESK
from reflection_app.runs.models.run import Run, RunState

log = logging.getLogger(__name__)

ADVANCE_RUN = "reflection_app.runs.jobs.advance_run"
BEGIN_LOOKING_BACK = "reflection_app.runs.jobs.begin_looking_back"
LOOK_BACK_DELAY_S = 0.3


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


class Queued(Protocol):
    """A run, or as much of it as says who is to move it on."""

    @property
    def pk(self) -> UUID: ...

    @property
    def project_id(self) -> UUID: ...

    @property
    def mode(self) -> str: ...


def enqueue(run: Queued, *, delay_s: float = 0) -> None:
    """Asks the workers to move a run on. A broker that is away loses nothing: the next sweep asks again."""
    if not Outage.is_on():
        looks_back = run.mode in OF_THE_DESK
        queue = settings.LOOKING_BACK_QUEUE if looks_back else settings.CELERY_TASK_DEFAULT_QUEUE
        # Projects take turns at fresh work alone; who looks back takes none of that.
        told = (str(run.pk),) if looks_back else (str(run.pk), str(run.project_id))
        try:
            current_app.send_task(ADVANCE_RUN, told, queue=queue, countdown=delay_s or None, retry=False)
            return
        except OperationalError as error:
            Outage.note()
            log.warning("run %s and what follows wait for the next sweep, the broker is away: %s", run.pk, error)
    # For a sweep to take up at once, and not only when the message has been missed for long.
    Run.objects.filter(pk=run.pk, state__in=(RunState.QUEUED, RunState.WAITING_TIME)).update(enqueued_at=None)


class LastAsked:
    """When this process last asked for runs to be looked back at, on the monotonic clock."""

    at = -math.inf


def look_back_soon() -> None:
    """Asks the workers to look back at what has ended, a few times a second at most; what is missed is found soon."""
    now = time.monotonic()
    if now < LastAsked.at + LOOK_BACK_DELAY_S or Outage.is_on():
        return
    LastAsked.at = now
    try:
        # Late enough for all that ends until somebody asks again.
        queue = settings.LOOKING_BACK_QUEUE
        current_app.send_task(BEGIN_LOOKING_BACK, queue=queue, countdown=LOOK_BACK_DELAY_S, expires=60, retry=False)
    except OperationalError as error:
        Outage.note()
        log.warning("what has ended is looked back at later, the broker is away: %s", error)
