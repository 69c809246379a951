"""What a reviewer's decision says: which verdict holds from now on, on which attempt, with what score and issues."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from reflection_app.attachments.regions import check_regions
from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput, wrong
from reflection_app.loops.attempt_effects import (
    Decision,
    DirectorsDecision,
    EditDecision,
    EditedAnswer,
    ReviewDecision,
)
from reflection_app.loops.progress import strongest_judgements
from reflection_app.loops.rubrics import (
    MOST_CRITERIA,
    Fault,
    Given,
    RatingFault,
    Ratings,
    failed_of,
    rated,
    score_of,
    shortcomings,
)
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
from reflection_app.runs.marking import with_marks_in_place
from reflection_app.runs.models import Attempt, Run, Verdict
from reflection_app.runs.resuming import resume_run
from reflection_app.tasks.redo import RedoInput, redo_run, why_no_redo

# A reviewer's decision as it is handed in.

KNOWN = {one.value: one for kind in (Decision, EditDecision, DirectorsDecision) for one in kind}


def _decision(said: object) -> Decision | EditDecision | DirectorsDecision:
    """The decision by its name. A union of the three would name three fields where none is meant."""
    if not isinstance(said, str) or said not in KNOWN:
        raise ValueError(f"must be one of {', '.join(KNOWN)}")
    return KNOWN[said]


AnyDecision = Annotated[
    Decision | EditDecision | DirectorsDecision,
    PlainValidator(_decision),
    WithJsonSchema({"type": "string", "enum": list(KNOWN)}),
]
LONGEST_EDITED = 500_000


class DecisionInput(Value):
    """A reviewer's decision. `verdict`, `score` and `issues` are for overruling; omitted ones follow the evaluator.

    If the reason is `unsettled_pick` or `broken_tests`, the question is which attempt to select. Approving vouches for
    the attempt under review: it gets a PASS, regardless of the tests. Overruling with PASS and `attempt` selects
    another one. REJECT means that none is right. REVISE requests one more attempt, made from the issues and the reason.

    For a REJECT that the run waits for, the reviewer decides as its Director: `redo` with `instructions` sends it back,
    `accept` with a `reason` accepts it anyway, and `close` ends the run as rejected.

    If the run is judged by a rubric, overruling needs `ratings`, from which code derives the verdict. A different
    `verdict` needs a `reason`. `edit` replaces the attempt with the reviewer's own text, `edited_answer`. The original
    attempt gets REVISE, with the reviewer's `score` and `issues` if given. The text passes as an attempt of its own and
    is the run's answer. It must meet everything that code checks: minimum requirements, a schema, and tests submitted
    with the task. A waiting run ends with it; in a run that has ended, it replaces the answer.
    """

    lease_token: UUID
    decision: AnyDecision
    verdict: VerdictName | None = None
    score: Score | None = None
    issues: Annotated[tuple[Issue, ...], Field(max_length=50)] | None = None
    ratings: Annotated[dict[str, Given], Field(max_length=MOST_CRITERIA)] | None = Field(
        default=None,
        description="value for each criterion if the run is judged by a rubric; the verdict follows from them",
        examples=[{"correct": {"value": 4}, "tone": {"value": "pass", "why": "polite throughout"}}],
    )
    reason: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = Field(
        default="", description="required to accept a rejected attempt"
    )
    instructions: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = Field(
        default="", description="for `redo`: what to do differently"
    )
    edited_answer: Annotated[str, Field(max_length=LONGEST_EDITED), AfterValidator(storable)] | None = Field(
        default=None, description="for `edit`: the complete new answer"
    )
    attempt: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="for an unsettled pick: number of the attempt to select, if not the one under review",
    )


# What becomes of a rejected attempt by a person's word: redo with instructions, accept anyway, or close.
#
# The design seed calls that person the Director. Loops know approving and overruling alone; this says each decision so.

ORDERED = "Reviewer requested a redo"
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
        if decision is EditDecision.EDIT:
            if data.verdict not in {None, VerdictName.REVISE}:
                raise wrong("verdict", "To edit is to give REVISE to the attempt as it was; leave the verdict out.")
            return data.model_copy(update={"decision": Decision.OVERRULE, "verdict": VerdictName.REVISE})
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


def with_marks(review: Review, data: DecisionInput) -> DecisionInput:
    """The decision, each passage that it marks put in its place. Raises InvalidInput for one that is nowhere."""
    if not any(issue.mark for issue in data.issues or ()):
        return data
    number = data.attempt if review.is_pick and data.attempt is not None else review.attempt.number
    issues = with_marks_in_place(data.issues or (), review.run_id, attempt=number)
    return data.model_copy(update={"issues": issues})


@dataclass(frozen=True)
class Decided:
    """The decision and the attempt that its verdict is on."""

    decision: ReviewDecision
    attempt: Attempt


def decided_by(review: Review, data: DecisionInput, *, actor: Actor, edited: EditedAnswer | None = None) -> Decided:
    """What holds from now on. Raises InvalidInput where the decision does not say enough, or too much.

    Who edits the answer agrees where the verdict before was REVISE as well, and overrules any other.
    """
    is_directed = isinstance(data.decision, DirectorsDecision)
    check_regions(
        data.issues or (), of=Attempt.objects.filter(run=review.run_id) if review.is_pick else [review.attempt]
    )
    data = as_approved_or_overruled(review, with_marks(review, data))
    approved, attempt = data.decision is Decision.APPROVE, review.attempt
    ratings: Ratings = ()
    if review.is_pick:
        if data.attempt is not None and data.attempt != attempt.number:
            if approved:
                raise wrong(
                    "attempt", f"Approving selects attempt {attempt.number}. To select another one, overrule with PASS."
                )
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
        verdict, score, issues = stood = VerdictName(before.verdict), before.score, issues_of(before)
        # A rejection's director and whoever edits say what becomes of the attempt itself, and need not rate it.
        is_exempt = (is_directed or edited is not None) and data.ratings is None
        by_rubric = None if is_exempt else rated_by(review, data)
        ratings = by_rubric.ratings if by_rubric else ()
        if not approved:
            verdict, score, issues = _overruled(review, data, by_rubric)
            approved = edited is not None and (verdict, score, issues) == stood
        elif by_rubric is not None and ratings != before.get_ratings():
            raise wrong("ratings", _("Approving does not change the ratings. To change a rating, overrule."))
        elif (
            data.verdict not in {None, verdict} or data.score not in {None, score} or data.issues not in {None, issues}
        ):
            raise InvalidInput(
                _("Approving does not change verdict, score or issues. To change any of them, overrule.")
            )
    decision = ReviewDecision(
        decision=Decision.APPROVE if approved else Decision.OVERRULE,
        verdict=verdict,
        score=score,
        issues=issues,
        reason=data.reason,
        reviewer=actor.label,
        picked=attempt.number if attempt.number != review.attempt.number else None,
        ratings=before.get_ratings() if approved and not review.is_pick else ratings,
        edited=edited,
    )
    return Decided(decision=decision, attempt=attempt)


@dataclass(frozen=True)
class ByRubric:
    """What a person's ratings come to."""

    ratings: Ratings
    score: float
    verdict: VerdictName


