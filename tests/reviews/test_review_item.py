"""What a review's page shows to judge by, for each kind of item."""

import re
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from notebook_app.public import propose
from reflection_app.core.models import Project, Role
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given, when
from tests.reviews.review_items import FIRST, asked_about, audited, rejected, revised, seat
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db


def page_of(client: Client, review: Review, query: str = "", *, role: Role = Role.REVIEWER) -> str:
    if not client.session.get("_auth_user_id"):
        given.logged_in(client, review.project, role)
    return plain(client.get(f"/p/{review.project.slug}/reviews/{review.pk}/{query}").text)


def plain(page: str) -> str:
    return re.sub(r"\s+", " ", page)


def section(page: str, name: str) -> str:
    """What stands in the section with this id."""
    return page.split(f'id="review-{name}"', 1)[1].split("</section>", 1)[0]


def causes(page: str) -> str:
    return page.split('id="review-causes"', 1)[1].split("</details>", 1)[0]


def test_the_address_says_what_is_compared(client: Client) -> None:
    answers: dict[str, str] = {}
    for number, text in enumerate(("one apple a day", "two apples a day", "two pears a day"), 1):
        answers[f"attempt-{number}/answer"] = text
        answers[f"attempt-{number}/critique"] = critique(40 + number)
    answers["attempt-3/critique"] = critique(80, approved=True, confidence=0.2)
    review = given.waiting_review(given.scripted_project("desk", answers))
    assert "Attempt 2 → attempt 3" in page_of(client, review)
    assert "Attempt 1 → attempt 3" in page_of(client, review, "?against=1")
    for odd in ("?against=3", "?against=99", "?against=1;", "?against=%00"):
        assert "Attempt 2 → attempt 3" in page_of(client, review, odd), odd


def noted(project: Project, name: str, content: str, *, source: str = "") -> None:
    propose(project.pk, kind="anti_pattern", name=name, content=content, source=source or name)


def test_similar_entries_of_the_notebook_are_told_with_the_words_that_they_share(client: Client) -> None:
    review = revised("desk", objective="Summarise the customs tariffs of seven harbours.")
    noted(review.project, "Harbours left out", "A summary of customs tariffs forgot some harbours")
    noted(review.project, "Haiku", "Count the syllables.")
    noted(given.project("other"), "Foreign harbours", "Customs tariffs of harbours")
    shown = section(page_of(client, review), "similar")
    assert "Harbours left out" in shown
    assert "Haiku" not in shown
    assert "Foreign" not in shown


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (
            revised,
            (
                "The attempt is accepted and the run succeeds.",
                "Sent back with a rewind ticket; attempt 3 addresses the issues.",
            ),
        ),
        (
            rejected,
            (
                "Your instructions come first on the ticket.",
                "The run ends as rejected.",
                "Sent back with a rewind ticket; attempt 2 addresses the issues.",
            ),
        ),
        (
            audited,
            (
                "Recorded only: the run has ended and does not change.",
                "A new run redoes the task with the issues on its ticket, within",
                "A new run redoes the task with the issues on its ticket, within 3 attempts and 10,000 tokens.",
            ),
        ),
        (seat, ("Takes effect when all 3 reviewers have decided and agree.", "The run ends as rejected.")),
    ],
)
def test_each_kind_of_item_says_what_a_decision_causes(client: Client, made: Any, told: tuple[str, ...]) -> None:
    said = causes(page_of(client, made("desk")))
    for words in told:
        assert words in said, words


def test_what_it_says_of_the_last_attempt_is_what_happens(client: Client) -> None:
    review = revised("desk", limits={"max_iterations": 2})
    assert "No attempts remaining: the run ends with its best attempt." in causes(page_of(client, review))
    held = when.claims(client, review)
    typed = {"lease_token": str(held.lease_token), "decision": "overrule", "verdict": "REVISE", "reason": "Again"}
    client.post(f"/p/desk/reviews/{review.pk}/decision/", typed)
    advance(review.run_id)
    assert Run.objects.get(pk=review.run_id).outcome == "exhausted"


