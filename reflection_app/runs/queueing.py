"""Beginning a run, asking the workers to move it on, and whose run a free thread takes."""

import logging
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from kombu.exceptions import OperationalError

from reflection_app.adapters.live import ring
from reflection_app.core.connections import released
from reflection_app.loops import prompts
from reflection_app.loops.catalogue import version_of
from reflection_app.loops.task_spec import OF_THE_DESK, TaskSpec
from reflection_app.runs.batch import Batch
from reflection_app.runs.events import EventType, next_event
from reflection_app.runs.models import NOT_OF_THE_DESK, Run, RunState, spec_as_json
from reflection_app.tasks.models import Task

# The beginning of a run: its row, its first event, and the message to the workers.


# Asking the workers to move a run on, by the name of their task, which stands above the runner.

log = logging.getLogger(__name__)

ADVANCE_RUN = "reflection_app.runs.jobs.advance_run"
BEGIN_LOOKING_BACK = "reflection_app.runs.jobs.begin_looking_back"
LOOK_BACK_DELAY_S = 0.3
# A message that is due later lies unacknowledged in some worker's memory until then, and the broker gives it to others
# where that takes long. For longer waits the row alone says when, and the first sweep after that asks.
LONGEST_COUNTDOWN_S = 60.0


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
    """Asks the workers to move a run on, after `delay_s`; what is due after more than a minute is left to the sweep.

    A broker that is away loses nothing: the next sweep asks again.
    """
    if delay_s <= LONGEST_COUNTDOWN_S and not Outage.is_on():
        looks_back = run.mode in OF_THE_DESK
        queue = settings.LOOKING_BACK_QUEUE if looks_back else settings.CELERY_TASK_DEFAULT_QUEUE
        # Projects take turns at fresh work alone; who looks back takes none of that.
        arguments = (str(run.pk),) if looks_back else (str(run.pk), str(run.project_id))
        try:
            current_app.send_task(ADVANCE_RUN, arguments, queue=queue, countdown=delay_s or None, retry=False)
            return
        except OperationalError as error:
            Outage.note()
            log.warning("run %s and what follows wait for the next sweep, the broker is away: %s", run.pk, error)
    # For a sweep to take up as soon as it is due, and not only when the message has been missed for long.
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


def is_scripted(models: dict[str, str]) -> bool:
    """Whether any of the models by role is a script."""
    return any(name.startswith("scripted/") for name in models.values())


@dataclass(frozen=True)
class Origin:
    """The run that another is begun from, why, and by whom."""

    run: Run
    note: str
    by: str


def begin_run(
    task: Task,
    spec: TaskSpec,
    *,
    origin: Origin | None = None,
    handed_in_by: Sequence[str] = (),
    beside: Batch | None = None,
) -> Run:
    """A queued run of `task`; call it inside a transaction, after whose commit the workers are told.

    `handed_in_by` is whose work it is (`Actor.hand`); what is begun from another run is theirs whose that was. Its rows
    are written with those of `beside`, where there is one, by whoever made that.
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
        parent=origin.run if origin else None,
        fork_note=origin.note if origin else "",
        forked_by_label=origin.by if origin else "",
        handed_in_by=[*handed_in_by] or (origin.run.handed_in_by if origin else []),
    )
    begun = next_event(run, EventType.RUN_CREATED, **({"parent": str(origin.run.pk)} if origin else {}))
    batch = beside or Batch()
    batch.insert(run)
    batch.insert(begun)
    if beside is None:
        batch.write()
    transaction.on_commit(lambda: enqueue(run))
    transaction.on_commit(lambda: ring(run.pk, project_id=task.project_id))
    return run


# Whose run a free thread takes: of several projects that wait, the one that has the fewest threads of this worker.
#
# Messages come in the order in which they were sent, so that one project's thousands would keep all others waiting.

# A project that has fewer threads than this keeps nobody waiting.
FEW = 4


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
            # Each project's oldest waiting run, first of those who have the fewest threads. Outside of the lock: the
            # other threads need not wait for the database.
            due = Q(not_before__isnull=True) | Q(not_before__lte=Now())
            waiting = Run.objects.filter(due, NOT_OF_THE_DESK, state=RunState.QUEUED)
            oldest = waiting.order_by("project_id", "enqueued_at").distinct("project_id")
            with released():
                found = list(oldest.values_list("pk", "project_id"))
            with self._lock:
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


def enqueue_bulk(bulk_id: UUID) -> None:
    """Asks the workers to work a bulk decision through. Where the broker is away, the sweep asks again."""
    _ask(WORK_BULK, bulk_id)


def enqueue_import(import_id: UUID) -> None:
    """Asks the workers to carry out an import. Where the broker is away, the sweep asks again."""
    _ask(WORK_IMPORT, import_id)


def enqueue_retention(retention_run_id: UUID) -> None:
    """Asks the workers to delete by a project's rules. Where the broker is away, the next look asks again."""
    _ask(WORK_RETENTION, retention_run_id)


def enqueue_taking_away(project_id: UUID) -> None:
    """Asks the workers to take a deleted project away. Where the broker is away, the sweep asks again."""
    _ask(TAKE_AWAY, project_id)


def _ask(job: str, subject: UUID) -> None:
    if Outage.is_on():
        return
    try:
        current_app.send_task(job, (str(subject),), retry=False)
    except OperationalError as error:
        Outage.note()
        log.warning("%s of %s waits for the next sweep, the broker is away: %s", job, subject, error)
