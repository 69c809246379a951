"""Celery's tasks. They carry an id and call the runner; all else is in the database."""

import logging
import random
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from celery import current_app, shared_task
from celery.signals import celeryd_init, worker_ready, worker_shutting_down
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from kombu.exceptions import ChannelError

from reflection_app.adapters.live import ring
from reflection_app.adapters.llm import preload
from reflection_app.adapters.llm.embedding import NO_MODEL, embedding_model
from reflection_app.adapters.llm.question_vectors import prepare_questions, serving
from reflection_app.core.connections import released
from reflection_app.core.models import forget_old_answers
from reflection_app.loops.verdicts import Ended, Outcome
from reflection_app.runs.advance import LONGEST_RETRY_DELAY_S, advance, end_run
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.lease import CLAIMABLE, keeper, lapsed, process_of
from reflection_app.runs.models import NOT_OF_THE_DESK, Run, RunState
from reflection_app.runs.offering import offer_spooled
from reflection_app.runs.queueing import ADVANCE_RUN, BEGIN_LOOKING_BACK, ask_soon, enqueue, turns
from reflection_app.sessions.reflectors import MOST_DUE_AT_ONCE, begin_due_reflectors

# Finding runs that nobody works on though somebody should: their worker died, or their message was lost.

log = logging.getLogger(__name__)

MOST_AT_ONCE = 500
# Of those that wait their turn in a long queue, this many are asked for again at a time: a message may be among the
# lost ones, and one too many costs a refused claim.
MOST_BESIDE_A_QUEUE = 10
# A restart of the workers may come a few times within one call of a model: that costs no time.
DEATHS_WITHOUT_DELAY = 4
MOST_DEATHS = 6


def take_back_expired() -> list[UUID]:
    """Queues the runs whose lease ran out or whose worker's process is gone; which of them may be claimed at once.

    That workers die is no fault of their runs, unless a run dies again and again in the company of others that do not.
    """
    gone = lapsed(most=MOST_AT_ONCE)
    # Also those whose lease still stands: it was given later, and the same worker died with them.
    victims: dict[bytes, dict[UUID, int]] = defaultdict(dict)
    if gone:
        running = Run.objects.filter(state=RunState.RUNNING, lease_token__isnull=False)
        for run_id, token, deaths in running.values_list("pk", "lease_token", "worker_deaths"):
            assert token is not None
            victims[process_of(token)][run_id] = deaths + 1
    taken = []
    for run_id, token, until in gone:
        deaths_of_others = [deaths for other, deaths in victims[process_of(token)].items() if other != run_id]
        try:
            if _take_back(run_id, until, deaths_of_others=max(deaths_of_others, default=0)):
                taken.append(run_id)
        except Exception:
            # One run that cannot be taken back must not keep the others from it.
            log.exception("run %s could not be taken back", run_id)
    return taken


def _take_back(run_id: UUID, until: datetime, *, deaths_of_others: int) -> bool:
    """Whether the run, queued again, may be claimed at once; not where it is made to wait, or has ended.

    Its lease, which ends at `until`, is nobody's where it was not renewed since it was looked at.
    """
    with transaction.atomic():
        run = (
            Run.objects.select_for_update(skip_locked=True)
            .filter(pk=run_id, state=RunState.RUNNING, lease_until=until)
            .first()
        )
        if run is None:
            return False
        transaction.on_commit(lambda: ring(run_id, project_id=run.project_id))
        run.worker_deaths += 1
        if run.worker_deaths >= MOST_DEATHS and deaths_of_others * 2 < run.worker_deaths:
            error = f"{run.worker_deaths} workers in a row died with it, and no other run died as often"
            end_run(run, Ended(outcome=Outcome.FAILED, error=f"{error}; {run.error}" if run.error else error))
            return False
        delay_s = 0.0
        if run.worker_deaths >= DEATHS_WITHOUT_DELAY:
            # Runs that died together are parted by chance, so that those that do no harm come through.
            backoff_s = settings.RUN_RETRY_DELAY_S * 2.0 ** (run.worker_deaths - DEATHS_WITHOUT_DELAY)
            share = random.uniform(0.5, 1.0)  # noqa: S311 - parts retries, guards nothing
            delay_s = round(min(backoff_s, LONGEST_RETRY_DELAY_S) * share, 3)
        run.state, run.enqueued_at = RunState.QUEUED, timezone.now()
        run.lease_token = run.lease_until = None
        if delay_s:
            # Asked for by the first sweep after that, since nobody else does.
            run.not_before, run.enqueued_at = run.enqueued_at + timedelta(seconds=delay_s), None
        add_event(run, EventType.RUN_RETRIED, error="its worker stopped", delay_s=delay_s)
        run.save()
    return not delay_s


