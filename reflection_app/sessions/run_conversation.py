"""A run as a conversation: what was asked, what was answered, which tools were called, and how it was judged."""

import json
from collections.abc import Iterator
from typing import Any

from reflection_app.loops.answering import told_fault
from reflection_app.loops.code_tests import TestReport
from reflection_app.loops.effects import (
    AskPerson,
    AskReviewer,
    AwaitAttempt,
    CallTool,
    Generate,
    Generation,
    HandedIn,
    KeepAttempt,
    RecordVerdict,
    ReviewDecision,
    RunTests,
    Turn,
)
from reflection_app.loops.questions import PersonsAnswer, Question
from reflection_app.loops.verdicts import Judgement
from reflection_app.runs.models import Run, Step, StepState

MOST_STEPS = 2_000
LONGEST_TOOL_NAME = 120

# Who speaks, in what words, by which tool, and whether that failed.
Said = tuple[str, str, str, bool]
KINDS = tuple(
    effect.kind
    for effect in (Generate, AwaitAttempt, CallTool, RunTests, KeepAttempt, RecordVerdict, AskReviewer, AskPerson)
)
CHOOSES_THE_LOOP = "classifier"


def turns_of_run(run: Run) -> list[Turn]:
    """The run's turns, oldest first. What a prompt repeats of an earlier one is left out."""
    known: set[tuple[str, str]] = set()
    steps = Step.objects.filter(run=run, kind__in=KINDS, state__in=[StepState.DONE, StepState.FAILED]).order_by("seq")
    said = [one for step in steps[:MOST_STEPS].iterator() for one in _said(step, known=known)]
    return [
        Turn(seq=seq, role=role, content=content, tool_name=tool, is_tool_failure=failed)
        for seq, (role, content, tool, failed) in enumerate(said, start=1)
    ]


def has_conversation(run: Run) -> bool:
    """Whether anything of the work itself was answered: else there is nothing in the run to be looked back at."""
    answered = Step.objects.filter(run=run, kind__in=KINDS, state=StepState.DONE)
    return run.attempts_made > 0 or answered.exclude(role=CHOOSES_THE_LOOP).exists()


def _said(step: Step, *, known: set[tuple[str, str]]) -> Iterator[Said]:
    yield from _asked(step, known=known)
    if step.state == StepState.FAILED:
        yield "error", step.error, step.role, False
    else:
        yield from _came_back(step)


def _asked(step: Step, *, known: set[tuple[str, str]]) -> Iterator[Said]:
    request = step.request
    match step.kind:
        case Generate.kind | AwaitAttempt.kind:
            for message in request["messages"]:
                words = (message["role"], message["content"])
                if words not in known:
                    known.add(words)
                    yield message["role"], message["content"], step.role, False
        case CallTool.kind:
            arguments = json.dumps(request["arguments"], ensure_ascii=False)
            yield "call", f"{request['tool']}({arguments})", "", False
        case AskPerson.kind:
            question = Question.model_validate(request["question"])
            yield "question", "\n".join((question.text, *question.context)), "", False


def _came_back(step: Step) -> Iterator[Said]:
    result: Any = step.result
    match step.kind:
        case Generate.kind:
            sent = Generation.model_validate(result)
            yield "assistant", sent.text or (f"({told_fault(sent)})" if sent.fault else ""), step.role, False
        case AwaitAttempt.kind:
            yield from _handed_in(HandedIn.model_validate(result))
        case KeepAttempt.kind:
            yield "assistant", step.request["content"], "", False
        case CallTool.kind:
            told = "\n".join(filter(None, (result["error"], result["content"])))
            yield "tool", told, step.request["tool"][:LONGEST_TOOL_NAME], not result["ok"]
        case RunTests.kind:
            yield "tests", _tests(TestReport.model_validate(result)), "", False
        case RecordVerdict.kind:
            yield "judge", _judged(Judgement.model_validate(result)), "", False
        case AskReviewer.kind:
            decision = ReviewDecision.model_validate(result)
            yield "reviewer", f"{decision.decision.value}: {decision.verdict.value}. {decision.reason}", "", False
        case AskPerson.kind:
            answer = PersonsAnswer.model_validate(result)
            yield "person", answer.text or answer.choice.value, "", False


def _handed_in(attempt: HandedIn) -> Iterator[Said]:
    yield "assistant", attempt.content, "", False
    if attempt.self_check:
        yield "self-check", json.dumps(attempt.self_check, ensure_ascii=False), "", False


def _tests(report: TestReport) -> str:
    lines = [f"{one.name}: {one.reason or 'failed'} {one.error or one.actual}".strip() for one in report.failures]
    return "\n".join([f"{report.total - len(lines)} of {report.total} tests passed", *lines])


def _judged(judged: Judgement) -> str:
    issues = [f"- {issue.severity.value} {issue.category.value}: {issue.description}" for issue in judged.issues]
    said = f"attempt {judged.attempt}: {judged.verdict.value}, {judged.score:g} points, by {judged.referee.label}"
    return "\n".join([said, *issues])
