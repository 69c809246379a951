"""Reviews: list, request, claim, decide."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack
from uuid import UUID

from reflection_desk.answers import AskedFor, Claim, Page, Review
from reflection_desk.call import Call, get, post


def list_reviews(
    *, view: str = "", state: str = "", run: UUID | str = "", queue: UUID | str = "", limit: int | None = None
) -> Call[Page[Review]]:
    """Return a page of reviews, newest first.

    `view` is `all`, `mine`, `unclaimed`, `skipped`, `decided` or `my_decisions`; `state` is `waiting`, `claimed`,
    `decided` or `withdrawn`. `run` and `queue` are ids of a run and of a named queue.
    """
    return get("reviews", Page[Review], view=view, state=state, run=run, queue=queue, limit=limit)


def get_review(review_id: UUID | str) -> Call[Review]:
    """Return a review with its decision, if there is one. Raises NotFound."""
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
    """Request a review of a judged attempt, regardless of the review policy. The run does not wait for it.

    The default `attempt` is the run's best one, else its last. `note` is what the reviewer should check. `reviewers`,
    1 to 5, is the number of blind reviewers. `assignee` is a member's user name, only with one reviewer.
    """
    body = {"note": note, "attempt": attempt, "reviewers": reviewers, "assignee": assignee}
    return post(f"runs/{run_id}/reviews", AskedFor, body, idempotency_key=idempotency_key)


def claim_review(
    review_id: UUID | str | None = None,
    *,
    among: Mapping[str, Any] | None = None,
    queue: UUID | str | None = None,
    idempotency_key: str | None = None,
) -> Call[Claim | None]:
    """Claim the given review, or the next one, and return it with a lease token. Returns None if none is waiting.

    `among` has filters as query parameters of `GET /reviews`, and `queue` is the id of a named queue. Raises Conflict
    if the given review is already claimed or decided. The key acts as its creator: raises NotAllowed if the
    queue is for other reviewers, or if the creator submitted the work.
    """
    body = {"review_id": review_id, "among": among, "queue": queue}
    return post("reviews/claim", Claim | None, body, idempotency_key=idempotency_key)  # type: ignore[arg-type]


class DecisionFields(TypedDict, total=False):
    """Optional fields of a decision.

    `verdict`, `score` (0 to 100) and `issues` are for `overrule`; `instructions` for `redo`; `edited_answer` for
    `edit`. `ratings` has a value for each criterion of the run's rubric. `attempt` selects another attempt.
    """

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
    """Decide a claimed review. Its run resumes, and the decided review is returned.

    `decision` is `approve`, `overrule` or `edit`; for a REJECT that the run waits for, it is `redo`, `accept` or
    `close`. With `edit`, `edited_answer` replaces the run's answer. If the run has a rubric, overruling needs
    `ratings`, and the verdict follows from them. Raises Conflict if the review is already decided or the lease is lost.
    """
    body = {"lease_token": lease_token, "decision": decision, **fields}
    return post(f"reviews/{review_id}/decision", Review, body, idempotency_key=idempotency_key)


def keep_review(
    review_id: UUID | str, *, lease_token: UUID | str, idempotency_key: str | None = None
) -> Call[dict[str, Any]]:
    """Extend the lease of a claimed review. The returned dict has the new end, `lease_until`.

    Raises Conflict if the lease is lost.
    """
    body = {"lease_token": lease_token}
    return post(f"reviews/{review_id}/heartbeat", dict[str, Any], body, idempotency_key=idempotency_key)


def release_review(review_id: UUID | str, *, lease_token: UUID | str, idempotency_key: str | None = None) -> Call[Any]:
    """Return a claimed review to the queue. Raises Conflict if the lease is lost."""
    return post(f"reviews/{review_id}/release", Any, {"lease_token": lease_token}, idempotency_key=idempotency_key)
