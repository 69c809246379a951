"""Actor–critic loop: one model writes, another evaluates, and uncertain verdicts go to a reviewer.

Each prompt is built from the original task and the feedback on earlier attempts. It is never built from the previous
prompt, so prompts do not nest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model, model_validator

from reflection_app.loops.answer_reading import Clipped, Flag, Lenient, Number, Share, Texts, as_described, read_as
from reflection_app.loops.answer_schemas import SHARE, TEXT, YES_OR_NO, Schema, closed_object, list_of, one_of, texts
from reflection_app.loops.answers import ask
from reflection_app.loops.attempts import end_by, make_attempt, settle, unfinished
from reflection_app.loops.completeness.file_checks import FilesChecked
from reflection_app.loops.framing import frame_of, framed_task, sees_all_of, truncated
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.requirement_checks import check_requirements, judge_requirements, requirement_issues
from reflection_app.loops.requirements import Lowered, RequirementsReport
from reflection_app.loops.rubrics import (
    LONGEST_WHY,
    Criterion,
    Given,
    Ratings,
    Rubric,
    Scale,
    failed_of,
    rated,
    read_as_value,
    score_of,
    shortcomings,
)
from reflection_app.loops.task_spec import TaskSpec, Thresholds
from reflection_app.loops.texts import cut, one_line
from reflection_app.loops.values import Message, system, user
from reflection_app.loops.verdicts import Feedback, Issue, IssueCategory, Judgement, Outcome, Referee, Severity

# Critic: its prompt, and the verdict that code derives from its reply.
#
# The model supplies the parts; the code applies thresholds and decides the verdict. Source: the Reflection Protocol of
# the design seeds.

TEMPERATURE = 0.3
LONGEST_TOLD = 300


Part = Annotated[Number, Field(ge=0, le=100)]
# A reply that approves but scores no higher than this used another scale or contradicts itself.
MOST_OF_ANOTHER_SCALE = 10


class CriticIssue(Lenient):
    category: Annotated[IssueCategory, read_as(IssueCategory, otherwise=IssueCategory.OTHER)] = IssueCategory.OTHER
    severity: Annotated[Severity, read_as(Severity, otherwise=Severity.MEDIUM)] = Severity.MEDIUM
    description: Clipped = Field(min_length=1)
    suggested_fix: Clipped = ""


class CriticFeedback(Lenient):
    strengths: Texts = ()
    weaknesses: Texts = ()
    suggestions: Texts = ()


class CriticAnswer(Lenient):
    """The critic's reply. It must contain rubric ratings, both part scores, or an overall score."""

    completeness: Part | None = None
    correctness: Part | None = None
    score: Part | None = None
    confidence: Share | None = None
    approved: Flag
    feedback: CriticFeedback = CriticFeedback()
    issues: Annotated[tuple[CriticIssue, ...], BeforeValidator(as_described)] = ()
    ratings: Ratings = ()

    @model_validator(mode="after")
    def check_it_has_a_score(self) -> "CriticAnswer":
        """Convert scores on a 0–1 scale to 0–100.

        Raise ValueError if scores are missing or their scale is ambiguous.
        """
        if self.ratings:
            return self
        has_parts = self.completeness is not None and self.correctness is not None
        if self.score is None and not has_parts:
            raise ValueError("completeness and correctness are missing")
        given = {name: getattr(self, name) for name in (("completeness", "correctness") if has_parts else ("score",))}
        most = max(given.values())
        if 0 < most <= 1:
            # The prompt asks for whole numbers from 0 to 100. An approval cannot mean 1 of 100.
            if not self.approved and all(part in (0, 1) for part in given.values()):
                raise ValueError(f"{' and '.join(given)} must be given from 0 to 100")
            return self.model_copy(update={name: round(part * 100, 2) for name, part in given.items()})
        least = min(given.values())
        if 0 < least < 1 or (self.approved and least == 1):
            raise ValueError(f"{least:g} and {most:g} are on two scales; give {' and '.join(given)} from 0 to 100")
        if self.approved and most <= MOST_OF_ANOTHER_SCALE:
            raise ValueError(
                f"approved is true, yet nothing is above {most:g}; give {' and '.join(given)} from 0 to 100"
            )
        return self

    @property
    def quality(self) -> float:
        """Score from 0 to 100: the mean of completeness and correctness, or the critic's overall score."""
        if self.completeness is None or self.correctness is None:
            assert self.score is not None
            return self.score
        return (self.completeness + self.correctness) / 2