def rated_by(review: Review, data: DecisionInput) -> ByRubric | None:
    """What the ratings come to; None where there are none, and none are needed.

    They are needed to overrule where the run is judged by a rubric. Raises InvalidInput for each that is wrong.
    """
    spec = review.run.get_spec()
    rubric = spec.rubric
    if rubric is None:
        if data.ratings:
            raise wrong("ratings", _("This run has no rubric: its project had none when the run started."))
        return None
    if data.ratings is None:
        if data.decision is Decision.APPROVE:
            return None
        missing = {one.key: one.values for one in rubric.criteria if one.values}
        raise InvalidInput(
            _("This run uses a rubric. Rate every criterion; the verdict is computed from the ratings."),
            errors=[
                {"field": f"ratings.{key}", "message": _("one of %(values)s") % {"values": ", ".join(values)}}
                for key, values in missing.items()
            ],
        )
    try:
        ratings = rated(rubric, data.ratings)
    except RatingFault as fault:
        told = {"values": ", ".join(fault.values), "keys": ", ".join(one.key for one in rubric.criteria)}
        words = {
            Fault.MISSING: _("Rate this criterion: one of %(values)s"),
            Fault.UNKNOWN: _("Unknown criterion. The rubric has %(keys)s"),
            Fault.NO_VALUE: _("Choose one of %(values)s"),
        }
        raise wrong(f"ratings.{fault.key}", words[fault.fault] % told) from None
    score = score_of(rubric, ratings)
    return ByRubric(ratings, score, spec.thresholds.verdict_of(score, approved=not failed_of(rubric, ratings)))


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
            _("Approving selects attempt %(number)s with PASS. To change verdict, score or issues, overrule.")
            % {"number": attempt.number}
        )
    return VerdictName.PASS, score, ()


