"""Beginning a run, asking the workers to move it on, and whose run a free thread takes."""

import logging
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from kombu import Producer
from kombu.exceptions import BatchPublishError, OperationalError  # type: ignore[attr-defined]

from notebook_app.public import compiled
from reflection_app.adapters.live import ring_begun
from reflection_app.core.connections import released
from reflection_app.loops import prompts
from reflection_app.loops.catalogue import version_of
from reflection_app.loops.task_spec import OF_THE_DESK, TaskSpec
from reflection_app.runs.batch import Batch
from reflection_app.runs.events import EventType, next_event
from reflection_app.runs.models import NOT_OF_THE_DESK, Run, RunState, spec_as_json
from reflection_app.tasks.models import Task

# Asking the workers to move a run on, by the name of their task, which stands above the runner.

log = logging.getLogger(__name__)

ADVANCE_RUN = "reflection_app.runs.jobs.advance_run"
BEGIN_LOOKING_BACK = "reflection_app.runs.jobs.begin_looking_back"
# A message that is due later lies unacknowledged in some worker's memory until then, and the broker gives it to others
# where that takes long. For longer waits the row alone says when, and the first sweep after that asks.
LONGEST_COUNTDOWN_S = 60.0


class Outage:
    """Until when the broker is taken to be away, on the monotonic clock: each vain try costs seconds."""

    LASTS_S = 5.0
    until = 0.0

    @classmethod
    def is_on(cls) -> bool:
        return time.monotonic() < cls.until


def enqueue(*runs: Run, delay_s: float = 0) -> None:
    """Asks the workers to move runs on, after `delay_s`; what is due after more than a minute is left to the sweep.

    A broker that is away loses nothing: the next sweep asks again.
    """
    messages = [_message_about(run, countdown=delay_s or None) for run in runs]
    if delay_s <= LONGEST_COUNTDOWN_S and not Outage.is_on() and _sent(ADVANCE_RUN, *messages):
        return
    # For a sweep to take up as soon as it is due, and not only when the message has been missed for long.
    missed = Run.objects.filter(pk__in=[run.pk for run in runs], state__in=(RunState.QUEUED, RunState.WAITING_TIME))
    missed.update(enqueued_at=None)


# The arguments of a task, and the options of its message.
type Message = tuple[tuple[str, ...], dict[str, Any]]


def _message_about(run: Run, *, countdown: float | None) -> Message:
    # Projects take turns only at fresh work; reflection uses no such turn.
    if run.mode in OF_THE_DESK:
        return (str(run.pk),), {"queue": settings.LOOKING_BACK_QUEUE, "countdown": countdown}
    return (str(run.pk), str(run.project_id)), {"queue": settings.CELERY_TASK_DEFAULT_QUEUE, "countdown": countdown}


def _sent(job: str, *messages: Message) -> bool:
    """Return False where the broker is away: what is not sent waits for the next sweep. Several take one trip."""
    try:
        with _one_trip() if len(messages) > 1 else nullcontext() as producer:
            for arguments, options in messages:
                # Nothing is declared: the queue is a list of Valkey's, and workers declare what they take from.
                current_app.send_task(job, arguments, retry=False, producer=producer, declare=[], **options)
    except (OperationalError, BatchPublishError) as error:
        Outage.until = time.monotonic() + Outage.LASTS_S
        first = " ".join(messages[0][0])
        log.warning("%d of %s %s wait for the next sweep, the broker is away: %s", len(messages), job, first, error)
        return False
    return True


@contextmanager
def _one_trip() -> Iterator[Producer]:
    """Gives a producer whose messages go together when the block ends."""
    with current_app.producer_or_acquire() as producer, producer.batch():
        yield producer


# When this process last asked for a job that is asked for often, on the monotonic clock.
LAST_ASKED: dict[str, float] = {}


def ask_soon(job: str, *, delay_s: float) -> None:
    """Asks the workers for a job once in `delay_s` seconds at most; what is missed is found by a sweep."""
    now = time.monotonic()
    if now >= LAST_ASKED.get(job, -math.inf) + delay_s and not Outage.is_on():
        LAST_ASKED[job] = now
        # Late enough for all that comes until somebody asks again.
        _sent(job, ((), {"countdown": delay_s, "expires": 60}))


def is_scripted(models: dict[str, str]) -> bool:
    """Whether any of the models by role is a script."""
    return any(name.startswith("scripted/") for name in models.values())


@dataclass(frozen=True)
class Origin:
    """The run that another is begun from, why, by whom, and for a fork its first step of its own."""

    run: Run
    note: str
    by: str
    from_step: int | None = None


