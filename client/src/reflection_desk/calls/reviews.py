"""Reviews, for programs of people who decide."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack
from uuid import UUID

from reflection_desk.answers import AskedFor, Claim, Page, Review
from reflection_desk.call import Call, get, post


def list_reviews(
    *, view: str = "", state: str = "", run: UUID | str = "", queue: UUID | str = "", limit: int | None = None
) -> Call[Page[Review]]:
    """Reviews, the newest first; with `view` those of one view, with `queue` those of a named queue, by its id."""
    return get("reviews", Page[Review], view=view, state=state, run=run, queue=queue, limit=limit)


def get_review(review_id: UUID | str) -> Call[Review]:
    """One review, with what was decided."""
    return get(f"reviews/{review_id}", Review)


def ask_for_review(
    run_id: UUID | str,
    note: str,
    *,
    attempt: int | None = None,
    reviewers: int | None = None,
    assignee: str | None = None,
    idempotency_key: str | None = None,
) -> Call[AskedFor]:
    """Asks people to look at an attempt, whatever the policy says; the run does not wait for it."""
    body = {"note": note, "attempt": attempt, "reviewers": reviewers, "assignee": assignee}
    return post(f"runs/{run_id}/reviews", AskedFor, body, idempotency_key=idempotency_key)


def claim_review(
    review_id: UUID | str | None = None,
    *,
    among: Mapping[str, Any] | None = None,
    queue: UUID | str | None = None,
    idempotency_key: str | None = None,
) -> Call[Claim | None]:
    """The next review, or that one, held for the caller; None where nothing waits.

    With `queue`, the next of that named queue. Raises where it is for others than whoever made the key.
    """
    body = {"review_id": review_id, "among": among, "queue": queue}
    return post("reviews/claim", Claim | None, body, idempotency_key=idempotency_key)  # type: ignore[arg-type]


class DecisionFields(TypedDict, total=False):
    """What a decision may hold, by its kind."""

    verdict: str | None
    score: float | None
    issues: Sequence[Mapping[str, Any]] | None
    ratings: Mapping[str, Any] | None
    reason: str | None
    instructions: str | None
    attempt: int | None
    edited_answer: str | None


def decide_review(
    review_id: UUID | str,
    *,
    lease_token: UUID | str,
    decision: str,
    idempotency_key: str | None = None,
    **fields: Unpack[DecisionFields],
) -> Call[Review]:
    """Decides it; with `edit`, `edited_answer` becomes the run's answer.

    Where the run goes by a rubric, `ratings` give the verdict. Raises Conflict where somebody else decided it, or the
    hold was lost.
    """
    body = {"lease_token": lease_token, "decision": decision, **fields}
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
