"""Deciding where a rubric is in force: ratings in, verdict out, over REST and in the browser's form."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Scope
from reflection_app.reviews.deciding import decide_review, undo_decision
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Panel, Review
from reflection_app.rubrics.changing import RubricInput, change_rubric
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Verdict
from tests import given, then, when
from tests.api.caller import Answer, Caller
from tests.reviews.panels import people, take_seat
from tests.rubrics.rated import CRITERIA, as_ratings, rated_critique, rated_review, rubric_project

pytestmark = pytest.mark.django_db


def caller_for(review: Review) -> Caller:
    return given.caller(scopes=[Scope.REVIEWS_WRITE, Scope.RUNS_READ], project=review.project)


def decide(caller: Caller, review: Review, **said: Any) -> Answer:
    token = caller.post("reviews/claim", {"review_id": str(review.pk)}).body["lease_token"]
    return caller.post(f"reviews/{review.pk}/decision", {"lease_token": token, "decision": "overrule"} | said)


def test_the_verdict_and_the_score_follow_from_a_persons_ratings() -> None:
    review = rated_review("rated-follow", correct=4)
    answer = decide(caller_for(review), review, ratings=as_ratings(correct=1, tone="fail"))
    assert answer.status == 200, answer.body
    sent = Verdict.objects.get(decided_by_reviews=review)
    assert (sent.verdict, sent.score) == ("REJECT", 20)
    assert [one.value for one in sent.get_ratings()] == ["1", "fail", "yes"]
    assert sent.feedback["weaknesses"] == ["Correct (1)", "Tone (fail)"]
    entry = AuditEntry.objects.get(action="review.decided")
    assert entry.after["ratings"][0]["value"] == "1"


def test_approving_agrees_with_the_ratings_as_well() -> None:
    review = rated_review("rated-agree", correct=4)
    caller = caller_for(review)
    token = caller.post("reviews/claim", {"review_id": str(review.pk)}).body["lease_token"]
    path = f"reviews/{review.pk}/decision"
    other = {"lease_token": token, "decision": "approve", "ratings": as_ratings(correct=3)}
    assert then.named_fields(caller.post(path, other)) == ["ratings"]
    assert caller.post(path, {"lease_token": token, "decision": "approve"}).status == 200
    sent = Verdict.objects.get(decided_by_reviews=review)
    assert sent.get_ratings() == review.verdict.get_ratings()


def test_what_does_not_fit_the_rubric_is_named_and_nothing_is_decided() -> None:
    review = rated_review("rated-wrong")
    caller = caller_for(review)
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"verdict": "REVISE", "reason": "No."}, ["ratings.correct", "ratings.tone", "ratings.ready"]),
        ({"ratings": {"correct": {"value": 3}}}, ["ratings.tone"]),
        ({"ratings": as_ratings(correct=9)}, ["ratings.correct"]),
        ({"ratings": as_ratings() | {"style": {"value": 1}}}, ["ratings.style"]),
        ({"ratings": as_ratings(), "score": 12}, ["score"]),
        ({"ratings": as_ratings(), "verdict": "REJECT"}, ["reason"]),
    ]
    token = caller.post("reviews/claim", {"review_id": str(review.pk)}).body["lease_token"]
    for said, named in cases:
        held = {"lease_token": token, "decision": "overrule"}
        answer = caller.post(f"reviews/{review.pk}/decision", held | said)
        then.refused(answer, 400)
        assert [name.split(".value")[0] for name in then.named_fields(answer)] == named
    review.refresh_from_db()
    assert review.decision is None


def test_a_person_may_decide_against_the_rubric_with_a_reason() -> None:
    review = rated_review("rated-against")
    answer = decide(caller_for(review), review, ratings=as_ratings(), verdict="REVISE", reason="It names a customer.")
    assert answer.status == 200, answer.body
    sent = Verdict.objects.get(decided_by_reviews=review)
    assert (sent.verdict, sent.score) == ("REVISE", 100)


def test_a_run_keeps_the_rubric_that_it_began_with() -> None:
    review = rated_review("rated-keeps")
    change_rubric(review.project, RubricInput(criteria=()), actor=Actor())
    answer = decide(caller_for(review), review, ratings=as_ratings(correct=2))
    assert answer.status == 200, answer.body


def test_an_undone_decision_begins_again_with_its_ratings(client: Client) -> None:
    review = rated_review("rated-undone")
    given.logged_in(client, review.project)
    held = when.claims(client, review)
    address = reverse("decide_review", args=(review.project.slug, review.pk))
    typed = {
        "lease_token": str(held.lease_token),
        "decision": "overrule",
        "rating.correct": "1",
        "why.correct": "The sum is wrong.",
        "rating.tone": "fail",
        "rating.ready": "no",
    }
    assert client.post(address, typed).status_code in {200, 302}
    review.refresh_from_db()
    assert review.state == "decided"
    undo_decision(review, actor=Actor(user=review.decided_by))
    page = client.get(reverse("review", args=(review.project.slug, review.pk))).content.decode()
    assert 'value="The sum is wrong."' in page
    assert 'name="rating.correct" value="1" data-worth="0.0" checked' in " ".join(page.split())


def test_the_form_begins_with_the_critics_ratings_and_keeps_what_was_typed(client: Client) -> None:
    review = rated_review("rated-form", correct=4)
    given.logged_in(client, review.project)
    held = when.claims(client, review)
    page = " ".join(client.get(reverse("review", args=(review.project.slug, review.pk))).content.decode().split())
    assert 'name="rating.correct" value="4" data-worth="75.0" checked' in page
    address = reverse("decide_review", args=(review.project.slug, review.pk))
    typed = {"lease_token": str(held.lease_token), "decision": "overrule", "rating.correct": "2", "rating.tone": "pass"}
    answer = client.post(address, typed)
    again = " ".join(answer.content.decode().split())
    assert answer.status_code == 400
    assert 'name="rating.correct" value="2" data-worth="25.0" checked' in again


def test_blind_seats_come_to_the_ratings_in_the_middle() -> None:
    rules = [{"confidence_below": 0.6, "reviewers": 3}]
    project = rubric_project("rated-panel", first=rated_critique(0.2), review_policy={"audit_share": 0, "rules": rules})
    run = given.submitted_run(project, mode="actor_critic")
    advance(run.pk)
    panel = Panel.objects.get(run=run)
    for actor, points in zip(people(project, 3), (2, 2, 1), strict=True):
        held = take_seat(panel, actor)
        said = {
            "lease_token": held.lease_token,
            "decision": "overrule",
            "ratings": as_ratings(correct=points),
            "verdict": "REVISE",
            "reason": "See the sum.",
        }
        decide_review(held, DecisionInput.model_validate(said), actor=actor)
    sent = Verdict.objects.filter(attempt__run=run, referee=6).get()
    assert [one.value for one in sent.get_ratings()] == ["2", "pass", "yes"]


def test_a_fork_keeps_the_ratings() -> None:
    review = rated_review("rated-fork")
    assert decide(caller_for(review), review, ratings=as_ratings(correct=2)).status == 200
    advance(review.run_id)
    review.run.refresh_from_db()
    forked = fork_run(review.run, ForkInput(from_step=4), actor=Actor(user=given.member(review.project)))
    copied = Verdict.objects.filter(attempt__run=forked).order_by("created_at")[0]
    assert copied.get_ratings() == review.verdict.get_ratings()
    assert forked.get_spec().rubric is not None
    assert len(forked.get_spec().rubric.criteria) == len(CRITERIA)  # type: ignore[union-attr]
