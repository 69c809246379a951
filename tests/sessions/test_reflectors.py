"""The forks that look back at a run: begun with its end, each by itself, kept once, and taken back with the end."""

import threading
from typing import Any

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from notebook_app.models import Entry, Evidence, Exposure
from notebook_app.public import By, Drawn, approve, propose, record_exposures
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.verdicts import Ended, Outcome
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance, end_run
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Run
from reflection_app.runs.resuming import cancel_run
from reflection_app.sessions import reflectors
from reflection_app.sessions.models import LookBackDue, Reflector, ReflectorKind
from reflection_app.sessions.reflectors import is_switched_on, reflection_mode
from reflection_app.sessions.rows import name_of_finding
from tests import given, then
from tests.notebook.at_once import at_once
from tests.runs.test_crashes import Killed, counted_calls, killing_after, let_lease_run_out
from tests.sessions.looking_back import (
    BOTH,
    DONE,
    ended_run,
    errors_said,
    finding,
    forks_of,
    looked_back,
    memories_said,
    memory,
    watched_project,
)

pytestmark = pytest.mark.django_db
CURATOR = By(label="Ann")


def told_of(run: Run) -> list[dict[str, Any]]:
    return list(Event.objects.filter(run=run, type=EventType.REFLECTED).values_list("payload", flat=True))


def entries(project: Project) -> dict[str, Entry]:
    return {entry.kind: entry for entry in Entry.objects.filter(project_id=project.pk)}


def test_both_begin_with_the_end_and_what_they_find_is_proposed() -> None:
    run = ended_run(agent="porter")
    rows = forks_of(run)
    assert {kind: row.fork.state for kind, row in rows.items()} == {"errors": "queued", "memory": "queued"}
    assert {row.fork.mode for row in rows.values()} == {"error_reflection", "memory_reflection"}

    rows = looked_back(run)
    assert [row.fork.outcome for row in rows.values()] == ["succeeded", "succeeded"]
    errors, memories = rows["errors"], rows["memory"]
    assert (errors.score, errors.found, errors.added, errors.counted) == (61, 1, 1, 0)
    assert (memories.score, memories.found, memories.added, memories.counted) == (None, 1, 1, 0)

    kept = entries(run.project)
    note, rule = kept["error_note"], kept["rule"]
    assert (note.name, note.category, note.agent) == ("It searched all files.", "tool_misuse", "porter")
    assert note.details == {"cause": "No glob.", "suggestion": "Set a glob."}
    assert (rule.name, rule.content, note.state, rule.state) == (
        "kebab-case",
        "The user said: always.",
        "proposed",
        "proposed",
    )
    assert Evidence.objects.get(entry=note).refs == {"run": str(run.pk), "reflector": str(errors.fork_id)}
    assert errors.findings[0]["became"] == "added"
    assert errors.findings[0]["entry"] == str(note.pk)
    assert told_of(run) == [{"errors": 1, "memories": 1, "added": 2, "failed": []}]


def test_one_that_fails_touches_neither_the_other_nor_the_run() -> None:
    run = ended_run({"errors-1": "I see nothing.", "memories-1": BOTH["memories-1"]})
    rows = looked_back(run)
    assert (rows["errors"].fork.outcome, rows["memory"].fork.outcome) == ("failed", "succeeded")
    assert set(entries(run.project)) == {"rule"}
    run.refresh_from_db()
    assert (run.outcome, run.error) == ("succeeded", "")
    assert told_of(run) == [{"errors": 0, "memories": 1, "added": 1, "failed": ["errors"]}]


def test_they_begin_in_the_transaction_of_the_end_or_the_end_stands_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_args: object, **_more: object) -> None:
        raise RuntimeError("no more tasks")

    monkeypatch.setattr(reflectors, "begin_run", broken)
    run = ended_run()
    assert run.outcome == "succeeded"
    assert not Reflector.objects.exists()
    assert not Run.objects.exclude(pk=run.pk).exists()


