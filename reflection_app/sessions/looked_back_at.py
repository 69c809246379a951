"""What those who look back are given to read: the conversation, the errors of tools, the files, and known names.

What came into any of it from the notebook is left out here, where it is read: it must not be learned again.
"""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from desk_sandbox.code_tests import TestReport
from notebook_app.public import memory_names, without_notebook
from reflection_app.loops.after.findings import KnownMemory, SessionRead
from reflection_app.loops.after.looking_back import SESSION_FILE, shown_text, whole_text
from reflection_app.loops.answers import fault_in_words
from reflection_app.loops.attempt_effects import (
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
)
from reflection_app.loops.effects import ReadSession, Turn
from reflection_app.loops.questions import PersonsAnswer, Question
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.loops.verdicts import Judgement
from reflection_app.runs.models import Attempt, Run, Step, StepState
from reflection_app.runs.tool_calling import call_on_files
from reflection_app.sessions.models import Reflector, TranscriptFile, TranscriptTurn
from reflection_app.tasks.models import TaskFile

# A run as a conversation: what was asked, what was answered, which tools were called, and how it was judged.

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
    if step.state == StepState.FAILED:
        yield "error", step.error, step.role, False
    else:
        yield from _answered(step)


def _answered(step: Step) -> Iterator[Said]:
    result: Any = step.result
    match step.kind:
        case Generate.kind:
            sent = Generation.model_validate(result)
            yield "assistant", sent.text or (f"({fault_in_words(sent)})" if sent.fault else ""), step.role, False
        case AwaitAttempt.kind:
            attempt = HandedIn.model_validate(result)
            yield "assistant", attempt.content, "", False
            if attempt.self_check:
                yield "self-check", json.dumps(attempt.self_check, ensure_ascii=False), "", False
        case KeepAttempt.kind:
            yield "reviewer" if step.request.get("edited_from") else "assistant", step.request["content"], "", False
        case CallTool.kind:
            content = "\n".join(filter(None, (result["error"], result["content"])))
            yield "tool", content, step.request["tool"][:LONGEST_TOOL_NAME], not result["ok"]
        case RunTests.kind:
            report = TestReport.model_validate(result)
            lines = [
                f"{one.name}: {one.reason or 'failed'} {one.error or one.actual}".strip() for one in report.failures
            ]
            passed = f"{report.total - len(lines)} of {report.total} tests passed"
            yield "tests", "\n".join([passed, *lines]), "", False
        case RecordVerdict.kind:
            judged = Judgement.model_validate(result)
            verdict = f"{judged.verdict.value}, {judged.score:g} points, by {judged.referee.label}"
            issues = [f"- {one.severity.value} {one.category.value}: {one.description}" for one in judged.issues]
            yield "judge", "\n".join([f"attempt {judged.attempt}: {verdict}", *issues]), "", False
        case AskReviewer.kind:
            decision = ReviewDecision.model_validate(result)
            yield "reviewer", f"{decision.decision.value}: {decision.verdict.value}. {decision.reason}", "", False
        case AskPerson.kind:
            answer = PersonsAnswer.model_validate(result)
            yield "person", answer.text or answer.choice.value, "", False


REFLECTING = (Mode.ERROR_REFLECTION.value, Mode.MEMORY_REFLECTION.value)
# A file that came under the name of the conversation's own is found here.
HANDED_IN = "handed_in"
MOST_ERRORS = 40
LONGEST_ERROR = 600
LONGEST_DESCRIPTION = 200
MOST_FILES_NAMED = 100
MOST_PARENTS = 20


def reflector_of(run: Run) -> Reflector | None:
    """The reflector that the run is, or that it was forked from by a person; None where it is none any more."""
    for _step in range(MOST_PARENTS):
        found = Reflector.objects.select_related("run__task", "transcript").filter(fork=run.pk).first()
        if found is not None or run.parent is None:
            return found
        run = run.parent
    return None


