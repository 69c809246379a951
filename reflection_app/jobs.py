"""Celery's tasks that carry out actions. They stand above the actions, which ask for them by name (tasks.py)."""

from datetime import timedelta
from uuid import UUID

from celery import shared_task
from django.utils import timezone

from reflection_app.actions.assign_review import lapse_assignments
from reflection_app.actions.bulk_items import work_through
from reflection_app.models import BulkDecision, BulkState
from reflection_app.notices.outbox import send_waiting_mail
from reflection_app.tasks import WORK_BULK, enqueue_bulk

# A bulk decision that is under way for longer than this may have lost its message or its worker.
LOST_AFTER = timedelta(seconds=30)


@shared_task(name=WORK_BULK)
def work_bulk(bulk_id: str) -> None:
    """Works a bulk decision through. A message that comes twice does nothing the second time."""
    work_through(UUID(bulk_id))


@shared_task(name="reflection_app.jobs.sweep_bulk")
def sweep_bulk() -> None:
    """Asks again for the bulk decisions that nobody may be working on."""
    under_way = BulkDecision.objects.filter(state__in=(BulkState.RUNNING, BulkState.UNDOING))
    for bulk_id in under_way.filter(created_at__lt=timezone.now() - LOST_AFTER).values_list("pk", flat=True):
        enqueue_bulk(bulk_id)


@shared_task(name="reflection_app.jobs.send_mail")
def send_mail() -> None:
    """Tells people by mail of what they have not read for a while, where mail is set up."""
    send_waiting_mail()


@shared_task(name="reflection_app.jobs.lapse")
def lapse() -> None:
    """Gives back to everybody what is kept for people who may not review it any more."""
    lapse_assignments()
