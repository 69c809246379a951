"""Finding runs that nobody works on though somebody should: their worker died, or their message was lost."""

import logging
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from reflection_app.live.doorbell import ring
from reflection_app.loops.ends import Ended, Outcome
from reflection_app.models import EventType, Run, RunState, add_event
from reflection_app.runner.advance import MOST_FAILURES
from reflection_app.runner.ending import end_run
from reflection_app.runner.lease import CLAIMABLE

log = logging.getLogger(__name__)

MOST_AT_ONCE = 500


def take_back_expired() -> list[UUID]:
    """Queues the runs whose lease ran out, each a failure of its worker; the third in a row ends the run."""
    expired = Run.objects.filter(state=RunState.RUNNING, lease_until__lt=Now()).order_by("lease_until")
    taken = []
    for run_id in expired.values_list("pk", flat=True)[:MOST_AT_ONCE]:
        try:
            taken.append(_take_back(run_id))
        except Exception:
            # One run that cannot be taken back must not keep the others from it.
            log.exception("run %s could not be taken back", run_id)
    return [run_id for run_id in taken if run_id is not None]


def _take_back(run_id: UUID) -> UUID | None:
    with transaction.atomic():
        run = (
            Run.objects.select_for_update(skip_locked=True)
            .filter(pk=run_id, state=RunState.RUNNING, lease_until__lt=Now())
            .first()
        )
        if run is None:
            return None
        transaction.on_commit(lambda: ring(run_id, project_id=run.project_id))
        run.failures += 1
        error = f"its worker stopped {run.failures} times without getting further"
        if run.failures >= MOST_FAILURES:
            end_run(run, Ended(outcome=Outcome.FAILED, error=f"{error}; {run.error}" if run.error else error))
            return None
        run.state, run.enqueued_at = RunState.QUEUED, timezone.now()
        run.lease_token = run.lease_until = None
        add_event(run, EventType.RUN_RETRIED, error="its worker stopped", delay_s=0)
        run.save()
    return run_id


def find_unclaimed() -> list[UUID]:
    """Runs that nobody claimed in time, though they are queued or have waited long enough.

    Asking twice is harmless: only one claim succeeds.
    """
    now = timezone.now()
    silent = Q(enqueued_at__isnull=True) | Q(enqueued_at__lt=now - timedelta(seconds=settings.ENQUEUE_LOST_AFTER_S))
    due = Q(not_before__isnull=True) | Q(not_before__lte=now)
    oldest = Run.objects.filter(silent, due, state__in=CLAIMABLE).order_by("enqueued_at")
    run_ids = list(oldest.values_list("pk", flat=True)[:MOST_AT_ONCE])
    Run.objects.filter(pk__in=run_ids, state__in=CLAIMABLE).update(enqueued_at=now)
    return run_ids
