"""Telling open pages that something about a review has changed: those of its run, and those of the queue."""

from uuid import UUID

from django.db import transaction

from reflection_app.adapters.doorbell import ring, ring_reviews


def tell_pages(run_id: UUID, *, project_id: UUID) -> None:
    """Rings for the run, its project's lists and its reviews once the change is committed."""
    transaction.on_commit(lambda: ring(run_id, project_id=project_id))
    transaction.on_commit(lambda: ring_reviews(project_id))