@pytest.mark.parametrize(
    ("desk", "project", "task", "begun"),
    [
        ("off", None, "", False),
        ("post_hoc", None, "", True),
        ("off", "post_hoc", "", True),
        ("post_hoc", "off", "", False),
        ("off", "off", "both", True),
        ("off", "both", "off", False),
    ],
)
def test_the_task_says_it_before_its_project_and_the_project_before_the_desk(
    desk: str, project: str | None, task: str, *, begun: bool, settings: Settings
) -> None:
    settings.REFLECTION_MODE = desk
    watched = Project(notebook={"reflection": project} if project else {})
    assert reflection_mode(watched.get_notebook(), own=task).is_after is begun


@pytest.mark.parametrize(
    ("project", "task", "begun"),
    [
        ({}, {}, {"errors", "memory"}),
        ({"error_reflector": False}, {}, {"memory"}),
        ({"memory_reflector": False}, {}, {"errors"}),
        ({"error_reflector": False}, {"errors": True}, {"errors", "memory"}),
        ({}, {"memory": False}, {"errors"}),
        ({}, {"errors": False, "memory": False}, set()),
    ],
)
def test_each_is_switched_by_itself_and_the_task_goes_before_its_project(
    project: dict[str, bool], task: dict[str, bool], begun: set[str]
) -> None:
    watched = Project(notebook=project)
    assert {kind.value for kind in ReflectorKind if is_switched_on(kind, watched.get_notebook(), own=task)} == begun


def test_a_run_goes_by_its_own_mode_and_switches() -> None:
    off = watched_project(notebook={"reflection": "off"})
    assert forks_of(ended_run(project=off, reflection={"errors": True, "memory": True})) == {}
    assert set(forks_of(ended_run(project=off, reflection={"mode": "both", "memory": False}))) == {"errors"}


def test_what_was_cancelled_or_made_nothing_is_not_looked_back_at() -> None:
    cancelled = given.scripted_run(DONE | BOTH, project=watched_project(), mode="actor_critic")
    cancel_run(cancelled, actor=Actor())
    failed = given.scripted_run(BOTH, project=watched_project(), mode="actor_critic")
    advance(failed.pk)
    assert Run.objects.get(pk=failed.pk).outcome == "failed"
    assert not Reflector.objects.exists()


def test_a_script_without_words_for_them_is_not_looked_back_at_and_they_never_look_at_each_other() -> None:
    assert not forks_of(ended_run({}))
    run = ended_run()
    looked_back(run)
    assert Reflector.objects.count() == 2
    assert Run.objects.filter(project=run.project).count() == 3


def test_the_small_local_model_looks_back_only_where_somebody_asked_for_it(settings: Settings) -> None:
    settings.REFLECTION_MODE, settings.LOCAL_MODEL_URL = "post_hoc", "http://127.0.0.1:1/v1"
    for notebook, begun in (({}, False), ({"reflection": "post_hoc"}, True)):
        run = given.scripted_run({}, project=watched_project(notebook=notebook, models_by_role={}), mode="actor_critic")
        Run.objects.filter(pk=run.pk).update(spec=run.spec | {"models": {}}, attempts_made=1)
        end_run(Run.objects.get(pk=run.pk), Ended(outcome=Outcome.EXHAUSTED))
        assert bool(forks_of(run)) is begun


def test_the_same_mistake_of_another_run_is_counted_and_a_memory_of_a_name_that_is_taken_is_refused() -> None:
    project = watched_project()
    looked_back(ended_run(project=project))
    other = memory("Kebab-Case ", description="Something else.", content="Else.")
    rows = looked_back(ended_run({"errors-1": BOTH["errors-1"], "memories-1": memories_said(other)}, project=project))
    assert (rows["errors"].added, rows["errors"].counted) == (0, 1)
    assert entries(project)["error_note"].occurrences == 2
    [refused] = rows["memory"].findings
    assert (refused["became"], refused["why"]) == ("refused", "name_taken")
    assert refused["entry"] == str(entries(project)["rule"].pk)
    assert Entry.objects.filter(project_id=project.pk).count() == 2