def read_session(effect: ReadSession, *, run_id: UUID) -> SessionRead:
    """What the reflector `run_id` is shown first; nothing where there is nothing to be looked back at any more."""
    reflector = reflector_of(Run.objects.only("parent").get(pk=run_id))
    if reflector is None:
        return SessionRead()
    turns = turns_of(reflector)
    known = memory_names(reflector.project_id) if effect.with_known else []
    errors = [
        f"turn {turn.seq}, {turn.tool_name or 'a tool'}: {turn.content}" for turn in turns if turn.is_tool_failure
    ]
    if run := reflector.run:
        objective = run.task.objective
        error = without_notebook(run.error)[:LONGEST_ERROR]
        ended = f"{run.outcome}, after {run.attempts_made} attempts. {error}".strip()
    else:
        assert reflector.transcript is not None, "a reflector looks back at a run or at a session"
        objective = reflector.transcript.objective
        ended = "The session has ended; nothing judged it."
        for one in reflector.transcript.tool_errors:
            turn = f"turn {one['turn']}, " if one.get("turn") else ""
            arguments = f" {one['arguments']}" if one.get("arguments") else ""
            errors.append(f"{turn}{one.get('tool', '')}{arguments}: {one.get('error', '')}")
    return SessionRead(
        objective=without_notebook(objective),
        ended=ended,
        conversation=shown_text(turns),
        tool_errors=tuple(without_notebook(one)[:LONGEST_ERROR] for one in errors[:MOST_ERRORS]),
        files=tuple(sorted(_files(reflector))[:MOST_FILES_NAMED]),
        known=tuple(KnownMemory(name=name, description=said[:LONGEST_DESCRIPTION]) for name, said in known),
    )


def turns_of(reflector: Reflector) -> list[Turn]:
    """The whole conversation, without the notebook's part in it."""
    if reflector.run is not None:
        turns = turns_of_run(reflector.run)
    else:
        rows = TranscriptTurn.objects.filter(transcript=reflector.transcript_id).order_by("seq")
        turns = [row.get_turn() for row in rows.defer("message")]
    return [turn.model_copy(update={"content": without_notebook(turn.content)}) for turn in turns]


def call_on_session(effect: CallTool, *, run_id: UUID) -> ToolResult | None:
    """What a reflector's call of a reading tool came to; None where the run is no reflector."""
    run = Run.objects.only("parent", "mode").get(pk=run_id)
    if run.mode not in REFLECTING:
        return None
    reflector = reflector_of(run)
    files = readable_files(reflector) if reflector else {}
    return call_on_files(effect.tool, effect.arguments, files=files, deadline_s=effect.timeout_s)


def readable_files(reflector: Reflector) -> dict[str, str]:
    """All that the tools can read: the files that were handed in, and the conversation as one more."""
    handed_in = {path: without_notebook(content) for path, content in _files(reflector).items()}
    return handed_in | {SESSION_FILE: whole_text(turns_of(reflector))}


def _files(reflector: Reflector) -> dict[str, str]:
    if reflector.run is not None:
        # What an outside agent made beside its answers, under the number of the attempt. Names are keys of this
        # dictionary and nothing else; what lies elsewhere stays there.
        made = Attempt.objects.filter(run=reflector.run).exclude(artifacts=[]).order_by("number")
        found = {
            f"attempt-{number}/{one['name']}": one["content"]
            for number, artifacts in made.values_list("number", "artifacts")
            for one in artifacts
            if one.get("content")
        }
        found |= dict(TaskFile.objects.filter(task=reflector.run.task_id).values_list("path", "content"))
    else:
        rows = TranscriptFile.objects.filter(transcript=reflector.transcript_id)
        found = dict(rows.values_list("path", "content"))
    return beside_the_session(found)


def beside_the_session(files: dict[str, str]) -> dict[str, str]:
    """All of the files, none under the name of the conversation's own."""
    name = SESSION_FILE
    while name in files:
        name = f"{HANDED_IN}/{name}"
    return {name if path == SESSION_FILE else path: content for path, content in files.items()}
