"""The queue's page: what each view shows, what filters let through, and what an address may ask for."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from pydantic import ValidationError
from pytest_django import DjangoAssertNumQueries

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project
from reflection_app.reviews.claiming import claim_review, skip_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Panel, PanelState, Review, ReviewState
from reflection_app.reviews.views.counting import CountUpTo
from reflection_app.reviews.views.queue import ROWS
from reflection_app.runs.models import Verdict
from reflection_app.tasks.models import Task
from reflection_app.web.template_filters import up_to_999
from tests import given, then
from tests.api.caller import Caller
from tests.reviews.panels import panel_of
from tests.reviews.reviewed import claim_and_decide, client_of
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db

QUEUE = "/p/desk/reviews/"


@pytest.fixture
def me(project: Project) -> Actor:
    return Actor(user=given.member(project))


@pytest.fixture
def browser(me: Actor) -> Client:
    return client_of(me)


def colleague(project: Project) -> Actor:
    return Actor(user=given.member(project))


def shown(page: str, reviews: list[Review]) -> list[int]:
    """Which of the reviews the page has a row of, by their place in the list, in the page's order."""
    marks = [f'id="row-{review.pk}"' for review in reviews]
    places = [(page.index(mark), number) for number, mark in enumerate(marks) if mark in page]
    return [number for _, number in sorted(places)]


def rows_of(client: Client, reviews: list[Review], **query: str) -> list[int]:
    answer = client.get(QUEUE, query)
    assert answer.status_code == 200
    return shown(answer.text, reviews)


def test_the_views_show_what_their_names_say(browser: Client, project: Project, me: Actor) -> None:
    reviews = waiting_rows(project, 6)
    other = colleague(project)
    claim_review(reviews[0], actor=me)
    claim_review(reviews[1], actor=other)
    Review.objects.filter(pk=reviews[2].pk).update(assignee=me.user)
    skip_review(reviews[3], actor=me)
    claim_and_decide(reviews[4], actor=me)
    assert rows_of(browser, reviews) == [0, 1, 2, 3, 5]
    assert rows_of(browser, reviews, view="mine") == [0, 2]
    assert rows_of(browser, reviews, view="unclaimed") == [3, 5]
    assert rows_of(browser, reviews, view="skipped") == [3]
    assert rows_of(browser, reviews, view="decided") == [4]
    assert rows_of(browser, reviews, view="my_decisions") == [4]
    assert rows_of(browser, reviews, holder=other.label) == [1]


def test_filters_let_through_what_they_name(browser: Client, project: Project) -> None:
    reviews = waiting_rows(project, 4, audits_every=4)
    Task.objects.filter(runs=reviews[2].run_id).update(objective="A text about otters", kind="essay")
    assert rows_of(browser, reviews, reason="audit") == [0]
    assert rows_of(browser, reviews, agent="PORTER") == [3, 0]
    assert rows_of(browser, reviews, min_score="1", max_score="2") == [1, 2]
    assert rows_of(browser, reviews, q="otter") == [2]
    assert rows_of(browser, reviews, kind="essay", mode="actor_critic", verdict="REJECT") == [2]
    assert rows_of(browser, reviews, verdict="PASS") == []
    assert rows_of(browser, reviews, sort="newest") == [3, 2, 1, 0]
    assert rows_of(browser, reviews, sort="score", agent="porter") == [0, 3]


def test_what_cannot_be_understood_is_said_and_left_out(browser: Client, project: Project) -> None:
    reviews = waiting_rows(project, 1)
    wrong = {"view": "theirs", "sort": "user__password", "min_score": "many", "reason": "because", "q": "x" * 300}
    for query in (wrong, {"min_score": "80", "max_score": "20"}, {"max_score": "nan"}):
        page = browser.get(QUEUE, query)
        assert page.status_code == 200
        for name in query:
            assert f"Unknown filter “{name}”." in page.text
        assert shown(page.text, reviews) == [0]


def test_pages_follow_each_other_without_a_gap_and_keep_the_filters(browser: Client, project: Project) -> None:
    reviews = waiting_rows(project, ROWS + 7, audits_every=5)
    for sort in ("", "oldest", "newest", "score", "confidence", "agent"):
        first = browser.get(QUEUE, {"sort": sort, "reason": ""}).text
        on_first = shown(first, reviews)
        last = reviews[on_first[-1]]
        assert f"after={last.pk}" in first
        # What was shown last is decided meanwhile, and marks its place all the same.
        Review.objects.filter(pk=last.pk).update(state=ReviewState.WITHDRAWN)
        on_second = rows_of(browser, reviews, sort=sort, after=str(last.pk))
        Review.objects.filter(pk=last.pk).update(state=ReviewState.WAITING)
        assert (len(on_first), len(on_second)) == (ROWS, 7), sort
        assert not set(on_first) & set(on_second)
    assert "sort=score&amp;after=" in browser.get(QUEUE, {"sort": "score"}).text