def test_within_one_answer_a_thing_counts_once() -> None:
    twice = errors_said(finding("It searched all files."), finding("It searched  all files."))
    names = memories_said(memory("a name"), memory("A name", content="Other."))
    rows = looked_back(ended_run({"errors-1": twice, "memories-1": names}))
    assert [one["why"] for one in rows["errors"].findings] == ["", "counted_before"]
    assert [one["why"] for one in rows["memory"].findings] == ["", "name_taken"]


def test_what_the_run_was_told_from_the_notebook_is_not_learned_from_it() -> None:
    project = watched_project()
    told = propose(project.pk, kind="lesson", name="Set a glob", content="The user said: always.")
    note = propose(
        project.pk,
        kind="error_note",
        name="It searched all files.",
        description="It searched all files. Twice.",
        details={"cause": "No glob.", "suggestion": "Set a glob."},
    )
    run = given.scripted_run(DONE | BOTH, project=project, mode="actor_critic")
    for number, entry in enumerate((told, note), start=1):
        approve(project.pk, entry.id, by=CURATOR)
        drawn = Drawn(entry.id, entry.version, rank=number, score=1.0, share=0.1, draw=0.5, is_withheld=False)
        record_exposures(project.pk, subject=str(run.pk), drawn=[drawn], is_counted=True)
    before = Entry.objects.get(pk=note.id).occurrences
    advance(run.pk)
    rows = looked_back(run)
    assert rows["memory"].findings[0]["why"] == "told"
    assert rows["errors"].findings[0]["why"] == "told"
    assert (rows["errors"].added, rows["errors"].counted) == (0, 0)
    assert Entry.objects.get(pk=note.id).occurrences == before
    assert Exposure.objects.filter(subject=str(run.pk)).count() == 2


def test_the_same_words_as_a_lesson_that_was_withheld_are_learned() -> None:
    project = watched_project()
    note = propose(
        project.pk,
        kind="error_note",
        name="It searched all files.",
        description="It searched all files. Twice.",
        details={"cause": "No glob.", "suggestion": "Set a glob."},
    )
    run = given.scripted_run(DONE | BOTH, project=project, mode="actor_critic")
    drawn = Drawn(note.id, 1, rank=1, score=1.0, share=0.5, draw=0.1, is_withheld=True)
    record_exposures(project.pk, subject=str(run.pk), drawn=[drawn], is_counted=True)
    advance(run.pk)
    assert looked_back(run)["errors"].counted == 1


@pytest.mark.django_db(transaction=True)
def test_whichever_commit_the_worker_dies_after_the_rows_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted_calls(monkeypatch)
    for commits in range(1, 20):
        run = ended_run()
        calls.clear()
        was_killed = False
        for kind in ("errors", "memory"):
            fork = forks_of(run)[kind].fork
            with monkeypatch.context() as patched:
                killing_after(commits, patched, journal_writes, "_commit_once")
                try:
                    advance(fork.pk)
                except Killed:
                    was_killed = True
            let_lease_run_out(fork)
            take_back_expired()
            advance(fork.pk)
        rows = forks_of(run)
        told = f"killed after commit {commits}"
        assert [row.fork.outcome for row in rows.values()] == ["succeeded"] * 2, told
        assert [(row.found, row.added) for row in rows.values()] == [(1, 1)] * 2, told
        assert {entry.occurrences for entry in entries(run.project).values()} == {1}, told
        assert told_of(run) == [{"errors": 1, "memories": 1, "added": 2, "failed": []}], told
        assert calls == ["errors-1", "memories-1"], told
        if not was_killed:
            break
    assert 2 <= commits < 19


