"""Celery's tasks that carry out actions. They stand above the actions, which ask for them by name (tasks.py)."""

from datetime import timedelta
from uuid import UUID

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone

from notebook_app.public import open_imports, refresh_search
from reflection_app.actions.assign_review import lapse_assignments
from reflection_app.actions.bulk_items import work_through
from reflection_app.actions.compare_entries import compare_due
from reflection_app.actions.embed_entries import embed_waiting, stopping
from reflection_app.actions.notebook_import import carry_out_import
from reflection_app.models import BulkDecision, BulkState
from reflection_app.notices.outbox import send_waiting_mail
from reflection_app.tasks import COMPARE_ENTRIES, EMBED_ENTRIES, WORK_BULK, WORK_IMPORT, enqueue_bulk, enqueue_import

# A bulk decision that is under way for longer than this may have lost its message or its worker.
LOST_AFTER = timedelta(seconds=30)
COMPARED_WITHIN_S = 10


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


@shared_task(name=WORK_IMPORT)
def work_import(import_id: str) -> None:
    """Carries an import out. A message that comes twice does nothing the second time."""
    carry_out_import(UUID(import_id))


@shared_task(name="reflection_app.jobs.sweep_imports")
def sweep_imports() -> None:
    """Asks again for the imports that have begun and not ended: their message or their worker may be lost."""
    for import_id in open_imports():
        enqueue_import(import_id)


@shared_task(name=EMBED_ENTRIES)
def embed_entries() -> None:
    """Gives entries the vectors that they lack, for a while; the rest is left to a message of its own."""
    if embed_waiting():
        embed_entries.apply_async(retry=False)
    # What has its vector now is to be compared with the others. Who comes to it late finds it done, or asked for again.
    compare_entries.apply_async(retry=False, expires=COMPARED_WITHIN_S)


@shared_task(name="reflection_app.jobs.index_entries")
def index_entries() -> None:
    """Makes findable by their words what was written past the notebook's own ways, such as by an upgrade."""
    refresh_search()


@shared_task(name=COMPARE_ENTRIES)
def compare_entries() -> None:
    """Finds the near-duplicates and contradictions of what is new, or was put into other words."""
    compare_due()


@worker_shutting_down.connect
def stop_embedding(**_: object) -> None:
    """What is not embedded yet is left to the next worker."""
    stopping.set()


@shared_task(name="reflection_app.jobs.send_mail")
def send_mail() -> None:
    """Tells people by mail of what they have not read for a while, where mail is set up."""
    send_waiting_mail()


@shared_task(name="reflection_app.jobs.lapse")
def lapse() -> None:
    """Gives back to everybody what is kept for people who may not review it any more."""
    lapse_assignments()
