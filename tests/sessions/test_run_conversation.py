"""What those who look back at a run are given of it: all that was said, also by people, and what came beside it."""

import pytest

from reflection_app.core.audit import Actor
from reflection_app.loops.after.looking_back import SESSION_FILE
from reflection_app.loops.questions import Choice
from reflection_app.loops.verdicts import Ended, Outcome
from reflection_app.runs.advance import advance, end_run
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.models import Run
from reflection_app.runs.resuming import AnswerInput, answer_question
from reflection_app.sessions.looked_back_at import beside_the_session, has_conversation, readable_files, turns_of_run
from tests import given, then
from tests.runs.questions import waiting_question
from tests.sessions.looking_back import BOTH, forks_of, watched_project

pytestmark = pytest.mark.django_db


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