def test_a_full_page_takes_as_many_queries_as_a_short_one(
    browser: Client, project: Project, me: Actor, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    reviews = waiting_rows(project, ROWS + 10)
    browser.get(QUEUE)
    # Two of them are for the bar that takes back what was done last, one for all numbers of the navigation.
    # One each for the named queues and the saved views of the list, three for what the filters suggest.
    with django_assert_max_num_queries(14):
        browser.get(QUEUE)
    with django_assert_max_num_queries(9):
        browser.get(QUEUE, headers={"HX-Request": "true"})
    for review in reviews[:2]:
        review.assignee = colleague(project).user
        panel_of(review)
    for review in reviews[2:4]:
        claim_and_decide(review, actor=me)
    # Three more for the panels, one for whom it is kept for, and one for what was decided last.
    with django_assert_max_num_queries(19):
        browser.get(QUEUE)
    with django_assert_max_num_queries(18):
        assert browser.get(QUEUE, {"view": "decided"}).text.count(" agreed") >= 2


def test_an_opinion_of_a_blind_panel_is_told_to_nobody_else(browser: Client, project: Project, me: Actor) -> None:
    reviews = waiting_rows(project, 1)
    first = reviews[0]
    panel_of(first)
    other = colleague(project)
    who = {"decided_by_label": other.label, "holder_label": other.label, "decided_by": other.user}
    said = {"state": ReviewState.DECIDED, "decision": "overrule", "decided_at": timezone.now()}
    Review.objects.filter(pk=first.pk).update(**who, **said)
    page = browser.get(QUEUE, {"view": "decided"}).text
    assert f"{other.label} submitted an opinion" in page
    assert "overruled" not in page
    Panel.objects.update(state=PanelState.SETTLED)
    assert f"{other.label} overruled" in browser.get(QUEUE, {"view": "decided"}).text


def test_the_next_one_is_the_first_of_the_sorted_view_and_leads_on_within_it(browser: Client, project: Project) -> None:
    reviews = waiting_rows(project, 6, audits_every=3)
    Verdict.objects.filter(pk=reviews[0].verdict_id).update(confidence=1)
    view = "queue=reason%3Daudit%26sort%3Dconfidence"
    page = browser.post(f"{QUEUE}next/?{view}", follow=True)
    assert page.redirect_chain[-1][0] == f"{QUEUE}{reviews[3].pk}/?{view}"
    assert Review.objects.get(state=ReviewState.CLAIMED).pk == reviews[3].pk


def test_a_filter_that_cannot_be_understood_claims_nothing(browser: Client, project: Project) -> None:
    waiting_rows(project, 1)
    answer = browser.post(f"{QUEUE}next/?queue=min_score%3Dmany")
    assert answer.status_code == 400
    assert not Review.objects.filter(state=ReviewState.CLAIMED).exists()


def test_what_was_skipped_comes_back_when_it_is_asked_for(browser: Client, project: Project, me: Actor) -> None:
    reviews = waiting_rows(project, 2)
    for review in reviews:
        browser.post(f"{QUEUE}{review.pk}/skip/", {"then": "queue"})
    page = browser.post(f"{QUEUE}next/", follow=True).text
    assert "You skipped 2 reviews." in page
    assert rows_of(browser, reviews, view="skipped") == [0, 1]
    browser.post(f"{QUEUE}{reviews[0].pk}/skip/", {"undo": "1"})
    assert rows_of(browser, reviews, view="skipped") == [1]
    assert "1 review is back in your queue." in browser.post(f"{QUEUE}unskip/", follow=True).text
    assert rows_of(browser, reviews, view="skipped") == []
    actions = list(AuditEntry.objects.filter(actor_label=me.label).order_by("id").values_list("action", flat=True))
    assert actions.count("review.skipped") == actions.count("review.unskipped") == 2


def test_many_waiting_are_counted_up_to_a_number_that_can_be_told(project: Project) -> None:
    waiting_rows(project, 5)
    counted = Project.objects.annotate(many=CountUpTo(Review.objects.all(), most=3))
    assert counted.values_list("many", flat=True).get() == 4
    assert up_to_999(1_000) == "999+"


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"decision": "perhaps"}, "decision"),
        ({"decision": "overrule", "verdict": "PASS", "score": 101}, "score"),
        ({"decision": "approve", "reason": "x" * 10_001}, "reason"),
        ({"decision": "approve", "surprise": 1}, "surprise"),
    ],
)
def test_a_decision_that_cannot_be_read_is_refused_with_the_field(said: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        DecisionInput.model_validate({"lease_token": str(uuid4())} | said)
    assert refused.value.errors()[0]["loc"][0] == field


def test_what_is_no_filter_is_refused_by_its_name(caller: Caller) -> None:
    for query in ({"view": "theirs"}, {"max_score": "inf"}, {"q": "x" * 201}):
        then.refused(caller.get("reviews", **query), 400, *query)
