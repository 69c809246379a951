"""An end that is taken back takes with it that the run was looked back at; the next end begins anew."""

from functools import partial
from typing import Any

import pytest

from notebook_app.models import Entry, Evidence
from notebook_app.public import By, approve, propose
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import Review
from reflection_app.runs import undo
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.models import Run, Step
from reflection_app.sessions.models import Reflector
from tests import given
from tests.reviews.test_reviews import together
from tests.reviews.undoing import check_events, claimed, decide, rows_of
from tests.runs.critiques import critique
from tests.sessions.looking_back import BOTH, forks_of, looked_back, watched_project

pytestmark = pytest.mark.django_db

ANSWERS = {
    "attempt-1/answer": "first",
    "attempt-1/critique": critique(80, approved=True, confidence=0.2),
    "attempt-2/answer": "second",
    "attempt-2/critique": critique(90, approved=True),
    **BOTH,
}


def waiting(project: Project | None = None) -> tuple[Review, Actor]:
    """A review that a run waits for, which ends once it is approved; and somebody who holds it."""
    run = given.scripted_run(ANSWERS, project=project or watched_project(), mode="actor_critic", agent="porter")
    advance(run.pk)
    review = Review.objects.get(run=run)
    actor = Actor(user=given.member(review.project, Role.REVIEWER))
    return claimed(review, actor), actor


def approved(review: Review, actor: Actor) -> Run:
    decide(review, actor, "approve")
    advance(review.run_id)
    run = Run.objects.get(pk=review.run_id)
    assert run.outcome == "succeeded", run.error
    return run


def undone(review: Review, actor: Actor) -> None:
    undo_decision(Review.objects.get(pk=review.pk), actor=actor)


def without_forks(rows: dict[str, list[dict[str, Any]]], run: Run) -> dict[str, list[dict[str, Any]]]:
    """The rows but for those of the cancelled forks, which stay for those who look what was spent."""
    kept = dict(rows)
    kept["Run"] = [row for row in rows["Run"] if row["id"] == run.pk]
    kept["Step"] = [row for row in rows["Step"] if row["run_id"] == run.pk]
    return kept


@pytest.mark.parametrize("looks", [False, True], ids=["before they began", "once both had ended"])
def test_every_row_is_as_before_and_the_next_end_begins_anew(*, looks: bool) -> None:
    review, actor = waiting()
    before = rows_of(review.project)
    run = approved(review, actor)
    first = forks_of(run)
    assert set(first) == {"errors", "memory"}
    if looks:
        looked_back(run)
        assert Entry.objects.count() == 2
    undone(review, actor)
    assert not Reflector.objects.exists()
    assert without_forks(rows_of(review.project), run) == without_forks(before, run)
    check_events(Run.objects.get(pk=run.pk))
    outcomes = set(Run.objects.exclude(pk=run.pk).values_list("outcome", flat=True))
    assert outcomes == ({"succeeded"} if looks else {"cancelled"})

    approved(Review.objects.get(pk=review.pk), actor)
    again = looked_back(run)
    assert {row.fork_id for row in again.values()}.isdisjoint(row.fork_id for row in first.values())
    assert [(row.fork.outcome, row.added) for row in again.values()] == [("succeeded", 1)] * 2
    assert Event.objects.filter(run=run, type=EventType.REFLECTED).count() == (2 if looks else 1)


def test_what_a_person_decided_on_stays_and_is_not_counted_again() -> None:
    review, actor = waiting()
    run = approved(review, actor)
    looked_back(run)
    note = Entry.objects.get(kind="error_note")
    approve(run.project_id, note.pk, by=By(label="Ann"))
    undone(review, actor)
    assert [entry.pk for entry in Entry.objects.all()] == [note.pk]
    approved(Review.objects.get(pk=review.pk), actor)
    rows = looked_back(run)
    assert rows["errors"].findings[0]["why"] == "counted_before"
    assert Entry.objects.get(pk=note.pk).occurrences == 1
    assert rows["memory"].added == 1


def test_what_others_found_too_keeps_their_count() -> None:
    project = watched_project()
    known = propose(
        project.pk,
        kind="error_note",
        name="It searched all files.",
        description="It searched all files. Twice.",
        details={"cause": "No glob.", "suggestion": "Set a glob."},
        category="tool_misuse",
        agent="porter",
        evidence={"run": "another"},
    )
    review, actor = waiting(project)
    run = approved(review, actor)
    looked_back(run)
    assert Entry.objects.get(pk=known.id).occurrences == 2
    undone(review, actor)
    assert Entry.objects.get(pk=known.id).occurrences == 1
    assert Evidence.objects.get(entry=known.id).refs == {"run": "another"}


def test_a_fork_that_is_not_cancelled_in_time_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "cancel_forks", lambda _forks: None)
    review, actor = waiting()
    run = approved(review, actor)
    forks = [row.fork_id for row in forks_of(run).values()]
    undone(review, actor)
    for fork_id in forks:
        advance(fork_id)
    assert {fork.outcome for fork in Run.objects.filter(pk__in=forks)} == {"failed"}
    assert not Step.objects.filter(run__in=forks, kind="generate").exists()
    assert not Entry.objects.exists()
    assert not Event.objects.filter(type=EventType.REFLECTED).exists()


@pytest.mark.django_db(transaction=True)
def test_an_undo_while_both_look_back_waits_for_neither_for_ever_and_leaves_nothing_of_them() -> None:
    for _ in range(3):
        review, actor = waiting()
        run = approved(review, actor)
        forks = [row.fork_id for row in forks_of(run).values()]
        together(lambda: undone(review, actor), *(partial(advance, fork_id) for fork_id in forks))  # noqa: B023
        assert not Reflector.objects.filter(run=run).exists()
        assert not Entry.objects.filter(project_id=run.project_id).exists()
        check_events(Run.objects.get(pk=run.pk))
        assert Run.objects.filter(pk__in=forks, outcome=None).count() == 0
