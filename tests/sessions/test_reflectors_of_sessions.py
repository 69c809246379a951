"""The forks that look back at sessions: what they can read, what they never see, and real sessions from end to end."""

import json
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from notebook_app.models import Entry, Evidence
from notebook_app.public import propose
from notebook_app.rules_prompt import Told, bounded, new_boundary
from reflection_app.adapters.llm.gateway import stop_model_loop
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.after.looking_back import SESSION_FILE
from reflection_app.loops.questions import Choice
from reflection_app.loops.verdicts import Ended, Outcome
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance, end_run
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Run, Step
from reflection_app.runs.resuming import AnswerInput, answer_question
from reflection_app.sessions.looked_back_at import (
    beside_the_session,
    has_conversation,
    readable_files,
    turns_of,
    turns_of_run,
)
from reflection_app.sessions.models import Reflector, Transcript, TranscriptTurn
from reflection_app.sessions.recording import (
    TranscriptSubmission,
    TurnsInput,
    add_turns,
    end_transcript,
    open_transcript,
)
from reflection_app.tasks.models import TaskFile
from tests import given, then
from tests.openai_server import OpenAIServer
from tests.runs.questions import waiting_question
from tests.runs.test_crashes import Killed, killing_after, let_lease_run_out
from tests.sessions.looking_back import (
    BOTH,
    ended_run,
    errors_said,
    finding,
    forks_of,
    looked_back,
    memories_said,
    memory,
    reading,
    searching,
    session_project,
    watched_project,
)
from tests.sessions.recorded import INLINE, recorded_sessions, turns

pytestmark = pytest.mark.django_db


FOUND, LEARNED = BOTH["errors-1"], BOTH["memories-1"]


def opened(project: Project | None = None, **submission: Any) -> Transcript:
    given = {"messages": turns("hello", "bye"), "ended": True, "objective": "Be kind.", **submission}
    return open_transcript(project or session_project(), TranscriptSubmission.model_validate(given), actor=Actor())


def results_of(fork: Run) -> list[dict[str, Any]]:
    """What the tools gave to the fork, in order."""
    steps = Step.objects.filter(run=fork, kind="call_tool").order_by("seq")
    return [result for result in steps.values_list("result", flat=True) if isinstance(result, dict)]


def read_by(fork: Run) -> str:
    """All that the fork's model was shown."""
    steps = Step.objects.filter(run=fork, kind="generate").order_by("seq")
    return "\n".join(message["content"] for step in steps for message in step.request["messages"])


def test_a_session_says_for_itself_who_looks_back_at_it() -> None:
    assert set(forks_of(opened(reflection={"memory": False}))) == {"errors"}
    assert not forks_of(opened(reflection={"mode": "inline"}))
    assert not forks_of(opened(messages=[])), "there is nothing in it"


def test_a_session_is_looked_back_at_once_it_ends_and_not_again_when_it_is_ended_again() -> None:
    transcript = opened(ended=False, agent="porter", external_id="s-1")
    add_turns(transcript, TurnsInput.model_validate({"messages": turns("one more")}), actor=Actor())
    assert not forks_of(transcript)
    end_transcript(transcript, actor=Actor())
    end_transcript(transcript, actor=Actor())
    rows = looked_back(transcript)
    assert [(row.fork.outcome, row.added) for row in rows.values()] == [("succeeded", 1)] * 2
    assert "one more" in read_by(rows["errors"].fork)
    refs = {"transcript": str(transcript.pk), "reflector": str(rows["memory"].fork_id)}
    assert Evidence.objects.get(entry__kind="rule").refs == refs
    assert {entry.agent for entry in Entry.objects.all()} == {"porter"}
    [event] = Event.objects.filter(type=EventType.REFLECTED)
    assert (event.run_id, event.payload["errors"]) == (rows["errors"].fork_id, 1)


def test_of_a_session_that_was_reflected_on_while_it_happened_its_run_tells_of_both() -> None:
    inline = {"reflection-1/answer": json.dumps({"on_track": True})}
    project = session_project(BOTH | inline, notebook={"reflection": "both"})
    transcript = opened(project, reflection=INLINE | {"mode": "both"})
    looked_back(transcript)
    [event] = Event.objects.filter(type=EventType.REFLECTED)
    assert event.run_id == transcript.run_id
    advance(event.run_id)
    assert Run.objects.get(pk=event.run_id).outcome == "unverified"