PART = {"type": "integer", "minimum": 0, "maximum": 100}
FEEDBACK = closed_object(strengths=texts(5), weaknesses=texts(5), suggestions=texts(5))
ISSUES = list_of(
    closed_object(category=one_of(IssueCategory), severity=one_of(Severity), description=TEXT, suggested_fix=TEXT),
    most=8,
)
ANSWER_SCHEMA = closed_object(
    completeness=PART, correctness=PART, confidence=SHARE, approved=YES_OR_NO, feedback=FEEDBACK, issues=ISSUES
)


def schema_for(rubric: Rubric) -> Schema:
    """Return the JSON Schema of a critic's reply that rates by `rubric`."""
    ratings = {one.key: closed_object(why=TEXT, value=_values_of(one)) for one in rubric.criteria}
    return closed_object(ratings=closed_object(**ratings), confidence=SHARE, feedback=FEEDBACK, issues=ISSUES)


def _values_of(criterion: Criterion) -> Schema:
    if criterion.scale is Scale.POINTS:
        return {"type": "integer", "minimum": 1, "maximum": criterion.points}
    return TEXT | ({"enum": list(criterion.values)} if criterion.values else {})


def answer_for(rubric: Rubric) -> type[CriticAnswer]:
    """Return the model class that parses a critic's ratings by `rubric`.

    `approved` is optional there, because code derives the verdict from the ratings.
    """
    known = {criterion.key: criterion for criterion in rubric.criteria}

    def read(said: Any) -> Ratings:
        if not isinstance(said, dict):
            raise ValueError("must be an object with a value for each criterion")
        given: dict[str, Given] = {}
        for key, criterion in known.items():
            one = said.get(key)
            # Some models omit the reasons and return bare values.
            one = one if isinstance(one, Mapping) else {"value": one}
            why = one.get("why")
            given[key] = Given(
                value=read_as_value(criterion, one.get("value")), why=str(why)[:LONGEST_WHY] if why else ""
            )
        return rated(rubric, given)

    return create_model(
        "RatedAnswer",
        __base__=CriticAnswer,
        approved=(Flag, True),
        ratings=(Annotated[Ratings, BeforeValidator(read)], ...),
    )


def question(
    *,
    objective: str,
    content: str,
    requirements: RequirementsReport | None = None,
    lowered: Lowered | None = None,
    rubric: Rubric | None = None,
    uninspected: tuple[str, ...] = (),
) -> tuple[Message, ...]:
    """Return the critic's messages: a request for two part scores, or for ratings by `rubric`.

    `uninspected` names files that could not be opened. The work sits in a frame named after its own hash, so it cannot
    close that frame.
    """
    checked = ""
    if requirements is not None or uninspected:
        results = "\n".join(
            [
                f"- {'met' if one.met else 'NOT met'}: {_shortened(one.in_words)} (found: {_shortened(one.actual)})"
                for one in (requirements.results if requirements is not None else ())
            ]
            + [f"- UNKNOWN: {_shortened(one)} Do not count it as done." for one in uninspected]
        )
        # The results quote the work, which could contain instructions. They therefore get a frame of their own.
        checked = prompt("critic_requirements", told=results, frame=frame_of(results + content, name="check"))
        checked = f"\n{checked}\n"
    if lowered is not None:
        listed = "\n".join(f"- {_shortened(line)}" for line in lowered.in_words)
        checked += f"\n{prompt('critic_lowered', lowered=listed, frame=frame_of(listed + content, name='lowered'))}\n"
    shown = {
        "objective": framed_task(objective),
        "content": truncated(content),
        "frame": frame_of(content),
        "requirements": checked,
    }
    if rubric is None:
        asked = prompt("critic_evaluate", **shown)
    else:
        criteria = "\n".join(f"- {one.key}: {one.name}. {one.help}".rstrip() for one in rubric.criteria)
        ratings = ",\n".join(
            f'    "{one.key}": {{"why": "...", "value": {_asked_value(one)}}}' for one in rubric.criteria
        )
        asked = prompt("critic_rate", **shown, criteria=criteria, ratings=ratings)
    return (system(prompt("critic_system")), user(asked))


