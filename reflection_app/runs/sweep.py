"""Finding runs that nobody works on though somebody should: their worker died, or their message was lost."""

import logging
import random
from collections import defaultdict
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from reflection_app.adapters.live import ring
from reflection_app.loops.verdicts import Ended, Outcome
from reflection_app.runs.advance import LONGEST_RETRY_DELAY_S, end_run
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.lease import CLAIMABLE, lapsed, process_of
from reflection_app.runs.models import NOT_OF_THE_DESK, Run, RunState

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
        delay_s = _delay_after(run.worker_deaths)
        run.state, run.enqueued_at = RunState.QUEUED, timezone.now()
        run.lease_token = run.lease_until = None
        if delay_s:
            # Asked for by the first sweep after that, since nobody else does.
            run.not_before, run.enqueued_at = run.enqueued_at + timedelta(seconds=delay_s), None
        add_event(run, EventType.RUN_RETRIED, error="its worker stopped", delay_s=delay_s)
        run.save()
    return not delay_s


def _delay_after(deaths: int) -> float:
    """Seconds. Runs that died together are parted by chance, so that those that do no harm come through."""
    if deaths < DEATHS_WITHOUT_DELAY:
        return 0.0
    longest_s = min(settings.RUN_RETRY_DELAY_S * 2.0 ** (deaths - DEATHS_WITHOUT_DELAY), LONGEST_RETRY_DELAY_S)
    return round(longest_s * random.uniform(0.5, 1.0), 3)  # noqa: S311 - parts retries, guards nothing


def find_unclaimed(*, fresh: bool = True, beside_a_queue: bool = False) -> list[UUID]:
    """Fresh runs, or those that look back, that nobody claimed in time though they are queued or have waited enough.

    Asking twice is harmless: only one claim succeeds. `beside_a_queue` of messages that wait their turn, it is all that
    nobody asked for yet, and a few of the others, asked for longest ago.
    """
    now = timezone.now()
    silent = Q(enqueued_at__isnull=True) | Q(enqueued_at__lt=now - timedelta(seconds=settings.ENQUEUE_LOST_AFTER_S))
    due = Q(not_before__isnull=True) | Q(not_before__lte=now)
    such = NOT_OF_THE_DESK if fresh else ~NOT_OF_THE_DESK
    found = Run.objects.filter(silent, due, such, state__in=CLAIMABLE)
    asked = found.filter(enqueued_at__isnull=False).order_by("enqueued_at")
    run_ids = [
        *found.filter(enqueued_at__isnull=True).values_list("pk", flat=True)[:MOST_AT_ONCE],
        *asked.values_list("pk", flat=True)[: MOST_BESIDE_A_QUEUE if beside_a_queue else MOST_AT_ONCE],
    ]
    Run.objects.filter(pk__in=run_ids, state__in=CLAIMABLE).update(enqueued_at=now)
    return run_ids
