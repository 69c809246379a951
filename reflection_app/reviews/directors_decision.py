"""What becomes of a rejected attempt by a person's word: redo with instructions, accept anyway, or close.

The design seed calls that person the Director. Loops know approving and overruling alone; this says each decision so.
"""

from reflection_app.core.errors import InvalidInput
from reflection_app.loops.effects import Decision, DirectorsDecision
from reflection_app.loops.verdicts import Issue, IssueCategory, Severity
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.decision_input import DecisionInput
from reflection_app.reviews.models.review import Review

ORDERED = "A person ordered it to be done again"
MEANS = {
    DirectorsDecision.REDO: VerdictName.REVISE,
    DirectorsDecision.ACCEPT: VerdictName.PASS,
    DirectorsDecision.CLOSE: VerdictName.REJECT,
}


def as_approved_or_overruled(review: Review, told: DecisionInput) -> DecisionInput:
    """The decision in the words that loops know. Raises InvalidInput where it does not fit, or lacks its reason."""
    decision = told.decision
    if isinstance(decision, DirectorsDecision):
        return _said(review, told, decision)
    if told.instructions.strip():
        raise wrong("instructions", "Instructions go with the decision redo.")
    if told.verdict is VerdictName.PASS and _is_rejected(review):
        _check_reason(told)
    return told


def _said(review: Review, told: DecisionInput, decision: DirectorsDecision) -> DecisionInput:
    if not review.is_for_director:
        raise wrong("decision", "Redo, accept and close are for a REJECT that the run waits for; approve or overrule.")
    if told.verdict not in {None, MEANS[decision]}:
        raise wrong("verdict", f"To {decision.value} is to give {MEANS[decision].value}; leave the verdict out.")
    if decision is DirectorsDecision.CLOSE:
        return told.model_copy(update={"decision": Decision.APPROVE, "verdict": None})
    overruled = told.model_copy(update={"decision": Decision.OVERRULE, "verdict": MEANS[decision]})
    if decision is DirectorsDecision.ACCEPT:
        _check_reason(told)
        return overruled
    instructions = told.instructions.strip()
    if not instructions:
        raise wrong("instructions", "Say what is to be done differently: the next attempt is made from it.")
    return overruled.model_copy(update={"reason": instructions, "issues": _with_order(review, told, instructions)})


def _with_order(review: Review, told: DecisionInput, instructions: str) -> tuple[Issue, ...]:
    """The person's order before the issues that the person gave, or else left standing."""
    order = Issue(category=IssueCategory.OTHER, severity=Severity.HIGH, description=ORDERED, suggested_fix=instructions)
    standing = tuple(Issue.model_validate(issue) for issue in review.verdict.issues)
    return (order, *(standing if told.issues is None else told.issues))


def _is_rejected(review: Review) -> bool:
    return review.verdict.verdict == VerdictName.REJECT and not review.is_pick


def _check_reason(told: DecisionInput) -> None:
    if not told.reason.strip():
        raise wrong("reason", "Say why it is accepted although it was rejected.")


def wrong(field: str, why: str) -> InvalidInput:
    return InvalidInput(why, errors=[{"field": field, "message": why}])
