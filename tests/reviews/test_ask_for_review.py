"""Asking for a review of an attempt, by a person or a pipeline, whatever the policy says."""

import pytest
from django.test import Client

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import AskedAlready, InvalidInput
from reflection_app.core.models import Project, Role
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.claiming import claim_next
from reflection_app.reviews.models import Panel, Review, ReviewState
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run, Verdict
from reflection_app.teams.models import Notification
from tests import given, when
from tests.reviews.reviewed import claim_and_decide, decide_held
from tests.reviews.test_reviews import together
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(project: Project) -> Run:
    """A run of two attempts; the critic sent the first back and passed the second."""
    return given.finished_run(project)


def person(run: Run) -> Actor:
    return Actor(user=given.member(run.project))


def test_the_kept_attempts_verdict_is_put_before_a_person_and_no_run_waits_for_it(run: Run) -> None:
    asker = person(run)
    [review] = ask_for_review(run, AskInput(note="  Are the figures right? "), actor=asker)

    assert (review.reason, review.holds_run, review.step, review.attempt.number) == ("asked_for", False, None, 2)
    assert (review.note, review.note_by_label, review.panel) == ("Are the figures right?", asker.label, None)
    assert review.verdict.verdict == "PASS"
    assert (review.why, review.rule) == ([], None)
    assert Event.objects.get(run=run, type="review.opened").payload["reason"] == "asked_for"
    assert AuditEntry.objects.get(action="review.asked_for").after["note"] == "Are the figures right?"
    assert claim_next(run.project, actor=person(run)) == review


@pytest.mark.parametrize(
    ("asked", "field", "said"),
    [
        ({"note": "  "}, "note", "Describe what the reviewer should check."),
        ({"note": "x", "attempt": 7}, "attempt", "no attempt 7. Its attempts: 1, 2"),
        ({"note": "x", "assignee": "nobody"}, "assignee", "No reviewer with this name"),
        ({"note": "x", "assignee": "nobody", "reviewers": 2}, "assignee", "cannot be assigned"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_field_and_changes_nothing(
    asked: dict[str, object], field: str, said: str, run: Run
) -> None:
    with pytest.raises(InvalidInput, match=said) as refused:
        ask_for_review(run, AskInput.model_validate(asked), actor=Actor())
    assert [error["field"] for error in refused.value.errors] == [field]
    assert not Review.objects.filter(run=run).exists()


def test_a_viewer_cannot_be_asked(run: Run) -> None:
    viewer = given.member(run.project, Role.VIEWER)
    with pytest.raises(InvalidInput, match="No reviewer with this name"):
        ask_for_review(run, AskInput(note="x", assignee=viewer.username), actor=Actor())


def test_what_nothing_has_judged_yet_has_no_verdict_to_review() -> None:
    run = given.scripted_run({"attempt-1/answer": "x", "attempt-1/critique": critique(90, approved=True)})
    with pytest.raises(InvalidInput, match="The run has no attempts yet"):
        ask_for_review(run, AskInput(note="x"), actor=Actor())
    when.advances(run)
    Verdict.objects.filter(attempt__run=run).delete()
    with pytest.raises(InvalidInput, match="Attempt 1 has no verdict to review yet"):
        ask_for_review(run, AskInput(note="x", attempt=1), actor=Actor())


def test_it_is_kept_for_the_one_who_is_named(run: Run) -> None:
    anna = person(run)
    assert anna.user is not None
    [review] = ask_for_review(run, AskInput(note="You know them", assignee=anna.label), actor=Actor())
    review.refresh_from_db()
    assert (review.assignee, review.note) == (anna.user, "You know them")
    assert Notification.objects.get(user=anna.user).kind == "assigned"
    assert claim_next(run.project, actor=person(run)) is None
    assert claim_next(run.project, actor=anna) == review


def test_several_judge_it_blindly(run: Run) -> None:
    opened = ask_for_review(run, AskInput(note="Is it funny?", reviewers=3), actor=Actor())
    panel = Panel.objects.get(run=run)
    assert {review.panel_id for review in opened} == {panel.pk}
    assert (panel.wanted, panel.step, panel.holds_run, panel.reason) == (3, None, False, "asked_for")
    for _ in range(3):
        actor = person(run)
        held = claim_next(run.project, actor=actor)
        assert held is not None
        decide_held(held, actor)
    panel.refresh_from_db()
    assert panel.agreed is True
    assert Verdict.objects.filter(attempt__run=run, referee=6).count() == 1


def test_the_same_verdict_is_not_asked_about_twice_while_one_is_open(run: Run) -> None:
    [review] = ask_for_review(run, AskInput(note="x"), actor=Actor())
    with pytest.raises(AskedAlready, match=str(review.pk)):
        ask_for_review(run, AskInput(note="y"), actor=Actor())
    ask_for_review(run, AskInput(note="y", attempt=1), actor=Actor())

    actor = person(run)
    claim_and_decide(review, actor=actor)
    [second] = ask_for_review(run, AskInput(note="a second look"), actor=Actor())
    assert second.verdict.given_by == actor.user


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_", range(4))
def test_of_two_who_ask_at_once_one_is_told(_: int, run: Run) -> None:
    results = together(*[lambda: ask_for_review(run, AskInput(note="x"), actor=Actor()) for _ in range(3)])
    assert sorted(type(one).__name__ for one in results) == ["AskedAlready", "AskedAlready", "list"]
    assert Review.objects.filter(run=run, state=ReviewState.WAITING).count() == 1


# On the page of the run.


def test_it_comes_into_the_queue_with_the_note(reviewer: Client, run: Run) -> None:
    typed = {"attempt": "2", "note": f"Are the figures right? {given.HOSTILE}", "reviewers": "1", "assignee": ""}
    page = reviewer.post(f"/p/desk/runs/{run.pk}/ask/", typed, follow=True)
    review = Review.objects.get(run=run)
    assert page.redirect_chain[-1][0] == f"/p/desk/runs/{run.pk}/"
    item = reviewer.get(f"/p/desk/reviews/{review.pk}/").text
    assert "Are the figures right?" in item
    assert "<script>alert(1)" not in item