def begin_run(
    task: Task,
    spec: TaskSpec,
    *,
    origin: Origin | None = None,
    handed_in_by: Sequence[str] = (),
    edited_prompts: Mapping[str, Any] | None = None,
    beside: Batch | None = None,
) -> Run:
    """Return a queued run of `task`. Call it inside a transaction; workers get the run after the commit.

    `handed_in_by` are the authors of the work (`Actor.hand`); a run begun by another run has its authors. With
    `beside`, the caller writes the rows of that batch and announces the run.
    """
    run = Run(
        project=task.project,
        task=task,
        mode=spec.mode.value,
        spec=spec_as_json(spec),
        loop_version=version_of(spec.mode),
        prompt_versions=prompts.versions(),
        is_scripted=is_scripted(spec.models),
        enqueued_at=timezone.now(),
        edited_prompts=edited_prompts or {},
        handed_in_by=[*handed_in_by],
    )
    told: dict[str, Any] = {}
    if origin is not None:
        run.parent, run.fork_note, run.forked_by_label = origin.run, origin.note, origin.by
        run.forked_from_step = origin.from_step
        run.handed_in_by = run.handed_in_by or origin.run.handed_in_by
        run.is_scripted = run.is_scripted or origin.run.is_scripted
        told = {"parent": str(origin.run.pk)} | ({"from_step": origin.from_step} if origin.from_step else {})
    begun = next_event(run, EventType.RUN_CREATED, **told)
    batch = beside or Batch()
    batch.insert(run)
    batch.insert(begun)
    if beside is None:
        batch.write()
        announce([run])
    return run


def announce(runs: Sequence[Run]) -> None:
    """Send the project's new runs to the workers, and ring its open lists, once this transaction has committed."""
    if runs:
        transaction.on_commit(lambda: enqueue(*runs))
        transaction.on_commit(lambda: ring_begun(runs[0].project_id))


# Whose run a free thread takes: of several projects that wait, the one that has the fewest threads of this worker.
#
# Messages come in the order in which they were sent, so that one project's thousands would keep all others waiting.

# A project that has fewer threads than this keeps nobody waiting.
FEW = 4


@compiled
def _oldest_waiting() -> QuerySet[Run, tuple[UUID, UUID]]:
    """Return each project's oldest waiting run, with the project."""
    due = Q(not_before__isnull=True) | Q(not_before__lte=Now())
    waiting = Run.objects.filter(due, NOT_OF_THE_DESK, state=RunState.QUEUED)
    return waiting.order_by("project_id", "enqueued_at").distinct("project_id").values_list("pk", "project_id")


class Turns:
    LOOK_EVERY_S = 0.2

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: Counter[UUID] = Counter()
        self._waiting: deque[tuple[UUID, UUID]] = deque()
        self._looked_at = -math.inf

    @contextmanager
    def taken(self, run_id: UUID, *, project_id: UUID | None) -> Iterator[UUID]:
        """The run to be moved on now: the one that was asked for, or one of a project that has fewer threads."""
        if project_id is None:
            yield run_id
            return
        with self._lock:
            is_to_look = self._busy[project_id] >= FEW and time.monotonic() >= self._looked_at + self.LOOK_EVERY_S
            if is_to_look:
                self._looked_at = time.monotonic()
        if is_to_look:
            # Outside of the lock: the other threads need not wait for the database.
            with released():
                found = _oldest_waiting()
            with self._lock:
                # First of those who have the fewest threads.
                self._waiting = deque(sorted(found, key=lambda row: self._busy[row[1]]))
        with self._lock:
            if self._waiting and self._busy[self._waiting[0][1]] + 1 < self._busy[project_id]:
                run_id, project_id = self._waiting.popleft()
            self._busy[project_id] += 1
        try:
            yield run_id
        finally:
            with self._lock:
                self._busy[project_id] -= 1


turns = Turns()

# Carried out by jobs.py, which stands above the actions that ask for it.
WORK_BULK = "reflection_app.config.jobs.work_bulk"
WORK_IMPORT = "reflection_app.config.jobs.work_import"
WORK_RETENTION = "reflection_app.config.jobs.work_retention"
TAKE_AWAY = "reflection_app.config.jobs.take_away"


def ask(job: str, subject: UUID) -> None:
    """Asks the workers for a job about one row. Where the broker is away, the sweep asks again."""
    if not Outage.is_on():
        _sent(job, ((str(subject),), {}))
