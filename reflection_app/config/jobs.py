"""Celery's tasks that carry out actions. They stand above the actions, which ask for them by name."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from celery import current_app, shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from notebook_app.public import open_imports, refresh_search, sum_recalls
from reflection_app.alerts.escalating import begin_channel_digests, escalate_due
from reflection_app.alerts.letters import send_due_digests
from reflection_app.alerts.sending import due_channels
from reflection_app.alerts.sending import send_due as send_due_to_channel
from reflection_app.attachments.keeping import sweep_unused
from reflection_app.comparisons.claiming import comparisons_without_right
from reflection_app.config.schedule import REPEAT
from reflection_app.core.audit import Actor
from reflection_app.core.rights import review_right_ended
from reflection_app.metrics.figuring import AT_ONCE, figure_due
from reflection_app.notebook.background import compare_due, embed_waiting, screen_waiting, stopping
from reflection_app.notebook.ending import departed_owners
from reflection_app.notebook.proposing import carry_out_import
from reflection_app.queues.changing import queues_without_right
from reflection_app.reviews.bulk import work_through
from reflection_app.reviews.ending import reviews_without_right
from reflection_app.reviews.models import BulkDecision, BulkState
from reflection_app.runs.jobs import COMPARE_ENTRIES, EMBED_ENTRIES
from reflection_app.runs.queueing import TAKE_AWAY, WORK_BULK, WORK_IMPORT, WORK_RETENTION, ask
from reflection_app.sessions.traces import assemble_due, forget_spans
from reflection_app.teams.notifications import send_waiting_mail
from reflection_app.teams.retention import begin_due_retention, carry_out_retention, deleted_projects, take_project_away
from reflection_app.teams.webhook_sending import due_webhooks, send_due, switch_off_forgotten

log = logging.getLogger(__name__)

JOBS = "reflection_app.config.jobs"
# Actions that a message asks for as they are. Each may come twice, and does nothing the second time.
compare_entries = shared_task(name=COMPARE_ENTRIES)(compare_due)
for action, name in (
    (refresh_search, f"{JOBS}.index_entries"),
    (sum_recalls, f"{JOBS}.sum_recalls"),
    (send_waiting_mail, f"{JOBS}.send_mail"),
    (send_due_digests, f"{JOBS}.send_digests"),
    (escalate_due, f"{JOBS}.escalate"),
):
    shared_task(name=name)(action)


def _now(action: Callable[[datetime], object]) -> Callable[[], object]:
    def act() -> object:
        return action(timezone.now())

    return act


for at_a_time, name in (
    (assemble_due, f"{JOBS}.assemble_traces"),
    (forget_spans, f"{JOBS}.forget_spans"),
    (sweep_unused, f"{JOBS}.sweep_attachments"),
    (switch_off_forgotten, f"{JOBS}.tidy_webhooks"),
):
    shared_task(name=name)(_now(at_a_time))


def _by_id(action: Callable[[UUID], object]) -> Callable[[str], object]:
    def act(row_id: str) -> object:
        return action(UUID(row_id))

    return act


for of_one, name in (
    (work_through, WORK_BULK),
    (carry_out_import, WORK_IMPORT),
    (carry_out_retention, WORK_RETENTION),
    (take_project_away, TAKE_AWAY),
):
    shared_task(name=name)(_by_id(of_one))

# A bulk decision that is under way for longer than this may have lost its message or its worker.
LOST_AFTER = timedelta(seconds=30)
COMPARED_WITHIN_S = 10
# Of many finished runs at once, such as after an upgrade, this many batches are figured in one go.
MOST_BATCHES = 20
SENT_WITHIN_S = 10
# Of the threads that advance runs, this share at most waits for receivers of webhooks.
receivers = threading.BoundedSemaphore(max(2, settings.WORKER_CONCURRENCY // 4))


@shared_task(name=REPEAT)
def repeat(*tasks: str) -> None:
    """Carry out these tasks one after the other. One that fails keeps none of the others from it."""
    for task in tasks:
        try:
            current_app.tasks[task]()
        except Exception:
            log.exception("%s failed", task)


@shared_task(name="reflection_app.config.jobs.sweep_bulk")
def sweep_bulk() -> None:
    """Asks again for the bulk decisions that nobody may be working on."""
    under_way = BulkDecision.objects.filter(state__in=(BulkState.RUNNING, BulkState.UNDOING))
    for bulk_id in under_way.filter(created_at__lt=timezone.now() - LOST_AFTER).values_list("pk", flat=True):
        ask(WORK_BULK, bulk_id)


@shared_task(name="reflection_app.config.jobs.sweep_imports")
def sweep_imports() -> None:
    """Asks again for the imports that have begun and not ended: their message or their worker may be lost."""
    for import_id in open_imports():
        ask(WORK_IMPORT, import_id)


@shared_task(name=EMBED_ENTRIES)
def embed_entries() -> None:
    """Has entries screened by what they mean and gives them the vectors that they lack, for a while.

    The rest is left to a message of its own.
    """
    # Who says something is screened before it is made findable.
    is_more_to_screen = screen_waiting()
    if embed_waiting() or is_more_to_screen:
        embed_entries.apply_async(retry=False)
    # What has its vector now is to be compared with the others. Who comes to it late finds it done, or asked for again.
    compare_entries.apply_async(retry=False, expires=COMPARED_WITHIN_S)


@worker_shutting_down.connect
def stop_embedding(**_: object) -> None:
    """What is not embedded yet is left to the next worker."""
    stopping.set()


@shared_task(name="reflection_app.config.jobs.lapse")
def lapse() -> None:
    """End what people hold who lost the right to review without any action of the app, such as by SQL or a sync."""
    ended = reviews_without_right() | comparisons_without_right() | queues_without_right() | departed_owners()
    for project_id, user_id in sorted(ended):
        with transaction.atomic():
            review_right_ended.send(sender=None, project_id=project_id, user_id=user_id, actor=Actor())


@shared_task(name="reflection_app.config.jobs.keep")
def keep() -> None:
    """Deletes what projects keep no longer, and asks again for what was ordered and not ended."""
    for retention_run_id in begin_due_retention(now=timezone.now()):
        ask(WORK_RETENTION, retention_run_id)


@shared_task(name="reflection_app.config.jobs.sweep_deleted")
def sweep_deleted() -> None:
    """Asks again for the projects that were deleted and are still there in part."""
    for project_id in deleted_projects():
        ask(TAKE_AWAY, project_id)


@shared_task(name="reflection_app.config.jobs.send_webhooks")
def send_webhooks() -> None:
    """Asks the workers to send what is due, each receiver by a message of its own: a slow one holds up no other."""
    for webhook_id in due_webhooks(timezone.now()):
        send_to_webhook.apply_async((str(webhook_id),), retry=False, expires=SENT_WITHIN_S)


@shared_task(name="reflection_app.config.jobs.send_to_webhook")
def send_to_webhook(webhook_id: str) -> None:
    """Sends what is due to one webhook, for a while."""
    _to_receiver(send_due, webhook_id)


def _to_receiver(send: Callable[[UUID], object], outlet_id: str) -> None:
    """Send, unless too many receivers are waited for already: then the next round asks again."""
    if not receivers.acquire(blocking=False):
        return
    try:
        send(UUID(outlet_id))
    finally:
        receivers.release()


@shared_task(name="reflection_app.config.jobs.send_channels")
def send_channels() -> None:
    """Asks the workers to tell channels what is due, each by a message of its own: a slow one holds up no other."""
    begin_channel_digests()
    for channel_id in due_channels(timezone.now()):
        send_to_channel.apply_async((str(channel_id),), retry=False, expires=SENT_WITHIN_S)


@shared_task(name="reflection_app.config.jobs.send_to_channel")
def send_to_channel(channel_id: str) -> None:
    """Sends one channel what is due."""
    _to_receiver(send_due_to_channel, channel_id)


@shared_task(name="reflection_app.config.jobs.figure_runs")
def figure_runs() -> None:
    """Counts the runs that have ended, or changed since, into the metrics; what is left comes with the next message."""
    for _ in range(MOST_BATCHES):
        if figure_due() < AT_ONCE:
            return
