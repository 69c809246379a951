"""The author of text that an attempt is made from counts as a submitter and cannot decide on the result."""

import pytest

from reflection_app.core.audit import Actor
from reflection_app.core.models import OwnWork, Project, Scope
from reflection_app.loops.questions import Choice
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from reflection_app.reviews.own_work import OwnWorkRefused, change_own_work
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from reflection_app.runs.resuming import AnswerInput, answer_question
from reflection_app.tasks.redo import RedoInput, redo_run
from tests import given, when
from tests.reviews.editing import edited, reviewer
from tests.reviews.review_items import audited
from tests.runs.critiques import critique
from tests.runs.questions import KNOWLEDGE, PERMISSION, waiting_question

pytestmark = pytest.mark.django_db


def ended_run(project: Project) -> Run:
    by = Actor(user=given.member(project))
    run = given.scripted_run({"attempt-1/answer": given.RIGHT}, project=project, actor=by, tests=given.TESTS)
    when.advances(run)
    assert run.is_finished
    return run


@pytest.mark.parametrize("by_key", [False, True])
def test_the_author_of_a_redo_cannot_claim_its_review(project: Project, by_key: bool) -> None:
    run, member = ended_run(project), given.member(project)
    maker = Actor(user=member)
    key, _secret = given.api_key(project, (Scope.REVIEWS_WRITE,), made_by=member)
    again = redo_run(run, RedoInput(instructions="Shorter."), actor=Actor(api_key=key) if by_key else maker)
    assert again.handed_in_by == [*run.handed_in_by, maker.hand]
    run.refresh_from_db()
    assert maker.hand not in run.handed_in_by

    review = required_review(again)
    for actor in (maker, Actor(api_key=key)):
        with pytest.raises(OwnWorkRefused):
            claim_review(review, actor=actor)
    assert claim_review(review, actor=Actor(user=given.member(project))).lease_token


def required_review(run: Run) -> Review:
    """The review that the run waits for before it ends."""
    run.spec["review"] = "required"
    run.save(update_fields=["spec"])
    advance(run.pk)
    return Review.objects.get(run=run, state="waiting")


def test_where_the_project_allows_it_who_ordered_may_decide(project: Project) -> None:
    change_own_work(project, OwnWork.PEOPLE, actor=Actor(user=given.member(project)))
    actor = Actor(user=given.member(project))
    again = redo_run(ended_run(project), RedoInput(instructions="Shorter."), actor=actor)
    assert claim_review(required_review(again), actor=actor).lease_token


def test_who_overrules_what_had_passed_has_ordered_the_run_that_does_it_again() -> None:
    review = audited("overruled")
    actor = Actor(user=given.member(review.project))
    held = claim_review(review, actor=actor)
    said = DecisionInput.model_validate(
        {
            "lease_token": held.lease_token,
            "decision": "overrule",
            "verdict": Verdict.REVISE,
            "reason": "Name the season.",
        }
    )
    ordered = decide_review(held, said, actor=actor).ordered_run
    assert ordered is not None
    assert actor.hand in ordered.handed_in_by


def test_who_edited_the_text_that_is_done_again_has_written_a_part_of_it() -> None:
    review = audited("edited")
    editor = reviewer(review)
    edited(review, actor=editor)
    by = Actor(user=given.member(review.project))
    again = redo_run(Run.objects.get(pk=review.run_id), RedoInput(instructions="Shorter."), actor=by)
    assert {editor.hand, by.hand} <= set(again.handed_in_by)


def test_an_answer_with_text_makes_its_author_a_submitter_and_a_mere_choice_does_not(project: Project) -> None:
    actor = Actor(user=given.user())
    told = waiting_question(project, KNOWLEDGE)
    answer_question(told, AnswerInput(choice=Choice.ANSWER, text="7 %"), actor=actor)
    chosen = waiting_question(project, PERMISSION)
    answer_question(chosen, AnswerInput(choice=Choice.TRY_AGAIN), actor=actor)
    assert actor.hand in Run.objects.get(pk=told.run_id).handed_in_by
    assert Run.objects.get(pk=chosen.run_id).handed_in_by == []


def test_who_sends_an_attempt_back_within_its_run_may_decide_on_the_next(project: Project) -> None:
    answers = {"attempt-1/answer": "one", "attempt-1/critique": critique(90, approved=True)}
    answers |= {"attempt-2/answer": "two", "attempt-2/critique": critique(90, approved=True)}
    run = given.scripted_run(answers, project=project, mode="actor_critic", review="required")
    actor = Actor(user=given.member(project))
    for said in ({"decision": "overrule", "verdict": "REVISE", "reason": "Shorter."}, {"decision": "approve"}):
        advance(run.pk)
        held = claim_review(Review.objects.get(run=run, state="waiting"), actor=actor)
        decide_review(held, DecisionInput.model_validate({"lease_token": held.lease_token, **said}), actor=actor)
    when.advances(run)
    assert (run.outcome, run.attempts_made) == ("succeeded", 2)
