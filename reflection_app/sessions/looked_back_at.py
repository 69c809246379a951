"""What those who look back are given to read: the conversation, the errors of tools, the files, and known names.

What came into any of it from the notebook is left out here, where it is read: it must not be learned again.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from notebook_app.public import memory_names, without_notebook
from reflection_app.adapters.tools import call_on_files
from reflection_app.loops.after.conversation import SESSION_FILE, shown_text, whole_text
from reflection_app.loops.after.findings import KnownMemory, SessionRead
from reflection_app.loops.effects import CallTool, ReadSession, Turn
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.runs.models import Attempt, Run
from reflection_app.sessions.models.reflector import Reflector
from reflection_app.sessions.models.transcript import Transcript, TranscriptFile, TranscriptTurn
from reflection_app.sessions.run_conversation import turns_of_run
from reflection_app.tasks.models import TaskFile

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
    return SessionRead(
        objective=without_notebook(_objective(reflector)),
        ended=_ended(reflector),
        conversation=shown_text(turns),
        tool_errors=tuple(_tool_errors(reflector, turns)),
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
        found = dict(TaskFile.objects.filter(task=reflector.run.task_id).values_list("path", "content"))
        found = _artifacts(reflector.run) | found
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


def _artifacts(run: Run) -> dict[str, str]:
    """What an outside agent made beside its answers, under the number of the attempt. What lies elsewhere stays there.

    Names are keys of this dictionary and nothing else.
    """
    rows = Attempt.objects.filter(run=run).exclude(artifacts=[]).order_by("number").values_list("number", "artifacts")
    return {
        f"attempt-{number}/{one['name']}": one["content"]
        for number, artifacts in rows
        for one in artifacts
        if one.get("content")
    }


def _objective(reflector: Reflector) -> str:
    if reflector.run is not None:
        return reflector.run.task.objective
    return _transcript(reflector).objective


def _ended(reflector: Reflector) -> str:
    run = reflector.run
    if run is None:
        return "The session has ended; nothing judged it."
    error = without_notebook(run.error)[:LONGEST_ERROR]
    return f"{run.outcome}, after {run.attempts_made} attempts. {error}".strip()


def _tool_errors(reflector: Reflector, turns: list[Turn]) -> list[str]:
    failed = [
        f"turn {turn.seq}, {turn.tool_name or 'a tool'}: {turn.content}" for turn in turns if turn.is_tool_failure
    ]
    traced = [] if reflector.run is not None else [_traced(one) for one in _transcript(reflector).tool_errors]
    return [without_notebook(one)[:LONGEST_ERROR] for one in [*failed, *traced]][:MOST_ERRORS]


def _traced(error: Mapping[str, Any]) -> str:
    turn = f"turn {error['turn']}, " if error.get("turn") else ""
    arguments = f" {error['arguments']}" if error.get("arguments") else ""
    return f"{turn}{error.get('tool', '')}{arguments}: {error.get('error', '')}"


def _transcript(reflector: Reflector) -> Transcript:
    assert reflector.transcript is not None, "a reflector looks back at a run or at a session"
    return reflector.transcript
