"""Whose run a free thread takes: of several projects that wait, the one that has the fewest threads of this worker.

Messages come in the order in which they were sent, so that one project's thousands would keep all others waiting.
"""

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from reflection_app.runs.models.run import NOT_OF_THE_DESK, Run, RunState

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
        if self._is_to_look(project_id):
            self._look()
        with self._lock:
            if self._waiting and self._busy[self._waiting[0][1]] + 1 < self._busy[project_id]:
                run_id, project_id = self._waiting.popleft()
            self._busy[project_id] += 1
        try:
            yield run_id
        finally:
            with self._lock:
                self._busy[project_id] -= 1

    def _is_to_look(self, project_id: UUID) -> bool:
        with self._lock:
            if self._busy[project_id] < FEW or time.monotonic() < self._looked_at + self.LOOK_EVERY_S:
                return False
            self._looked_at = time.monotonic()
            return True

    def _look(self) -> None:
        """Finds each project's oldest waiting run, first of those who have the fewest threads."""
        due = Q(not_before__isnull=True) | Q(not_before__lte=Now())
        waiting = Run.objects.filter(due, NOT_OF_THE_DESK, state=RunState.QUEUED)
        oldest = waiting.order_by("project_id", "enqueued_at").distinct("project_id")
        found = list(oldest.values_list("pk", "project_id"))
        connection.close()
        with self._lock:
            self._waiting = deque(sorted(found, key=lambda row: self._busy[row[1]]))


turns = Turns()