def test_the_tools_read_the_files_handed_in_and_the_whole_session() -> None:
    answers = {
        "errors-1": reading("src/a.py"),
        "errors-2": searching("nee.le"),
        "errors-3": reading("session.txt"),
        "errors-4": FOUND,
    }
    messages = turns("x" * 60_000 + "needle", "bye")
    files = [
        {"path": "src/a.py", "content": "a = 1\nneedle = 2"},
        {"path": "session.txt", "content": "not the session"},
    ]
    transcript = opened(session_project(answers), messages=messages, files=files, tool_errors=[TRACED])
    fork = looked_back(transcript)["errors"].fork
    assert fork.outcome == "succeeded", fork.error
    first, second, third = results_of(fork)
    assert first["content"] == "1\ta = 1\n2\tneedle = 2"
    assert "src/a.py:2: needle = 2" in second["content"]
    assert "session.txt:1:" in second["content"]
    assert "[1] user:" in third["content"]
    shown = Step.objects.get(run=fork, seq=1).result
    assert isinstance(shown, dict)
    assert shown["files"] == ["handed_in/session.txt", "src/a.py"]
    assert any("lookup" in error and "503" in error for error in shown["tool_errors"])


TRACED = {"tool": "lookup", "error": "503", "arguments": {"city": "Rome"}, "turn": 1}


@pytest.mark.parametrize(
    ("call", "failure"),
    [
        (reading("src/../../etc/passwd"), "tool_error"),
        (searching("root:", "/etc/*"), "tool_error"),
        (searching("(?:(?:a{5000}){5000}){5000}"), "invalid_arguments"),
        (json.dumps({"tool": "read_file", "arguments": {"path": "a.txt", "mode": "w"}}), "invalid_arguments"),
    ],
)
def test_the_tools_reach_nothing_else_and_end_in_time(call: str, failure: str) -> None:
    files = [{"path": "a.txt", "content": "a" * 40 + "!"}]
    fork = looked_back(opened(session_project({"errors-1": call, "errors-2": FOUND}), files=files))["errors"].fork
    assert fork.outcome == "succeeded", fork.error
    [result] = results_of(fork)
    assert result["failure"] == failure
    assert "root:" not in result["content"]


def test_what_stood_in_a_boundary_of_the_notebook_is_neither_shown_nor_found() -> None:
    project = session_project({"errors-1": searching("always s.lute"), "errors-2": FOUND, "memories-1": LEARNED})
    propose(project.pk, kind="rule", name="Salute", content="always salute the flag")
    injected = bounded([Told(name="Salute", text="always salute the flag")], boundary=new_boundary())
    assert "always salute" in injected
    messages = [{"role": "system", "content": f"Be kind.\n{injected}\nBe brief."}, *turns("hello", "bye")]
    files = [{"path": "AGENTS.md", "content": f"# Rules\n{injected}\n"}]
    transcript = opened(project, messages=messages, files=files, objective=f"Work.\n{injected}")
    rows = looked_back(transcript)
    for row in rows.values():
        assert "always salute" not in read_by(row.fork)
        assert "Be brief." in read_by(row.fork)
    [result] = results_of(rows["errors"].fork)
    assert result["content"] == "No line matches."
    assert all("salute" not in content for content in readable_files(rows["errors"]).values())


def test_the_memory_reflector_is_shown_the_names_that_exist() -> None:
    project = session_project()
    propose(project.pk, kind="preference", name="short-answers", description="The user likes them short.")
    propose(project.pk, kind="lesson", name="no-memory", description="A lesson.")
    rows = looked_back(opened(project))
    assert "- short-answers: The user likes them short." in read_by(rows["memory"].fork)
    assert "no-memory" not in read_by(rows["memory"].fork)
    assert "short-answers" not in read_by(rows["errors"].fork)


def test_a_run_is_shown_as_the_conversation_that_it_was() -> None:
    run = ended_run()
    [errors] = [row for row in forks_of(run).values() if row.kind == "errors"]
    said = [(turn.role, turn.tool_name) for turn in turns_of(errors)]
    assert ("assistant", "actor") in said
    assert ("assistant", "critic") in said
    assert ("judge", "") in said
    contents = [turn.content for turn in turns_of(errors)]
    assert len(contents) == len(set(contents))
    TaskFile.objects.create(task=run.task, path="notes.txt", content="a note")
    assert readable_files(errors)["notes.txt"] == "a note"


@pytest.mark.django_db(transaction=True)
def test_whichever_commit_the_worker_dies_after_a_call_of_a_tool_is_made_again_and_the_rest_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = {"errors-1": reading("session.txt"), "errors-2": FOUND}
    for commits in range(1, 20):
        transcript = opened(session_project(answers))
        fork, was_killed = forks_of(transcript)["errors"].fork, False
        with monkeypatch.context() as patched:
            killing_after(commits, patched, journal_writes, "_commit_once")
            try:
                advance(fork.pk)
            except Killed:
                was_killed = True
        let_lease_run_out(fork)
        take_back_expired()
        advance(fork.pk)
        row = forks_of(transcript)["errors"]
        assert (row.fork.outcome, row.fork.llm_calls, row.found, row.added) == ("succeeded", 2, 1, 1)
        if not was_killed:
            break
    assert 3 <= commits < 19


