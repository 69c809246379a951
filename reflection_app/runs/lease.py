"""Who may work on a run: one worker at a time, by a lease with a fencing token.

A worker takes a queued run by one conditional UPDATE, renews the lease while it works, and every write of its journal
is conditional on the token. A worker that lost its lease finds out at its next write, which is refused.

While a process has runs, the connection that renews their leases is named for it. A process that dies takes its session
with it at once, and its runs are free a third of a lease after the last renewal; one that is stopped, or cut off, keeps
its session, and its runs until their lease runs out.
"""

import json
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from reflection_app.core.connections import released
from reflection_app.runs.models import Run, RunState

log = logging.getLogger(__name__)

RENEW = """
UPDATE reflection_app_run SET lease_until = now() + make_interval(secs => %s) WHERE id IN (
    SELECT id FROM reflection_app_run WHERE state = 'running' AND lease_token = ANY(%s) FOR NO KEY UPDATE SKIP LOCKED
)
"""

# Where the database was away a moment ago, as our oldest session there tells, others may not have come back to it yet:
# then nobody is taken for dead, unless for very long. Of a process that is gone all runs are told, since they are told
# apart by who died with them.
LAPSED = """
WITH sessions AS (
    SELECT array_agg(COALESCE(application_name, '')) AS names,
        COALESCE(min(backend_start) FILTER (WHERE usename = current_user), now())
            < now() - make_interval(secs => %(silent_s)s) AS are_lasting
    FROM pg_stat_activity WHERE datname = current_database()
), leased AS (
    SELECT id, lease_token, lease_until, left(replace(lease_token::text, '-', ''), 16) AS process,
        %(keeper)s || left(replace(lease_token::text, '-', ''), 16) <> ALL(names) AS is_alone,
        lease_until < now() AND are_lasting OR lease_until < now() - make_interval(secs => %(lease_s)s) AS is_over,
        lease_until < now() + make_interval(secs => %(lease_s)s - %(silent_s)s) AND are_lasting AS is_silent
    FROM reflection_app_run, sessions WHERE state = 'running' AND lease_token IS NOT NULL
)
SELECT id, lease_token, lease_until FROM leased
WHERE is_over OR is_alone AND process IN (SELECT process FROM leased WHERE is_alone AND is_silent)
ORDER BY lease_until LIMIT %(most)s
"""
KEEPER = "desk-lease-keeper-"

RENEWALS_IN_A_LEASE = 6
# Two renewals were missed by then.
SILENT_AFTER = 1 / 3
RECONNECT_AFTER_S = 0.5

CLAIMABLE = (RunState.QUEUED, RunState.WAITING_TIME)
# What a loop is begun with comes back in the same trip.
CLAIM = """
UPDATE reflection_app_run
SET state = 'running', lease_token = %s, lease_until = statement_timestamp() + make_interval(secs => %s),
  started_at = COALESCE(started_at, statement_timestamp()), not_before = NULL, waiting_for = ''
WHERE id = %s AND state = ANY(%s) AND (not_before IS NULL OR not_before <= statement_timestamp())
RETURNING id, project_id, spec::text, loop_version, asked_wait_s, edited_prompts::text,
  NOT EXISTS (SELECT 1 FROM reflection_app_step WHERE run_id = reflection_app_run.id)
"""
# A message that comes too early is one by a clock that goes before the database's; all others are found by the sweep.
CLOCKS_DIFFER_S = 10
DUE_SOON = """
SELECT extract(epoch FROM not_before - statement_timestamp()) FROM reflection_app_run
WHERE id = %s AND state = ANY(%s) AND not_before > statement_timestamp()
  AND not_before < statement_timestamp() + make_interval(secs => %s)
"""


class LeaseLost(Exception):
    """Another worker has the run, or it was ended from outside."""


# What the tokens of this process begin with: who dies takes all its runs with it, and they are told by this.
PROCESS = uuid4().bytes[:8]


def _name_process() -> None:
    global PROCESS  # noqa: PLW0603 - one per process; forked workers inherit their parent's
    PROCESS = uuid4().bytes[:8]


os.register_at_fork(after_in_child=_name_process)


@dataclass(frozen=True)
class Lease:
    run_id: UUID
    token: UUID
    has_no_steps: bool
    # What its loop is run with: the specification, its version and the prompts that people wrote, how long providers
    # made it wait before, and nothing else.
    run: Run


def lease_end() -> CombinedExpression:
    """When a lease given now ends, by the database's clock: workers' clocks may differ by more than a lease."""
    return Now() + timedelta(seconds=settings.RUN_LEASE_S)


