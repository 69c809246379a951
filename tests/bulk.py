"""Bulk decisions for tests."""

from reflection_app.reviews.models.bulk import BulkDecision, BulkState
from reflection_app.reviews.models.review import Review


def done_bulk(review: Review) -> BulkDecision:
    """A bulk decision of the review's project that is over, and decided nothing."""
    return BulkDecision.objects.create(
        project=review.project, user_label="tester", decision={"decision": "approve"}, state=BulkState.DONE
    )
