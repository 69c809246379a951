"""What a reviewer's decision says: which verdict holds from now on, on which attempt, with what score and issues."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.loops.best_attempt import strongest_judgements
from reflection_app.loops.effects import Decision, ReviewDecision
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.decision_input import DecisionInput
from reflection_app.reviews.directors_decision import as_approved_or_overruled
from reflection_app.reviews.models.review import Review
from reflection_app.runs.models import Attempt, Verdict


@dataclass(frozen=True)
class Decided:
    """The decision and the attempt that its verdict is on."""

    decision: ReviewDecision
    attempt: Attempt


def decided_by(review: Review, told: DecisionInput, *, actor: Actor) -> Decided:
    """What holds from now on. Raises InvalidInput where the decision does not say enough, or too much."""
    told = as_approved_or_overruled(review, told)
    approved = told.decision is Decision.APPROVE
    if review.is_pick:
        attempt = _picked(review, told)
        kept = _vouched_for(review, attempt, told) if approved or told.verdict is VerdictName.PASS else None
        verdict, score, issues = kept or _overruled(review, told)
    else:
        if told.attempt is not None:
            raise not_to_be_picked("Only where the pick is unsettled can a person pick an attempt.")
        attempt = review.attempt
        verdict, score, issues = _approved(review.verdict, told) if approved else _overruled(review, told)
    decision = ReviewDecision(
        decision=Decision.APPROVE if approved else Decision.OVERRULE,
        verdict=verdict,
        score=score,
        issues=issues,
        reason=told.reason,
        reviewer=actor.label,
        picked=attempt.number if attempt.number != review.attempt.number else None,
    )
    return Decided(decision=decision, attempt=attempt)


def _picked(review: Review, told: DecisionInput) -> Attempt:
    """The attempt that the decision is about."""
    proposed = review.attempt
    if told.attempt is None or told.attempt == proposed.number:
        return proposed
    if told.decision is Decision.APPROVE:
        raise not_to_be_picked(f"Approving keeps attempt {proposed.number}; overrule with PASS to keep another.")
    if told.verdict is not VerdictName.PASS:
        raise not_to_be_picked("An attempt is picked with PASS and with no other verdict.")
    made = {attempt.number: attempt for attempt in Attempt.objects.filter(run=review.run_id)}
    if told.attempt not in made:
        raise not_to_be_picked(f"The run has no attempt {told.attempt}; it made {', '.join(map(str, made))}.")
    return made[told.attempt]


def not_to_be_picked(why: str) -> InvalidInput:
    return InvalidInput(why, errors=[{"field": "attempt", "message": why}])


Holds = tuple[VerdictName, float, tuple[Issue, ...]]


def _vouched_for(review: Review, attempt: Attempt, told: DecisionInput) -> Holds:
    """A PASS for the attempt that a person keeps, with the score nearest to its own that goes with it."""
    judged = strongest_judgements(row.get_judgement() for row in attempt.verdicts.all()).get(attempt.number)
    score = score_within(VerdictName.PASS, judged.score if judged else 0.0, review.run.get_spec().thresholds)
    if told.decision is Decision.OVERRULE:
        return VerdictName.PASS, score if told.score is None else told.score, told.issues or ()
    said_otherwise = (
        told.verdict not in {None, VerdictName.PASS}
        or told.score not in {None, score, review.verdict.score}
        or bool(told.issues)
    )
    if said_otherwise:
        raise InvalidInput(
            _("Approving keeps attempt %(number)s with PASS; overrule to give another verdict, score or issues.")
            % {"number": attempt.number}
        )
    return VerdictName.PASS, score, ()


def _approved(before: Verdict, told: DecisionInput) -> Holds:
    verdict, issues = VerdictName(before.verdict), issues_of(before)
    said_otherwise = (
        told.verdict not in {None, verdict}
        or told.score not in {None, before.score}
        or told.issues not in {None, issues}
    )
    if said_otherwise:
        raise InvalidInput(_("Approving keeps verdict, score and issues as they are; overrule to change any of them."))
    return verdict, before.score, issues


def _overruled(review: Review, told: DecisionInput) -> Holds:
    before = review.verdict
    if told.verdict is None:
        raise InvalidInput(
            _("Overruling needs a verdict."), errors=[{"field": "verdict", "message": _("PASS, REVISE or REJECT")}]
        )
    # The critic's issues stand where the person gives none of their own, but for an attempt that is accepted.
    kept = () if told.verdict is VerdictName.PASS else issues_of(before)
    issues = told.issues if told.issues is not None else kept
    if told.verdict is VerdictName.REVISE and not issues and not told.reason.strip():
        raise InvalidInput(
            _("Say what is to be revised: the next attempt is made from it."),
            errors=[{"field": "issues", "message": _("give an issue or a reason")}],
        )
    thresholds = review.run.get_spec().thresholds
    score = told.score if told.score is not None else score_within(told.verdict, before.score, thresholds)
    return told.verdict, score, issues


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
