"""Who may work on a run: one worker at a time, by a lease with a fencing token.

A worker takes a queued run by one conditional UPDATE, renews the lease while it works, and every write of its journal
is conditional on the token. A worker that lost its lease finds out at its next write, which is refused.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection
from django.db.models import Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now

from reflection_app.models import Run, RunState

log = logging.getLogger(__name__)


CLAIMABLE = (RunState.QUEUED, RunState.WAITING_TIME)


class LeaseLost(Exception):
    """Another worker has the run, or it was ended from outside."""


@dataclass(frozen=True)
class Lease:
    run_id: UUID
    token: UUID


def lease_end() -> CombinedExpression:
    """When a lease given now ends, by the database's clock: workers' clocks may differ by more than a lease."""
    return Now() + timedelta(seconds=settings.RUN_LEASE_S)


def claim(run_id: UUID) -> Lease | None:
    """The lease of a run that is queued or has waited long enough, or None where it is neither, or not yet due."""
    token = uuid4()
    due = Q(not_before__isnull=True) | Q(not_before__lte=Now())
    claimed = Run.objects.filter(due, pk=run_id, state__in=CLAIMABLE).update(
        state=RunState.RUNNING,
        lease_token=token,
        lease_until=lease_end(),
        started_at=Coalesce("started_at", Now()),
        not_before=None,
        waiting_for="",
    )
    return Lease(run_id, token) if claimed else None


class LeaseKeeper:
    """Renews all leases of this process from one thread, three times within a lease's life."""

    def __init__(self) -> None:
        self._tokens: set[UUID] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def keep(self, lease: Lease) -> Iterator[None]:
        """Keeps `lease` alive inside the block."""
        with self._changed:
            self._tokens.add(lease.token)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._renew_for_ever, name="lease-keeper", daemon=True)
                self._thread.start()
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._tokens.discard(lease.token)

    def give_back(self) -> int:
        """Queues all runs of this process again, for the next sweep to find; how many. Late writes are refused."""
        with self._changed:
            tokens, self._tokens = list(self._tokens), set()
        try:
            return Run.objects.filter(state=RunState.RUNNING, lease_token__in=tokens).update(
                state=RunState.QUEUED, lease_token=None, lease_until=None, enqueued_at=None
            )
        finally:
            connection.close()

    def _renew_for_ever(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._tokens))
            # Not a wait that new leases cut short: they are fresh, and hundreds may begin within a second.
            time.sleep(settings.RUN_LEASE_S / 3)
            with self._changed:
                tokens = list(self._tokens)
            try:
                renew(tokens)
            except Exception as error:  # noqa: BLE001 - without this thread every lease of the process would lapse
                # The lease may run out meanwhile; then another worker goes on, and this one's writes are refused.
                log.warning("leases could not be renewed: %s", error)
            finally:
                connection.close()


def renew(tokens: list[UUID]) -> int:
    """Prolongs the leases with these tokens that still stand; how many there were."""
    if not tokens:
        return 0
    return Run.objects.filter(state=RunState.RUNNING, lease_token__in=tokens).update(lease_until=lease_end())


keeper = LeaseKeeper()
