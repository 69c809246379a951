"""Deciding a review: the person's verdict is kept, and a run that waited for it goes on."""

from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from pydantic import AfterValidator, Field

from reflection_app.actions.claim_review import lost
from reflection_app.actions.errors import InvalidInput
from reflection_app.live.doorbell import ring
from reflection_app.loops.effects import Decision, ReviewDecision
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue, Score
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.models import (
    Actor,
    EventType,
    Review,
    ReviewState,
    Run,
    RunState,
    StepState,
    Verdict,
    add_event,
    audit,
)
from reflection_app.tasks import enqueue


class DecisionInput(Value):
    """A reviewer's decision. `verdict` and `score` are for overruling; what is left out follows the critic."""

    lease_token: UUID
    decision: Decision
    verdict: VerdictName | None = None
    score: Score | None = None
    issues: Annotated[tuple[Issue, ...], Field(max_length=50)] | None = None
    reason: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = ""


@transaction.atomic
def decide_review(review: Review, decided: DecisionInput, *, actor: Actor) -> Review:
    """The decided review. Raises AlreadyDecided or ReviewLeaseLost (nothing changed), or InvalidInput.

    Lease and state are checked by the very UPDATE that records the decision, so that of two reviewers one wins.
    """
    # The run's lock comes first everywhere (cancel_run, the journal), so that nobody waits in a circle.
    run = Run.objects.select_for_update().get(pk=review.run_id)
    decision = decision_on(review, decided, actor=actor)
    now = timezone.now()
    row = Verdict.from_judgement(decision.judgement_of(review.attempt.number), attempt=review.attempt, step=None)
    row.given_by = actor.user
    recorded = Review.objects.filter(
        pk=review.pk, state=ReviewState.CLAIMED, lease_token=decided.lease_token, lease_until__gt=now
    ).update(
        state=ReviewState.DECIDED,
        decision=decided.decision.value,
        decision_reason=decided.reason,
        decided_by=actor.user,
        decided_by_label=actor.label,
        decided_at=now,
        lease_token=None,
        lease_until=None,
    )
    if not recorded:
        raise lost(review)
    row.save()
    Review.objects.filter(pk=review.pk).update(decided_verdict=row)
    if review.holds_run:
        _resume(run, review, decision)
    add_event(run, EventType.REVIEW_DECIDED, review=str(review.pk), decision=decided.decision.value)
    run.save(update_fields=["last_event_seq"])
    _keep_trail(review, decision, actor=actor)
    transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    review.refresh_from_db()
    return review


def decision_on(review: Review, decided: DecisionInput, *, actor: Actor) -> ReviewDecision:
    """What holds from now on. Raises InvalidInput where the decision does not say enough, or too much."""
    approved = decided.decision is Decision.APPROVE
    verdict, score, issues = _approved(review.verdict, decided) if approved else _overruled(review, decided)
    return ReviewDecision(
        decision=decided.decision,
        verdict=verdict,
        score=score,
        issues=issues,
        reason=decided.reason,
        reviewer=actor.label,
    )


Decided = tuple[VerdictName, float, tuple[Issue, ...]]


def _approved(before: Verdict, decided: DecisionInput) -> Decided:
    verdict, issues = VerdictName(before.verdict), issues_of(before)
    said_otherwise = (
        decided.verdict not in {None, verdict}
        or decided.score not in {None, before.score}
        or decided.issues not in {None, issues}
    )
    if said_otherwise:
        raise InvalidInput("Approving keeps verdict, score and issues as they are; overrule to change any of them.")
    return verdict, before.score, issues


def _overruled(review: Review, decided: DecisionInput) -> Decided:
    before = review.verdict
    if decided.verdict is None:
        raise InvalidInput(
            "Overruling needs a verdict.", errors=[{"field": "verdict", "message": "PASS, REVISE or REJECT"}]
        )
    # The critic's issues stand where the person gives none of their own, but for an attempt that is accepted.
    kept = () if decided.verdict is VerdictName.PASS else issues_of(before)
    issues = decided.issues if decided.issues is not None else kept
    if decided.verdict is VerdictName.REVISE and not issues and not decided.reason.strip():
        raise InvalidInput(
            "Say what is to be revised: the next attempt is made from it.",
            errors=[{"field": "issues", "message": "give an issue or a reason"}],
        )
    thresholds = review.run.get_spec().thresholds
    score = decided.score if decided.score is not None else score_within(decided.verdict, before.score, thresholds)
    return decided.verdict, score, issues


def issues_of(verdict: Verdict) -> tuple[Issue, ...]:
    return tuple(Issue.model_validate(issue) for issue in verdict.issues)


def score_within(verdict: VerdictName, score: float, thresholds: Thresholds) -> float:
    """The score nearest to `score` that goes with `verdict`."""
    match verdict:
        case VerdictName.PASS:
            return max(score, thresholds.pass_from)
        case VerdictName.REVISE:
            return max(score, thresholds.revise_from)
        case VerdictName.REJECT:
            return min(score, max(0.0, thresholds.revise_from - 1))


def _resume(run: Run, review: Review, decision: ReviewDecision) -> None:
    step = review.step
    step.state, step.finished_at = StepState.DONE, timezone.now()
    step.result = decision.model_dump(mode="json")
    add_event(run, EventType.RUN_RESUMED, step=step.seq)
    step.last_event_seq = run.last_event_seq
    step.save(update_fields=["state", "finished_at", "result", "last_event_seq"])
    run.state, run.waiting_for, run.enqueued_at = RunState.QUEUED, "", timezone.now()
    run.save(update_fields=["state", "waiting_for", "enqueued_at", "last_event_seq"])
    transaction.on_commit(lambda: enqueue(run.pk))


def _keep_trail(review: Review, decision: ReviewDecision, *, actor: Actor) -> None:
    audit(
        review.project_id,
        actor,
        "review.decided",
        target=review,
        before={"verdict": review.verdict.verdict, "score": review.verdict.score},
        after=decision.model_dump(mode="json", exclude={"reviewer"}),
    )