def _asked_value(criterion: Criterion) -> str:
    match criterion.scale:
        case Scale.POINTS:
            return f"1-{criterion.points}, {criterion.points} is best"
        case Scale.TEXT:
            return '"in a few words"'
    return " or ".join(f'"{value}"' for value in criterion.values)


def _shortened(text: str) -> str:
    """Return `text` shortened and on one line, so a key with a line break cannot add a result."""
    return cut(one_line(text), LONGEST_TOLD)


def judge(
    answer: CriticAnswer,
    *,
    attempt: int,
    thresholds: Thresholds,
    saw_all: bool = True,
    requirements: RequirementsReport | None = None,
    lowered: Lowered | None = None,
    rubric: Rubric | None = None,
) -> Judgement:
    """Derive the verdict from the critic's reply.

    PASS requires the critic's approval, a sufficient score and all minimum requirements. With a `rubric`, the score is
    computed from the ratings. PASS then requires every mandatory criterion, and no approval.

    Work that fails the full standard may still pass by the `lowered` requirements; the verdict then names them. REJECT
    depends on the score alone. If the critic saw only part of the work (`saw_all` is False), confidence is 0. The
    review policy then requests a review.
    """
    quality = answer.quality if rubric is None else score_of(rubric, answer.ratings)
    approved = answer.approved if rubric is None else not failed_of(rubric, answer.ratings)
    is_sufficient = requirements is None or requirements.all_met
    is_whole = is_sufficient and not (requirements is not None and requirements.is_lowered)
    if quality >= thresholds.pass_from and is_whole:
        lowered = None
    pass_from = thresholds.pass_from if lowered is None else min(lowered.score, thresholds.pass_from)
    held = thresholds.model_copy(update={"pass_from": pass_from})
    verdict = held.verdict_of(quality, approved=approved and is_sufficient)
    own_issues = tuple(Issue(**issue.model_dump()) for issue in answer.issues)
    has_parts = not answer.ratings and answer.completeness is not None and answer.correctness is not None
    said = Feedback(**answer.feedback.model_dump())
    return Judgement(
        attempt=attempt,
        referee=Referee.CRITIC,
        verdict=verdict,
        score=quality,
        confidence=answer.confidence if saw_all else 0.0,
        issues=(requirement_issues(requirements) if requirements is not None else ()) + own_issues,
        feedback=said.model_copy(update={"weaknesses": (*shortcomings(answer.ratings), *said.weaknesses)}),
        requirements=requirements,
        completeness=answer.completeness if has_parts else None,
        correctness=answer.correctness if has_parts else None,
        lowered=lowered,
        ratings=answer.ratings,
    )


LONGEST_EARLIER = 8_000


@dataclass(frozen=True)
class Earlier:
    """An attempt that was sent back, and the judgement on it."""

    content: str
    judgement: Judgement