def test_it_says_why_it_is_here_by_rule_by_chance_and_by_note(client: Client) -> None:
    by_rule = page_of(client, seat("desk"))
    assert "Policy rule 1, “<bdi>All by three</bdi>”" in by_rule
    assert "requires 3 blind reviewers" in by_rule
    by_chance = page_of(Client(), audited("drawn"))
    assert re.search(r"Sampled at random: 0\.\d{4} is below the sampling rate of 100 %", by_chance)
    asked = page_of(Client(), asked_about("asked"))
    assert "Please look at the last line." in asked


def test_text_of_strangers_stays_text(client: Client) -> None:
    hostile = f"{given.HOSTILE}\n\nhidden:\u202e\u200b!"
    review = revised("desk", first=given.HOSTILE, second=hostile, objective=f"{given.HOSTILE} tariffs harbours")
    noted(review.project, f"{given.HOSTILE} harbours", f"{given.HOSTILE} tariffs \u202e")
    page = page_of(client, review)
    for armed in ("<script>alert", "<img src=x", "onclick=alert(4)>x</b>", 'href="javascript'):
        assert armed not in page
    assert "<code>U+202E</code> right-to-left override × 1" in page
    assert "⟨U+202E⟩⟨U+200B⟩" in page


def test_an_item_is_asked_for_by_few_queries_however_much_came_before(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    review = revised("desk")
    noted(review.project, "Sea", "A haiku about the sea")
    page_of(client, review)
    with django_assert_max_num_queries(28) as few:
        page_of(client, review)
    asked = len(few)
    answers = {f"attempt-{number}/answer": f"Text {number}" for number in range(1, 5)}
    answers |= {f"attempt-{number}/critique": critique(40 + number) for number in range(1, 4)}
    answers["attempt-4/critique"] = critique(80, approved=True, confidence=0.2, issues=[{"description": FIRST}])
    project = given.scripted_project("many", answers)
    many = given.waiting_review(project, limits={"max_iterations": 12, "token_budget": 1_000_000, "time_budget_s": 600})
    for number in range(8):
        noted(project, f"Text on tariffs {number}", "names three of them")
    member = given.logged_in(Client(), project, Role.REVIEWER)
    page_of(member, many)
    with django_assert_max_num_queries(asked):
        page = page_of(member, many)
    assert "Attempt 3" in section(page, "earlier")


# A required review shows its reason and the effect of each decision.


@pytest.fixture
def project() -> Project:
    return given.project("req", review_policy={"audit_share": 0})


def claimed(reviewer: Client, project: Project, said: str, **submission: Any) -> Review:
    answers = {"attempt-1/answer": "A haiku.", "attempt-1/critique": said}
    run = given.scripted_run(answers, project=project, mode="actor_critic", review="required", **submission)
    advance(run.pk)
    return when.claims(reviewer, Review.objects.get(run=run))


def test_at_the_end_of_a_run_the_page_says_that_no_attempt_can_follow(reviewer: Client, project: Project) -> None:
    review = claimed(reviewer, project, critique(45), limits={"max_iterations": 1})
    assert "<ins>" not in page_of(reviewer, review)


def test_an_unjudged_attempt_can_be_kept(reviewer: Client, project: Project) -> None:
    review = claimed(reviewer, project, "no verdict")
    page = page_of(reviewer, review)
    assert "Nothing has judged attempt 1." in page
    typed = {"lease_token": str(review.lease_token), "pressed": "", "pick": "1", "reason": ""}
    assert reviewer.post(f"/p/req/reviews/{review.pk}/decision/", typed).status_code == 302
    advance(review.run_id)
    run = Run.objects.get(pk=review.run_id)
    assert run.outcome == "succeeded"
