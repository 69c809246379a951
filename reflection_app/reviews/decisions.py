"""What a reviewer's decision says: which verdict holds from now on, on which attempt, with what score and issues."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from reflection_app.attachments.regions import check_regions
from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput, wrong
from reflection_app.loops.attempt_effects import Decision, DirectorsDecision, ReviewDecision
from reflection_app.loops.progress import strongest_judgements
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue, IssueCategory, Score, Severity
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.claiming import tell_pages
from reflection_app.reviews.models import Review
from reflection_app.runs.consequences import best_of
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.lessons import settle_first_attempt
from reflection_app.runs.models import Attempt, Run, Verdict
from reflection_app.runs.resuming import resume_run
from reflection_app.tasks.redo import RedoInput, redo_run, why_no_redo

# A reviewer's decision as it is handed in.

KNOWN = [*(one.value for one in Decision), *(one.value for one in DirectorsDecision)]


def _decision(said: object) -> Decision | DirectorsDecision:
    """The decision by its name. A union of the two would name two fields where neither is meant."""
    if said not in KNOWN:
        raise ValueError(f"must be one of {', '.join(KNOWN)}")
    named = str(said)
    return Decision(named) if named in Decision else DirectorsDecision(named)


AnyDecision = Annotated[
    Decision | DirectorsDecision, PlainValidator(_decision), WithJsonSchema({"type": "string", "enum": KNOWN})
]


class DecisionInput(Value):
    """A reviewer's decision. `verdict`, `score` and `issues` are for overruling; what is left out follows the referee.

    Where the reason is `unsettled_pick` or `broken_tests`, the question is which attempt to keep. To approve is to
    vouch for the attempt that is asked about: it gets a PASS, whatever the tests said. Overruling with PASS and
    `attempt` keeps another one, with REJECT says that none is right, and with REVISE asks for one more attempt, made
    from the issues and the reason.

    Of a REJECT that the run waits for, a person decides as its director: `redo` with `instructions` sends it back,
    `accept` with a `reason` takes it all the same, and `close` ends the run as rejected.
    """

    lease_token: UUID
    decision: AnyDecision
    verdict: VerdictName | None = None
    score: Score | None = None
    issues: Annotated[tuple[Issue, ...], Field(max_length=50)] | None = None
    reason: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = Field(
        default="", description="needed to accept what was rejected"
    )
    instructions: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = Field(
        default="", description="of `redo`: what is to be done differently"
    )
    attempt: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="of an unsettled pick: the number of the attempt to keep, where it is not the one asked about",
    )


# What becomes of a rejected attempt by a person's word: redo with instructions, accept anyway, or close.
#
# The design seed calls that person the Director. Loops know approving and overruling alone; this says each decision so.

ORDERED = "A person ordered it to be done again"
MEANS = {
    DirectorsDecision.REDO: VerdictName.REVISE,
    DirectorsDecision.ACCEPT: VerdictName.PASS,
    DirectorsDecision.CLOSE: VerdictName.REJECT,
}


def as_approved_or_overruled(review: Review, data: DecisionInput) -> DecisionInput:
    """The decision in the words that loops know. Raises InvalidInput where it does not fit, or lacks its reason."""
    decision = data.decision
    if not isinstance(decision, DirectorsDecision):
        if data.instructions.strip():
            raise wrong("instructions", "Instructions go with the decision redo.")
        is_rejected = review.verdict.verdict == VerdictName.REJECT and not review.is_pick
        if data.verdict is VerdictName.PASS and is_rejected:
            _check_reason(data)
        return data
    if not review.is_for_director:
        raise wrong("decision", "Redo, accept and close are for a REJECT that the run waits for; approve or overrule.")
    if data.verdict not in {None, MEANS[decision]}:
        raise wrong("verdict", f"To {decision.value} is to give {MEANS[decision].value}; leave the verdict out.")
    if decision is DirectorsDecision.CLOSE:
        return data.model_copy(update={"decision": Decision.APPROVE, "verdict": None})
    overruled = data.model_copy(update={"decision": Decision.OVERRULE, "verdict": MEANS[decision]})
    if decision is DirectorsDecision.ACCEPT:
        _check_reason(data)
        return overruled
    instructions = data.instructions.strip()
    if not instructions:
        raise wrong("instructions", "Say what is to be done differently: the next attempt is made from it.")
    # The person's order before the issues that the person gave, or else left standing.
    order = Issue(category=IssueCategory.OTHER, severity=Severity.HIGH, description=ORDERED, suggested_fix=instructions)
    standing = tuple(Issue.model_validate(issue) for issue in review.verdict.issues)
    with_order = (order, *(standing if data.issues is None else data.issues))
    return overruled.model_copy(update={"reason": instructions, "issues": with_order})


def _check_reason(data: DecisionInput) -> None:
    if not data.reason.strip():
        raise wrong("reason", "Say why it is accepted although it was rejected.")


@dataclass(frozen=True)
class Decided:
    """The decision and the attempt that its verdict is on."""

    decision: ReviewDecision
    attempt: Attempt


def decided_by(review: Review, data: DecisionInput, *, actor: Actor) -> Decided:
    """What holds from now on. Raises InvalidInput where the decision does not say enough, or too much."""
    check_regions(
        data.issues or (), of=Attempt.objects.filter(run=review.run_id) if review.is_pick else [review.attempt]
    )
    data = as_approved_or_overruled(review, data)
    approved, attempt = data.decision is Decision.APPROVE, review.attempt
    if review.is_pick:
        if data.attempt is not None and data.attempt != attempt.number:
            if approved:
                raise wrong("attempt", f"Approving keeps attempt {attempt.number}; overrule with PASS to keep another.")
            if data.verdict is not VerdictName.PASS:
                raise wrong("attempt", "An attempt is picked with PASS and with no other verdict.")
            made = {one.number: one for one in Attempt.objects.filter(run=review.run_id)}
            if data.attempt not in made:
                numbers = ", ".join(map(str, made))
                raise wrong("attempt", f"The run has no attempt {data.attempt}; it made {numbers}.")
            attempt = made[data.attempt]
        kept = _vouched_for(review, attempt, data) if approved or data.verdict is VerdictName.PASS else None
        verdict, score, issues = kept or _overruled(review, data)
    else:
        if data.attempt is not None:
            raise wrong("attempt", "Only where the pick is unsettled can a person pick an attempt.")
        before = review.verdict
        verdict, score, issues = VerdictName(before.verdict), before.score, issues_of(before)
        if not approved:
            verdict, score, issues = _overruled(review, data)
        elif (
            data.verdict not in {None, verdict} or data.score not in {None, score} or data.issues not in {None, issues}
        ):
            raise InvalidInput(
                _("Approving keeps verdict, score and issues as they are; overrule to change any of them.")
            )
    decision = ReviewDecision(
        decision=Decision.APPROVE if approved else Decision.OVERRULE,
        verdict=verdict,
        score=score,
        issues=issues,
        reason=data.reason,
        reviewer=actor.label,
        picked=attempt.number if attempt.number != review.attempt.number else None,
    )
    return Decided(decision=decision, attempt=attempt)


Holds = tuple[VerdictName, float, tuple[Issue, ...]]


def _vouched_for(review: Review, attempt: Attempt, data: DecisionInput) -> Holds:
    """A PASS for the attempt that a person keeps, with the score nearest to its own that goes with it."""
    judged = strongest_judgements(row.get_judgement() for row in attempt.verdicts.all()).get(attempt.number)
    score = score_within(VerdictName.PASS, judged.score if judged else 0.0, review.run.get_spec().thresholds)
    if data.decision is Decision.OVERRULE:
        return VerdictName.PASS, score if data.score is None else data.score, data.issues or ()
    said_otherwise = (
        data.verdict not in {None, VerdictName.PASS}
        or data.score not in {None, score, review.verdict.score}
        or bool(data.issues)
    )
    if said_otherwise:
        raise InvalidInput(
            _("Approving keeps attempt %(number)s with PASS; overrule to give another verdict, score or issues.")
            % {"number": attempt.number}
        )
    return VerdictName.PASS, score, ()


def _overruled(review: Review, data: DecisionInput) -> Holds:
    before = review.verdict
    if data.verdict is None:
        raise InvalidInput(
            _("Overruling needs a verdict."), errors=[{"field": "verdict", "message": _("PASS, REVISE or REJECT")}]
        )
    # The critic's issues stand where the person gives none of their own, but for an attempt that is accepted.
    kept = () if data.verdict is VerdictName.PASS else issues_of(before)
    issues = data.issues if data.issues is not None else kept
    if data.verdict is VerdictName.REVISE and not issues and not data.reason.strip():
        raise InvalidInput(
            _("Say what is to be revised: the next attempt is made from it."),
            errors=[{"field": "issues", "message": _("give an issue or a reason")}],
        )
    thresholds = review.run.get_spec().thresholds
    score = data.score if data.score is not None else score_within(data.verdict, before.score, thresholds)
    return data.verdict, score, issues


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


# What follows where a person overrules, afterwards, a verdict that had let an attempt pass.
#
# The run is over and stays as it is; the attempt goes back by a run of its own, with the person's issues on its ticket.

LONGEST = 10_000


def goes_back(review: Review, verdict: str, run: Run) -> bool:
    """Whether this verdict on an audited one makes a new run: an accepted attempt that a person sends back."""
    overrules = review.verdict.verdict == VerdictName.PASS and verdict == VerdictName.REVISE
    return overrules and not review.holds_run and not why_no_redo(run)


# A decision comes into force: its verdict is kept, and a run that waited for it goes on.
#
# Of a run that did not wait, an accepted attempt that a person sends back is done again by a run of its own.


def put_in_force(review: Review, run: Run, decided: Decided, *, actor: Actor) -> None:
    """Makes the decision hold, in the caller's transaction that has locked `run`.

    `review` is the one that was decided; of a panel that agrees, the seat that was decided last.
    """
    said = decided.decision
    row = Verdict.from_judgement(said.judgement_of(review.attempt.number), attempt=decided.attempt, step=None)
    row.given_by = actor.user
    row.save()
    event = add_event(run, EventType.REVIEW_DECIDED, review=str(review.pk), decision=said.decision.value)
    if review.holds_run:
        assert review.step is not None, "what holds a run was asked for by a step"
        run.best_attempt_id = best_of(run).id
        resume_run(run, review.step, said.model_dump(mode="json"), run_fields=["best_attempt"])
    else:
        run.save(update_fields=["last_event_seq"])
        settle_first_attempt(run)
    ordered = None
    if goes_back(review, said.verdict, run):
        order = [said.reason.strip(), *(f"{one.description} {one.suggested_fix}".strip() for one in said.issues)]
        wanted = RedoInput(instructions="\n".join(filter(None, order))[:LONGEST], attempt=review.attempt.number)
        ordered = redo_run(run, wanted, issues=said.issues, actor=actor)
    Review.objects.filter(pk=review.pk).update(decided_verdict=row, decided_seq=event.seq, ordered_run=ordered)
    tell_pages(run.pk, project_id=run.project_id)
