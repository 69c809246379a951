"""Celery's tasks. They carry an id and call the runner; all else is in the database."""

import logging
import math
import threading
import time
from typing import Any
from uuid import UUID

from celery import current_app, shared_task
from celery.signals import celeryd_init, worker_ready, worker_shutting_down
from django.conf import settings
from kombu.exceptions import ChannelError, OperationalError

from reflection_app.adapters.llm import warm_up
from reflection_app.adapters.llm.embedding import NO_MODEL, embedding_model
from reflection_app.adapters.llm.question_vectors import prepare_questions, serving
from reflection_app.core.models import forget_old_answers
from reflection_app.runs.advance import advance
from reflection_app.runs.lease import keeper
from reflection_app.runs.models import Run
from reflection_app.runs.queueing import ADVANCE_RUN, BEGIN_LOOKING_BACK, Outage, enqueue, turns
from reflection_app.runs.sweep import find_unclaimed, take_back_expired
from reflection_app.sessions.reflectors import MOST_DUE_AT_ONCE, begin_due_reflectors

log = logging.getLogger(__name__)

EMBED_ENTRIES = "reflection_app.config.jobs.embed_entries"
COMPARE_ENTRIES = "reflection_app.config.jobs.compare_entries"
# Of many changes in a row, this many seconds' worth are embedded together.
EMBED_DELAY_S = 0.5


@celeryd_init.connect
def wait_longer_for_the_broker(conf: Any, **_: object) -> None:
    """Longer than a worker waits at its queues at a time, which is a second, and less than a run may be late."""
    conf.broker_transport_options = conf.broker_transport_options | {"socket_timeout": 4, "socket_connect_timeout": 4}


@worker_ready.connect
def warm_up_models(**_: object) -> None:
    """Loads the model library beside the worker's first tasks: it takes seconds, which no run should be charged for."""
    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()


@worker_ready.connect
def serve_questions(**_: object) -> None:
    """Gives other processes the vectors of their questions: only workers have the model and its keys."""
    if embedding_model() is None:
        log.info("entries are found by text alone: no EMBEDDING_MODEL is set that could find them by meaning")
    serving.start()
    # Beside those who serve: a question that comes meanwhile may still have its vector in time.
    threading.Thread(target=prepare_questions, name="prepare-questions", daemon=True).start()


@worker_shutting_down.connect
def serve_no_more(**_: object) -> None:
    """Beside the signal's handler, which must not wait for the questions that are being answered."""
    threading.Thread(target=serving.stop, name="serve-no-more", daemon=True).start()


@worker_shutting_down.connect
def give_back_runs(**_: object) -> None:
    """Lets model calls end for a while, then gives the runs back, so that the next worker need not wait for leases."""
    giving_back = threading.Timer(settings.WORKER_SHUTDOWN_S, keeper.give_back)
    giving_back.daemon = True
    giving_back.start()


@shared_task(name=ADVANCE_RUN)
def advance_run(run_id: str, project_id: str = "") -> None:
    """Moves a run on, or first one of a project that has less of this worker. A message twice does nothing more."""
    with turns.taken(UUID(run_id), project_id=UUID(project_id) if project_id else None) as mine:
        delay_s = advance(mine)
    again = {mine: delay_s} if delay_s is not None else {}
    if mine != UUID(run_id):
        again[UUID(run_id)] = 0.0
    # Either may be deleted by now.
    for run in Run.objects.only("project_id", "mode").filter(pk__in=again):
        enqueue(run, delay_s=again[run.pk])


@shared_task(name="reflection_app.runs.jobs.sweep")
def sweep() -> None:
    """Finds the runs whose worker or message was lost."""
    # A worker that was stopped for a while finds its own leases run out, perhaps with answers that it has yet to write.
    keeper.renew()
    found = take_back_expired()
    for queue, fresh in ((settings.CELERY_TASK_DEFAULT_QUEUE, True), (settings.LOOKING_BACK_QUEUE, False)):
        # While messages lie in the queue, most runs are not lost but waiting their turn; asking would only add to it.
        found += find_unclaimed(fresh=fresh, beside_a_queue=queue_length(queue) >= settings.WORKER_CONCURRENCY)
    for run in Run.objects.only("project_id", "mode").filter(pk__in=found):
        enqueue(run)


def queue_length(queue: str) -> int:
    """How many messages wait in one of the workers' queues; none where the broker knows of no such queue yet."""
    with current_app.connection_or_acquire() as connection:
        try:
            declared = connection.default_channel.queue_declare(queue=queue, passive=True)
        except ChannelError:
            return 0
    return int(declared.message_count)


@shared_task(name=BEGIN_LOOKING_BACK)
def begin_looking_back() -> None:
    """Begins to look back at the runs that have ended; what is left has a message of its own."""
    if begin_due_reflectors() == MOST_DUE_AT_ONCE:
        begin_looking_back.apply_async(queue=settings.LOOKING_BACK_QUEUE, retry=False)


@shared_task(name="reflection_app.runs.jobs.tidy")
def tidy() -> None:
    """Deletes what was kept for a while only."""
    forget_old_answers()


class LastAsked:
    """When this process last asked for entries to be embedded, on the monotonic clock."""

    at = -math.inf


def embed_soon(**_: object) -> None:
    """Asks the workers to embed what was changed, at most twice a second; what is not asked for waits a few seconds."""
    now = time.monotonic()
    if now < LastAsked.at + EMBED_DELAY_S or Outage.is_on() or settings.EMBEDDING_MODEL.lower() == NO_MODEL:
        return
    LastAsked.at = now
    try:
        # Late enough for all that is changed until somebody asks again.
        current_app.send_task(EMBED_ENTRIES, countdown=EMBED_DELAY_S, expires=60, retry=False)
    except OperationalError as error:
        Outage.note()
        log.warning("entries wait for their vectors, the broker is away: %s", error)
