"""What happened inside a run, as REST tells it: steps, attempts with their verdicts, events."""

from typing import Any

from pydantic import AwareDatetime, Field, JsonValue

from reflection_app.api.answer import Answer, Money, PageAnswer, money
from reflection_app.core.events import Event, EventType
from reflection_app.loops import verdicts
from reflection_app.loops.code_tests import TestReport
from reflection_app.loops.effects import AnswerFault, Generate
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.verdicts import Feedback, Issue
from reflection_app.runs.models.attempt import Attempt, Verdict
from reflection_app.runs.models.run import Step, StepState


class StepAnswer(Answer):
    """One effect that the run performed, and its recorded result."""

    seq: int
    key: str = Field(examples=["attempt-1/answer"])
    kind: str = Field(examples=["generate"])
    state: StepState
    role: str | None = Field(description="which model was asked, of a model call", examples=["actor"])
    model: str | None
    attempt: int | None
    prompt_tokens: int
    completion_tokens: int
    tokens_estimated: bool = Field(description="whether the provider told no tokens, so that the desk counted them")
    cached_tokens: int | None = Field(description="null where the provider told none")
    reasoning_tokens: int | None
    cost_usd: Money | None = Field(description="null where it is not known")
    cost_known: bool = Field(description="false where the model's price is not known")
    fault: AnswerFault | None = Field(description="why what the model sent is no whole answer; null where it is one")
    refusal: str | None = Field(description="what the model said in place of an answer")
    duration_s: float
    tries: int = Field(description="how often it was tried: of a model call, the requests sent, also before a crash")
    request: JsonValue
    result: JsonValue
    error: str | None
    timed_out: bool
    is_inherited: bool = Field(description="copied from the run that this one was forked from, which paid for it")
    edited_by: str | None = Field(description="who wrote the result in place of the recorded one")
    started_at: AwareDatetime
    finished_at: AwareDatetime | None


class StepPage(PageAnswer):
    results: list[StepAnswer]


class VerdictAnswer(Answer):
    """One referee's judgement of an attempt."""

    referee: str = Field(json_schema_extra={"enum": [referee.label for referee in verdicts.Referee]})
    verdict: verdicts.Verdict
    score: float = Field(description="0 to 100")
    confidence: float | None = Field(description="0 to 1, null where the referee gave none")
    issues: list[Issue]
    feedback: Feedback
    tests: TestReport | None
    requirements: RequirementsReport | None = Field(description="the task's minimum requirements, as code checked them")
    completeness: float | None = Field(description="the critic's parts of the score, 0 to 100 each")
    correctness: float | None
    given_by: str | None = Field(description="the person, where it was one")
    created_at: AwareDatetime


class AttemptAnswer(Answer):
    """One candidate answer with every verdict on it, oldest first."""

    number: int
    content: str
    cut_off: bool = Field(description="whether it is the beginning of an answer that never came to its end")
    artifacts: list[dict[str, JsonValue]] = Field(description="what an outside agent handed in beside the content")
    self_check: dict[str, JsonValue] | None = Field(description="what an outside agent said of its own attempt")
    verdicts: list[VerdictAnswer]
    created_at: AwareDatetime


class AttemptPage(PageAnswer):
    results: list[AttemptAnswer]


class EventAnswer(Answer):
    seq: int
    type: EventType
    payload: dict[str, Any]
    created_at: AwareDatetime


class EventPage(PageAnswer):
    results: list[EventAnswer]


def step_answer(step: Step) -> StepAnswer:
    told = step.result if step.kind == Generate.kind and isinstance(step.result, dict) else {}
    return StepAnswer(
        seq=step.seq,
        key=step.key,
        kind=step.kind,
        state=StepState(step.state),
        role=step.role or None,
        model=step.model or None,
        attempt=step.attempt_number,
        prompt_tokens=step.prompt_tokens,
        completion_tokens=step.completion_tokens,
        tokens_estimated=step.is_estimated,
        cached_tokens=step.cached_tokens,
        reasoning_tokens=step.reasoning_tokens,
        cost_usd=money(step.cost_usd) if step.cost_known else None,
        cost_known=step.cost_known,
        fault=AnswerFault(told["fault"]) if told.get("fault") else None,
        refusal=str(told.get("refusal") or "") or None,
        duration_s=step.duration_s,
        tries=step.tries,
        request=step.request,
        result=step.result,
        error=step.error or None,
        timed_out=step.timed_out,
        is_inherited=step.is_inherited,
        edited_by=step.edited_by_label or None,
        started_at=step.started_at,
        finished_at=step.finished_at,
    )


def verdict_answer(row: Verdict) -> VerdictAnswer:
    """The answer of `row`, whose `given_by` should have been fetched with it."""
    return VerdictAnswer(
        referee=row.referee_label,
        verdict=verdicts.Verdict(row.verdict),
        score=row.score,
        confidence=row.confidence,
        issues=row.issues,
        feedback=Feedback.model_validate(row.feedback),
        tests=row.get_tests(),
        requirements=row.get_requirements(),
        completeness=row.completeness,
        correctness=row.correctness,
        given_by=row.given_by.get_username() if row.given_by else None,
        created_at=row.created_at,
    )


def attempt_answer(attempt: Attempt) -> AttemptAnswer:
    """The answer of `attempt`, whose verdicts should have been prefetched."""
    return AttemptAnswer(
        number=attempt.number,
        content=attempt.content,
        cut_off=attempt.is_cut_off,
        artifacts=attempt.artifacts,
        self_check=attempt.self_check,
        verdicts=[verdict_answer(row) for row in attempt.verdicts.all()],
        created_at=attempt.created_at,
    )


def event_answer(event: Event) -> EventAnswer:
    return EventAnswer(seq=event.seq, type=EventType(event.type), payload=event.payload, created_at=event.created_at)