def find_unclaimed(*, fresh: bool = True, beside_a_queue: Callable[[], bool] = lambda: False) -> list[UUID]:
    """Fresh runs, or those that look back, that nobody claimed in time though they are queued or have waited enough.

    Asking twice is harmless: only one claim succeeds. `beside_a_queue` of messages that wait their turn, it is all that
    nobody asked for yet, and a few of the others, asked for longest ago.
    """
    now = timezone.now()
    found = _unclaimed(now).filter(NOT_OF_THE_DESK if fresh else ~NOT_OF_THE_DESK)
    asked = list(
        found.filter(enqueued_at__isnull=False).order_by("enqueued_at").values_list("pk", flat=True)[:MOST_AT_ONCE]
    )
    # The broker is asked for its queue only where that makes a difference: sweeps come every two seconds.
    if len(asked) > MOST_BESIDE_A_QUEUE and beside_a_queue():
        del asked[MOST_BESIDE_A_QUEUE:]
    run_ids = [*found.filter(enqueued_at__isnull=True).values_list("pk", flat=True)[:MOST_AT_ONCE], *asked]
    Run.objects.filter(pk__in=run_ids, state__in=CLAIMABLE).update(enqueued_at=now)
    return run_ids


def _unclaimed(now: datetime) -> QuerySet[Run]:
    silent = Q(enqueued_at__isnull=True) | Q(enqueued_at__lt=now - timedelta(seconds=settings.ENQUEUE_LOST_AFTER_S))
    due = Q(not_before__isnull=True) | Q(not_before__lte=now)
    return Run.objects.filter(silent, due, state__in=CLAIMABLE)


EMBED_ENTRIES = "reflection_app.config.jobs.embed_entries"
COMPARE_ENTRIES = "reflection_app.config.jobs.compare_entries"
# Of many changes in a row, this many seconds' worth are embedded together.
EMBED_DELAY_S = 0.5


@celeryd_init.connect
def wait_longer_for_the_broker(conf: Any, **_: object) -> None:
    """Longer than a worker waits at its queues at a time, and less than a run may be late."""
    waits = {"polling_interval": 2, "socket_timeout": 4, "socket_connect_timeout": 4}
    conf.broker_transport_options = conf.broker_transport_options | waits


@worker_ready.connect
def start_background_work(**_: object) -> None:
    """Start what takes seconds in threads next to the worker's first tasks, which should not wait or pay for it."""
    # `manage.py up` waits for this line (config/up/desk.py). Celery makes warnings of what goes to sys.stdout.
    print("worker is ready", file=sys.__stdout__, flush=True)
    if embedding_model() is None:
        log.info("entries are found by text alone: no EMBEDDING_MODEL is set that could find them by meaning")
    # Gives other processes the vectors of their questions: only workers have the model and its keys.
    serving.start()
    # The model library; the first question's vector; the answers on disk.
    for work in (preload, prepare_questions, _offer_once):
        threading.Thread(target=work, name=work.__name__, daemon=True).start()


@released()
def _offer_once() -> None:
    try:
        offer_spooled()
    except DatabaseError as error:
        log.warning("answers on disk wait for the database, and for the sweep: %s", error)


@worker_shutting_down.connect
def stop_background_work(**_: object) -> None:
    """Stop serving questions; let model calls end for a while, then give the runs back, so that the next worker need
    not wait for leases. In threads, since the signal's handler must not wait.
    """
    threading.Thread(target=serving.stop, name="serve-no-more", daemon=True).start()
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
    for run in Run.objects.only("project_id", "mode").filter(pk__in=again) if again else ():
        enqueue(run, delay_s=again[run.pk])


@shared_task(name="reflection_app.runs.jobs.sweep")
def sweep() -> None:
    """Finds the runs whose worker or message was lost."""
    # A worker that was stopped for a while finds its own leases run out, perhaps with answers that it has yet to write.
    keeper.renew()
    found = take_back_expired()
    # Before anybody asks for the runs: else their next worker, on another machine, would pay once more.
    offer_spooled()
    queues = ((settings.CELERY_TASK_DEFAULT_QUEUE, True), (settings.LOOKING_BACK_QUEUE, False))
    # One statement if no run waits, every two seconds on an idle server.
    for queue, fresh in queues if _unclaimed(timezone.now()).exists() else ():
        # While messages lie in the queue, most runs are not lost but waiting their turn; asking would only add to it.
        found += find_unclaimed(fresh=fresh, beside_a_queue=partial(is_long, queue))
    for run in Run.objects.only("project_id", "mode").filter(pk__in=found):
        enqueue(run)


def is_long(queue: str) -> bool:
    """Return True if more messages wait in the queue than a worker takes at once."""
    return queue_length(queue) >= settings.WORKER_CONCURRENCY


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


def embed_soon(**_: object) -> None:
    """Asks the workers to embed what was changed, at most twice a second; what is not asked for waits a few seconds."""
    if settings.EMBEDDING_MODEL.lower() != NO_MODEL:
        ask_soon(EMBED_ENTRIES, delay_s=EMBED_DELAY_S)