def _answer_as_a_reflector(request: dict[str, Any]) -> str:
    """Reads the session's beginning first, then finds what it was told to find in every session."""
    messages = request["messages"]
    is_first = len(messages) == 2
    if "worth remembering" in messages[0]["content"]:
        return reading("session.txt") if is_first else memories_said(memory("airline-policy", type="project"))
    return searching("(?i)error") if is_first else errors_said(finding("It called a tool with wrong arguments."))


def test_recorded_sessions_are_looked_back_at_and_nothing_is_lost(settings: Settings) -> None:
    sessions = recorded_sessions(3)
    with OpenAIServer(_answer_as_a_reflector) as server:
        settings.LLM_STREAMING = False
        project = watched_project(models_by_role={"default": "openai/reflector"})
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("OPENAI_API_BASE", server.url)
            patched.setenv("OPENAI_API_KEY", "none")
            for session in sessions:
                transcript = opened(project, messages=session["messages"], agent="gpt-4o", objective="")
                assert TranscriptTurn.objects.filter(transcript=transcript).count() == len(session["messages"])
                rows = looked_back(transcript)
                outcomes = [(row.fork.outcome, row.fork.error, row.fork.llm_calls) for row in rows.values()]
                assert outcomes == [("succeeded", "", 2)] * 2
        # Connections that are kept open are closed here, and not reported as leaked in some later test.
        stop_model_loop()
    assert Reflector.objects.filter(finished_at=None).count() == 0
    note = Entry.objects.get(project_id=project.pk, kind="error_note")
    assert note.occurrences == len(sessions)
    assert Entry.objects.filter(project_id=project.pk).count() == 2
    assert Event.objects.filter(type=EventType.REFLECTED).count() == len(sessions)
    assert Reflector.objects.filter(kind="memory", added=0).count() == len(sessions) - 1


def test_what_a_person_was_asked_and_said_is_part_of_it() -> None:
    question = waiting_question(given.project())
    assert not has_conversation(question.run)
    answer_question(question, AnswerInput(choice=Choice.ANSWER, text="The tariff is 7 %."), actor=Actor())
    run = Run.objects.get(pk=question.run_id)
    told = {turn.role: turn.content for turn in turns_of_run(run)}
    assert "What is the tariff?" in told["question"]
    assert "Searched: nothing found" in told["question"]
    assert told["person"] == "The tariff is 7 %."
    assert has_conversation(run)


def test_an_outside_agents_own_check_and_the_files_that_it_made_can_be_read() -> None:
    run = given.scripted_run(BOTH, project=watched_project(), execution="external", tests=given.TESTS)
    advance(run.pk)
    artifacts = [
        {"name": "../notes.txt", "content": "first draft\nthe needle"},
        {"name": "elsewhere.bin", "uri": "https://files.example/x"},
    ]
    sent = {"content": given.RIGHT, "artifacts": artifacts, "self_check": {"sure": "quite"}}
    hand_in_attempt(run, AttemptInput.model_validate(sent), actor=Actor())
    advance(run.pk)
    then.run_succeeded(run)
    assert '{"sure": "quite"}' in [turn.content for turn in turns_of_run(run) if turn.role == "self-check"]
    files = readable_files(forks_of(run)["errors"])
    assert files["attempt-1/../notes.txt"].endswith("the needle")
    assert set(files) == {"attempt-1/../notes.txt", "session.txt"}


def test_work_that_failed_before_its_first_attempt_is_looked_back_at_where_something_was_answered() -> None:
    question = waiting_question(watched_project(models_by_role=given.scripted_run(BOTH).get_spec().models))
    answer_question(question, AnswerInput(choice=Choice.SKIP), actor=Actor())
    run = Run.objects.get(pk=question.run_id)
    assert run.attempts_made == 0
    end_run(run, Ended(outcome=Outcome.FAILED, error="no plan could be carried out"))
    assert set(forks_of(run)) == {"errors", "memory"}


def test_a_file_under_the_conversations_own_name_takes_no_others_place() -> None:
    kept = beside_the_session({SESSION_FILE: "one", f"handed_in/{SESSION_FILE}": "two", "a.txt": "three"})
    assert SESSION_FILE not in kept
    assert sorted(kept.values()) == ["one", "three", "two"]
    assert kept[f"handed_in/{SESSION_FILE}"] == "two"
