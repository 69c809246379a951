"""Bulk decisions for tests."""

from reflection_app.reviews.models import BulkDecision, BulkState, Review


def done_bulk(review: Review) -> BulkDecision:
    """A bulk decision of the review's project that is over, and decided nothing."""
    return BulkDecision.objects.create(
        project=review.project, user_label="tester", decision={"decision": "approve"}, state=BulkState.DONE
    )
