"""Celery's tasks. They carry an id and call the runner; all else is in the database."""

import logging
import threading
from uuid import UUID

from celery import shared_task
from celery.signals import worker_ready
from kombu.exceptions import OperationalError

from reflection_app.llm import warm_up
from reflection_app.models.idempotency import forget_old_answers
from reflection_app.runner.advance import advance
from reflection_app.runner.sweep import runs_to_enqueue

log = logging.getLogger(__name__)


@worker_ready.connect
def warm_up_models(**_: object) -> None:
    """Loads the model library beside the worker's first tasks: it takes seconds, which no run should be charged for."""
    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()


@shared_task(name="reflection_app.tasks.advance_run")
def advance_run(run_id: str) -> None:
    """Moves a run on. A message that comes twice does nothing the second time."""
    delay_s = advance(UUID(run_id))
    if delay_s is not None:
        enqueue(UUID(run_id), delay_s=delay_s)


@shared_task(name="reflection_app.tasks.sweep")
def sweep() -> None:
    """Finds the runs whose worker or message was lost."""
    for run_id in runs_to_enqueue():
        enqueue(run_id)


@shared_task(name="reflection_app.tasks.tidy")
def tidy() -> None:
    """Deletes what was kept for a while only."""
    forget_old_answers()


def enqueue(run_id: UUID, *, delay_s: float = 0) -> None:
    """Asks the workers to move a run on. A broker that is away loses nothing: the sweep asks again."""
    try:
        advance_run.apply_async((str(run_id),), countdown=delay_s, retry=False)
    except OperationalError as error:
        log.warning("run %s waits for the next sweep, the broker is away: %s", run_id, error)
