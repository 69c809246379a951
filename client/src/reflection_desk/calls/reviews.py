"""Reviews, for programs of people who decide."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from reflection_desk.answers import Claim, Page, Review
from reflection_desk.call import Call, get, post


def list_reviews(*, view: str = "", limit: int | None = None) -> Call[Page[Review]]:
    """The queue, in the order in which it is worked."""
    return get("reviews", Page[Review], view=view, limit=limit)


def claim_review(
    review_id: UUID | str | None = None,
    *,
    among: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
) -> Call[Claim | None]:
    """The next review, or that one, held for the caller; None where nothing waits."""
    body = {"review_id": review_id, "among": among}
    return post("reviews/claim", Claim | None, body, idempotency_key=idempotency_key)  # type: ignore[arg-type]


def decide_review(
    review_id: UUID | str,
    *,
    lease_token: UUID | str,
    decision: str,
    verdict: str | None = None,
    score: float | None = None,
    issues: Sequence[Mapping[str, Any]] | None = None,
    reason: str | None = None,
    instructions: str | None = None,
    attempt: int | None = None,
    idempotency_key: str | None = None,
) -> Call[Review]:
    """Decides it. Raises Conflict where somebody else did, or the hold was lost."""
    body = {
        "lease_token": lease_token,
        "decision": decision,
        "verdict": verdict,
        "score": score,
        "issues": issues,
        "reason": reason,
        "instructions": instructions,
        "attempt": attempt,
    }
    return post(f"reviews/{review_id}/decision", Review, body, idempotency_key=idempotency_key)


def keep_review(
    review_id: UUID | str, *, lease_token: UUID | str, idempotency_key: str | None = None
) -> Call[dict[str, Any]]:
    """Holds it a while longer; answers until when."""
    body = {"lease_token": lease_token}
    return post(f"reviews/{review_id}/heartbeat", dict[str, Any], body, idempotency_key=idempotency_key)


def release_review(review_id: UUID | str, *, lease_token: UUID | str, idempotency_key: str | None = None) -> Call[Any]:
    """Gives it back to the queue."""
    return post(f"reviews/{review_id}/release", Any, {"lease_token": lease_token}, idempotency_key=idempotency_key)