async def actor_critic(spec: TaskSpec, run: Progress) -> Outcome:
    """Make attempts until one is accepted or rejected, or a limit is reached."""
    earlier: list[Earlier] = []
    for number in range(1, spec.limits.max_iterations + 1):
        content = await make_attempt(spec, run, number=number, messages=actor_messages(spec.objective, earlier))
        if number in run.unfinished:
            earlier.append(Earlier(content, unfinished(number)))
            continue
        run.check_limits()
        judgement = await evaluate(spec, run, attempt=number, content=content)
        judgement = await settle(spec, run, judgement, counted=Referee.CRITIC)
        if (end := end_by(judgement, run, counted=Referee.CRITIC)) is not None:
            return end
        earlier.append(Earlier(content, judgement))
    return Outcome.EXHAUSTED


async def evaluate(
    spec: TaskSpec, run: Progress, *, attempt: int, content: str, lowered: Lowered | None = None
) -> Judgement:
    """Record and return the verdict on an attempt. Code checks minimum requirements before the critic.

    If a deciding file is missing or faulty, code rejects the attempt and the critic is not called. `lowered` holds the
    reduced requirements, if the task's requirements were reduced.
    """
    files = run.files.get(attempt)
    requirements = requirements_of(spec, content, lowered=lowered, files=files)
    if requirements is not None and files is not None and files.deciding:
        # A missing file cannot be read, so no model is asked about it.
        by_code = judge_requirements(requirements, attempt=attempt, lowered=lowered)
        return await run.record(by_code, key=f"attempt-{attempt}/verdict")
    answer = await ask(
        run,
        run.model_call(
            key=f"attempt-{attempt}/critique",
            role="critic",
            messages=question(
                objective=spec.objective,
                content=content,
                requirements=requirements,
                lowered=lowered,
                rubric=spec.rubric,
                uninspected=run.uninspected(attempt),
            ),
            temperature=TEMPERATURE,
            json_schema=schema_for(spec.rubric) if spec.rubric else ANSWER_SCHEMA,
        ),
        schema=answer_for(spec.rubric) if spec.rubric else CriticAnswer,
    )
    saw_all = sees_all_of(content)
    judgement = judge(
        answer,
        attempt=attempt,
        thresholds=spec.thresholds,
        saw_all=saw_all,
        requirements=requirements,
        lowered=lowered,
        rubric=spec.rubric,
    )
    return await run.record(judgement, key=f"attempt-{attempt}/verdict")


def requirements_of(
    spec: TaskSpec, content: str, *, lowered: Lowered | None = None, files: FilesChecked | None = None
) -> RequirementsReport | None:
    """Check `content` and the attempt's `files` against the minimum requirements, or the `lowered` ones.

    Return None if there are no requirements or no results.
    """
    if spec.requirements is None and files is None:
        return None
    report = check_requirements(
        spec.requirements, content, chain_of_thought=spec.chain_of_thought, lowered=lowered, files=files
    )
    return report if report.results else None


def actor_messages(objective: str, earlier: list[Earlier]) -> tuple[Message, ...]:
    """Return the actor's prompt: the original task and, after attempt 1, all feedback so far."""
    if not earlier:
        return (system(prompt("write_system")), user(objective))
    attempts = []
    for number, one in enumerate(earlier, start=1):
        judgement = one.judgement
        problems = [
            f"- {issue.in_words}" + (f" ({issue.suggested_fix})" if issue.suggested_fix else "")
            for issue in judgement.issues
        ]
        problems += [f"- {weakness}" for weakness in judgement.further_weaknesses]
        problems += [f"- To do: {suggestion}" for suggestion in judgement.further_suggestions]
        attempts.append(
            prompt(
                "write_earlier",
                number=number,
                score=f"{judgement.score:g}",
                content=one.content[:LONGEST_EARLIER],
                problems="\n".join(problems) or "- It was not approved, and no reason was given.",
            )
        )
    again = prompt("write_again", objective=objective, earlier="\n\n".join(attempts))
    return (system(prompt("write_system")), user(again))