@pytest.mark.django_db(transaction=True)
def test_two_that_end_at_the_same_moment_tell_of_both_once() -> None:
    for _ in range(4):
        run = ended_run()
        barrier = threading.Barrier(2)

        def move_on(fork_id: Any, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            advance(fork_id)

        at_once(move_on, [row.fork_id for row in forks_of(run).values()], threads=2)
        assert told_of(run) == [{"errors": 1, "memories": 1, "added": 2, "failed": []}]
        seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
        assert seqs == list(range(1, Run.objects.get(pk=run.pk).last_event_seq + 1))


def test_cancelling_one_lets_the_other_tell() -> None:
    run = ended_run()
    cancel_run(forks_of(run)["errors"].fork, actor=Actor())
    rows = looked_back(run)
    assert rows["errors"].fork.outcome == "cancelled"
    assert told_of(run) == [{"errors": 0, "memories": 1, "added": 1, "failed": ["errors"]}]


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("It failed. Then it failed again.", "It failed."),
        ("It used v1.2 of the API", "It used v1.2 of the API"),
        ("没有设置过滤器。后来又超时。", "没有设置过滤器。"),
        ("word " * 60, ("word " * 23).strip() + "…"),
        ("x" * 300, "x" * 119 + "…"),
    ],
)
def test_an_error_is_named_by_its_first_sentence(description: str, name: str) -> None:
    assert name_of_finding(description) == name


def test_what_a_persons_fork_of_it_finds_is_proposed_too_and_the_same_counts_once() -> None:
    run = ended_run()
    rows = looked_back(run)
    other = errors_said(finding(), finding("It gave up."))
    wanted = ForkInput.model_validate({"from_step": 3, "result": {"text": other, "model": "a reviewer"}})
    fork = fork_run(rows["errors"].fork, wanted.model_copy(update={"from_step": 2}), actor=Actor())
    advance(fork.pk)
    then.run_succeeded(fork)
    kept = Entry.objects.filter(project_id=run.project_id, kind="error_note")
    assert dict(kept.values_list("name", "occurrences")) == {"It searched all files.": 1, "It gave up.": 1}
    assert forks_of(run)["errors"].found == 1
    assert len(told_of(run)) == 1


def test_they_are_not_among_the_work_of_people_unless_asked_for() -> None:
    project = watched_project()
    run = ended_run(project=project)
    fork = forks_of(run)["memory"].fork
    caller = given.caller(project)

    def listed(path: str, **query: str) -> list[str]:
        return [one["id"] for one in caller.get(path, **query).body["results"]]

    assert listed("runs") == [str(run.pk)]
    assert listed("runs", mode="memory_reflection") == [str(fork.pk)]
    assert listed("tasks") == [str(run.task_id)]


def test_a_database_that_fails_for_a_moment_loses_no_looking_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(_subject: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 50; SELECT pg_sleep(5)")

    run = given.scripted_run(DONE | BOTH, project=watched_project(), mode="actor_critic")
    advance(run.pk)
    with monkeypatch.context() as patched:
        patched.setattr(reflectors, "_begin", slow)
        reflectors.begin_due_reflectors()
    assert not Reflector.objects.exists()
    assert set(forks_of(run)) == {"errors", "memory"}


@pytest.mark.parametrize("reflection", ["off", "post_hoc"])
def test_only_a_run_that_gets_a_reflector_is_due(reflection: str) -> None:
    run = given.scripted_run(DONE | BOTH, project=watched_project(), mode="actor_critic", reflection=reflection)
    advance(run.pk)
    assert LookBackDue.objects.filter(run_id=run.pk).exists() is (reflection == "post_hoc")
    assert set(forks_of(run)) == ({"errors", "memory"} if reflection == "post_hoc" else set())


def test_settings_that_cannot_be_read_do_not_keep_a_run_from_its_end() -> None:
    project = watched_project()
    run = given.scripted_run(DONE | BOTH, project=project, mode="actor_critic")
    Project.objects.filter(pk=project.pk).update(notebook={"reflection": "sometimes"})
    advance(run.pk)
    run.refresh_from_db()
    assert run.is_finished
    assert LookBackDue.objects.filter(run_id=run.pk).exists()