def process_of(token: UUID) -> bytes:
    """What all leases of one process have in common."""
    return token.bytes[:8]


def silent_s() -> float:
    """How long after a lease was given or renewed its worker passes for silent."""
    return settings.RUN_LEASE_S * SILENT_AFTER


def lapsed(*, most: int) -> list[tuple[UUID, UUID, datetime]]:
    """Run, token and end of the leases that ran out, or whose worker is silent and without a session; oldest first."""
    values: dict[str, float | str] = {"silent_s": silent_s(), "keeper": KEEPER, "most": most}
    values["lease_s"] = settings.RUN_LEASE_S
    with connection.cursor() as cursor:
        cursor.execute(LAPSED, values)
        return list(cursor.fetchall())


def claim(run_id: UUID) -> Lease | None:
    """The lease of a run that is queued or has waited long enough, or None where it is neither, or not yet due."""
    token = UUID(bytes=PROCESS + uuid4().bytes[8:])
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [token, settings.RUN_LEASE_S, run_id, [state.value for state in CLAIMABLE]])
        row = cursor.fetchone()
    if row is None:
        return None
    # In the order of the model, which `from_db` reads them in.
    names = ("id", "project_id", "spec", "loop_version", "asked_wait_s", "edited_prompts")
    values = (row[0], row[1], json.loads(row[2]), row[3], row[4], json.loads(row[5]))
    return Lease(run_id, token, has_no_steps=row[6], run=Run.from_db(connection.alias, names, values))


def due_in_s(run_id: UUID) -> float | None:
    """In how many seconds, by the database's clock, a run may be claimed that soon will be; None for any other."""
    with connection.cursor() as cursor:
        cursor.execute(DUE_SOON, [run_id, [state.value for state in CLAIMABLE], CLOCKS_DIFFER_S])
        row = cursor.fetchone()
    return float(row[0]) if row else None


class LeaseKeeper:
    """Renews all leases of this process from one thread, six times within a lease's life."""

    def __init__(self) -> None:
        self._tokens: set[UUID] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def keep(self, lease: Lease) -> Iterator[None]:
        """Keeps `lease` alive inside the block."""
        with self._changed:
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._renew_for_ever, name="lease-keeper", daemon=True)
                thread.start()
                self._thread = thread
            self._tokens.add(lease.token)
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
        with released():
            return Run.objects.filter(state=RunState.RUNNING, lease_token__in=tokens).update(
                state=RunState.QUEUED, lease_token=None, lease_until=None, enqueued_at=None
            )

    def renew(self) -> int:
        """Prolongs the leases of this process that nobody took over, also those that ran out; how many there were.

        On a connection of its own: threads that wait for one of the pool's must not lose their runs to that.
        """
        with self._changed:
            tokens = list(self._tokens)
        if not tokens:
            return 0
        own = _unpooled_connection()
        try:
            return _renew(tokens, by=own)
        finally:
            own.close()

    def _renew_for_ever(self) -> None:
        own = _unpooled_connection()
        usual_s = pause_s = settings.RUN_LEASE_S / RENEWALS_IN_A_LEASE
        while True:
            with self._changed:
                if not self._tokens:
                    own.close()
                self._changed.wait_for(lambda: bool(self._tokens))
            # Not a wait that new leases cut short: they are fresh, and hundreds may begin within a second.
            time.sleep(pause_s)
            with self._changed:
                tokens = list(self._tokens)
            try:
                _renew(tokens, by=own)
                pause_s = usual_s
            except Exception as error:  # noqa: BLE001 - without this thread every lease of the process would lapse
                # The lease may run out meanwhile; then another worker goes on, and this one's writes are refused.
                log.warning("leases could not be renewed: %s", error)
                own.close()
                # Without a session this process passes for dead.
                pause_s = min(usual_s, RECONNECT_AFTER_S)


def _unpooled_connection() -> BaseDatabaseWrapper:
    own = connection.copy()
    own.settings_dict["OPTIONS"] = {
        name: value for name, value in own.settings_dict["OPTIONS"].items() if name != "pool"
    } | {"application_name": KEEPER + PROCESS.hex()}
    return own


def _renew(tokens: list[UUID], *, by: BaseDatabaseWrapper) -> int:
    """Prolongs the leases with these tokens that still stand. A run that is being written is left for the next time."""
    if not tokens:
        return 0
    with by.cursor() as cursor:
        cursor.execute(RENEW, [settings.RUN_LEASE_S, tokens])
        return int(cursor.rowcount)


keeper = LeaseKeeper()