def _overruled(review: Review, data: DecisionInput, by_rubric: "ByRubric | None" = None) -> Holds:
    before = review.verdict
    thresholds = review.run.get_spec().thresholds
    if by_rubric is not None:
        if data.score not in {None, by_rubric.score}:
            raise wrong("score", _("The score is computed from the ratings. Omit it."))
        if data.verdict not in {None, by_rubric.verdict} and not data.reason.strip():
            said = _("The rubric gives %(verdict)s (%(score)s). Add a reason to give %(other)s instead.")
            told = {"verdict": by_rubric.verdict.value, "score": f"{by_rubric.score:g}", "other": data.verdict}
            raise wrong("reason", said % told)
        verdict = data.verdict or by_rubric.verdict
        data = data.model_copy(
            update={"verdict": verdict, "score": score_within(verdict, by_rubric.score, thresholds)}
            if verdict is not by_rubric.verdict
            else {"verdict": verdict, "score": by_rubric.score}
        )
    if data.verdict is None:
        raise InvalidInput(
            _("Overruling requires a verdict."), errors=[{"field": "verdict", "message": _("PASS, REVISE or REJECT")}]
        )
    # The critic's issues stand where the person gives none of their own, but for an attempt that is accepted.
    kept = () if data.verdict is VerdictName.PASS else issues_of(before)
    issues = data.issues if data.issues is not None else kept
    is_rated = by_rubric is not None and bool(shortcomings(by_rubric.ratings))
    is_told = bool(issues) or bool(data.reason.strip()) or data.edited_answer is not None or is_rated
    if data.verdict is VerdictName.REVISE and not is_told:
        raise InvalidInput(
            _("Describe what to revise. The next attempt is based on it."),
            errors=[{"field": "issues", "message": _("add an issue or a reason")}],
        )
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
    edit = {"edited": True, "edited_from": review.attempt.number} if said.edited else {}
    event = add_event(run, EventType.REVIEW_DECIDED, review=str(review.pk), decision=said.decision.value, **edit)
    if review.holds_run:
        assert review.step is not None, "what holds a run was asked for by a step"
        run.best_attempt_id = best_of(run).id
        resume_run(run, review.step, said.model_dump(mode="json"), run_fields=["best_attempt"])
    else:
        run.save(update_fields=["last_event_seq"])
        settle_first_attempt(run)
    ordered = None
    if said.edited is None and goes_back(review, said.verdict, run):
        order = [said.reason.strip(), *(f"{one.in_words} {one.suggested_fix}".strip() for one in said.issues)]
        wanted = RedoInput(instructions="\n".join(filter(None, order))[:LONGEST], attempt=review.attempt.number)
        ordered = redo_run(run, wanted, issues=said.issues, actor=actor)
    Review.objects.filter(pk=review.pk).update(decided_verdict=row, decided_seq=event.seq, ordered_run=ordered)
    tell_pages(run.pk, project_id=run.project_id)
