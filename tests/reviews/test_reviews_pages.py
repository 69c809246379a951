"""The page of a review: claiming, deciding, what comes back where it is refused, and going on to the next."""

import re
from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from reflection_app.core.models import Project, Role
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given, when

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return given.unsure_project("desk")


def decision(review: Review, **typed: object) -> dict[str, object]:
    return {"lease_token": str(review.lease_token), "decision": "approve", "score": "80", "reason": ""} | typed


def issues(*descriptions: str) -> dict[str, list[str]]:
    return {
        "issue_category": ["quality"] * len(descriptions),
        "issue_severity": ["high"] * len(descriptions),
        "issue_description": list(descriptions),
        "issue_suggested_fix": [""] * len(descriptions),
    }


def test_the_help_lists_every_letter_that_presses_a_control(reviewer: Client, project: Project) -> None:
    given.waiting_review(project)
    queue = reviewer.get("/p/desk/reviews/").text
    held = reviewer.post("/p/desk/reviews/next/", follow=True).text
    for page, letters in ((queue, "n"), (held, "aocmsi")):
        keys = " ".join(re.findall(r'data-key="([^"]*)"', page)).split()
        help_ = page[page.index("data-help ") :]
        assert set(letters) <= {key for key in keys if key.isalpha()}
        assert [key for key in keys if len(key) == 1 and key.isalpha() and f"<kbd>{key}</kbd>" not in help_] == []


def test_approving_resumes_the_run_and_goes_on_to_the_next(reviewer: Client, project: Project) -> None:
    review, following = given.waiting_review(project), given.waiting_review(project)
    claimed = when.claims(reviewer, review)
    page = reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", decision(claimed), follow=True)
    review.refresh_from_db()
    assert (review.state, review.decision) == (ReviewState.DECIDED, "approve")
    assert Run.objects.get(pk=review.run_id).state == "queued"
    assert page.redirect_chain[-1][0] == f"/p/desk/reviews/{following.pk}/"


def test_overruling_keeps_verdict_issues_and_reason(reviewer: Client, project: Project) -> None:
    review = given.waiting_review(project)
    typed = decision(when.claims(reviewer, review), decision="overrule", verdict="REVISE", score="41", reason="Why")
    reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", typed | issues("Too short", "", "No title"))
    review.refresh_from_db()
    assert review.decided_verdict is not None
    assert (review.decided_verdict.verdict, review.decided_verdict.score) == ("REVISE", 41)
    assert [issue["description"] for issue in review.decided_verdict.issues] == ["Too short", "No title"]
    assert review.decision_reason == "Why"


def test_an_unclear_decision_is_refused_with_all_kept(reviewer: Client, project: Project) -> None:
    review = given.waiting_review(project)
    held = when.claims(reviewer, review)
    for wrong in ({"decision": ""}, {"decision": "overrule", "verdict": "REVISE", "score": "many"}):
        typed = decision(held) | wrong
        page = reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", typed | issues(""))
        assert page.status_code == 400
        assert f'value="{typed["score"]}"' in page.text
    assert Review.objects.get(pk=review.pk).state == ReviewState.CLAIMED


def test_a_lost_lease_keeps_what_was_typed_and_offers_to_claim_again(reviewer: Client, project: Project) -> None:
    review = when.claims(reviewer, given.waiting_review(project))
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    typed = decision(review, decision="overrule", verdict="REVISE", reason="My long reason") | issues("Mine")
    page = reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", typed)
    assert page.status_code == 409
    assert "Your lock on this review expired. Nothing was changed. Claim it again." in page.text
    assert "My long reason" in page.text
    assert 'value="Mine"' in page.text
    assert "Claim again" in page.text

    again = reviewer.post(f"/p/desk/reviews/{review.pk}/claim/", typed)
    review.refresh_from_db()
    assert again.status_code == 200
    assert "My long reason" in again.text
    assert f'value="{review.lease_token}"' in again.text
    assert str(typed["lease_token"]) not in again.text
    reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", typed | {"lease_token": str(review.lease_token)})
    review.refresh_from_db()
    assert review.state == ReviewState.DECIDED


def test_the_form_says_what_is_left_for_another_attempt(reviewer: Client, project: Project) -> None:
    review = when.claims(reviewer, given.waiting_review(project))
    address = f"/p/desk/reviews/{review.pk}/"
    Run.objects.update(prompt_tokens=900, completion_tokens=80, active_s=29)
    page = reviewer.get(address).text
    assert "9,020 tokens" in page
    assert "left-short" in page


def test_an_old_tab_gets_the_present_token_of_its_own_user(reviewer: Client, project: Project) -> None:
    old = when.claims(reviewer, given.waiting_review(project))
    Review.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    new = when.claims(reviewer, old)
    page = reviewer.post(f"/p/desk/reviews/{old.pk}/decision/", decision(old, reason="Kept"))
    assert page.status_code == 409
    assert page.text.count("You opened this review in another tab. You can decide here.") == 1
    assert f'value="{new.lease_token}"' in page.text
    assert "Kept" in page.text


# An open page goes on by itself: what it fetches ahead, and what the answer to its decision holds.


OPEN_PAGE = {"X-Review-Peeked": "none"}


def issue(description: str, **fields: str) -> dict[str, object]:
    told = {"category": "other", "severity": "medium", "description": description, "suggested_fix": ""} | fields
    return {f"issue_{name}": [text] for name, text in told.items()}


def test_the_likely_next_is_shown_as_its_holder_will_see_it_and_not_claimed(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    following = given.waiting_review(project, objective="The one that follows")
    answer = reviewer.get(f"/p/desk/reviews/peek/?besides={held.pk}", headers=OPEN_PAGE)
    assert answer.status_code == 200
    assert f'data-review="{following.pk}"' in answer.text
    assert "The one that follows" in answer.text
    assert 'name="lease_token" value=""' in answer.text
    assert "<html" not in answer.text
    assert Review.objects.get(pk=following.pk).state == ReviewState.WAITING


def test_nothing_is_fetched_ahead_where_nothing_follows_or_no_page_asks(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    address = f"/p/desk/reviews/peek/?besides={held.pk}"
    assert reviewer.get(address, headers=OPEN_PAGE).status_code == 204
    assert reviewer.get(address)["Location"] == "/p/desk/reviews/"
    other = Client()
    other.force_login(given.member(project, Role.VIEWER))
    assert other.get(address, headers=OPEN_PAGE).status_code == 403


def test_the_answer_to_a_decision_claims_the_next_and_sends_only_what_the_page_has_not(
    reviewer: Client, project: Project
) -> None:
    first, second, third = (given.waiting_review(project) for _ in range(3))
    held = when.claims(reviewer, first)
    told = reviewer.post(f"/p/desk/reviews/{first.pk}/decision/", decision(held), headers=OPEN_PAGE).json()
    second.refresh_from_db()
    assert (told["review"], told["lease_token"]) == (str(second.pk), str(second.lease_token))
    assert f'name="lease_token" value="{second.lease_token}"' in told["item"]
    seen = reviewer.get(f"/p/desk/reviews/peek/?besides={second.pk}", headers=OPEN_PAGE).text
    version = seen.split('data-version="')[1].split('"')[0]
    known = {"X-Review-Peeked": f"{third.pk} {version}"}
    told = reviewer.post(f"/p/desk/reviews/{second.pk}/decision/", decision(second), headers=known).json()
    assert (told["review"], told["item"]) == (str(third.pk), None)


def test_who_agrees_but_changed_the_issues_is_asked_to_overrule(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    address = f"/p/desk/reviews/{held.pk}/decision/"
    answer = reviewer.post(address, decision(held) | issue("Mine <b>"))
    assert answer.status_code == 400
    assert "You agreed but changed the issues, which requires Overrule." in answer.text
    assert 'value="overrule" data-key="o" checked' in answer.text
    assert 'value="Mine &lt;b&gt;"' in answer.text
    as_shown = {"category": "other", "severity": "medium", "suggested_fix": "Add one"}
    reviewer.post(address, decision(held) | issue("No title", **as_shown))
    assert Review.objects.get(pk=held.pk).decision == "approve"


def test_an_open_page_is_given_its_item_back_where_a_decision_is_refused(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    typed = decision(held, decision="overrule", reason="No verdict")
    answer = reviewer.post(f"/p/desk/reviews/{held.pk}/decision/", typed, headers=OPEN_PAGE)
    assert answer.status_code == 400
    assert answer.text.lstrip().startswith('<div id="review-item"')
    assert "No verdict" in answer.text


def test_to_look_at_a_hold_moves_nothing_and_tells_when_it_is_lost(reviewer: Client, project: Project) -> None:
    held = when.claims(reviewer, given.waiting_review(project))
    until = timezone.now() + timedelta(seconds=40)
    Review.objects.filter(pk=held.pk).update(lease_until=until)
    look = {"lease_token": str(held.lease_token), "look": "1"}
    answer = reviewer.post(f"/p/desk/reviews/{held.pk}/heartbeat/", look)
    assert Review.objects.get(pk=held.pk).lease_until == until
    assert 30 <= int(answer.text.split('data-left-s="')[1].split('"')[0]) <= 40
    Review.objects.filter(pk=held.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert (
        "Your lock on this review expired. Nothing was changed. Claim it again."
        in reviewer.post(f"/p/desk/reviews/{held.pk}/heartbeat/", look).text
    )


def test_the_items_of_a_view_lead_to_each_other_and_claim_nothing(reviewer: Client, project: Project) -> None:
    first, second = given.waiting_review(project), given.waiting_review(project)
    address = f"/p/desk/reviews/{first.pk}/beside/"
    assert reviewer.get(f"{address}?way=on")["Location"] == f"/p/desk/reviews/{second.pk}/"
    assert reviewer.get(f"{address}?way=back")["Location"] == f"/p/desk/reviews/{first.pk}/"
    newest = f"{address}?way=back&queue=sort%3Dnewest"
    assert reviewer.get(newest)["Location"] == f"/p/desk/reviews/{second.pk}/?queue=sort%3Dnewest"
    assert not Review.objects.exclude(state=ReviewState.WAITING).exists()


# Undo in the browser: the bar after a decision, the button on the decided item, and why some decisions stand.


@pytest.fixture
def review(reviewer: Client, project: Project) -> Review:
    """A review that the reviewer has overruled, after which its run went on."""
    review = when.claims(reviewer, given.waiting_review(project, objective="A text to look at"))
    said = decision(review, decision="overrule", verdict="REVISE", reason="Half as long.", then="queue")
    assert reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", said).status_code == 302
    advance(review.run_id)
    return review


def test_the_bar_says_what_was_decided_and_takes_it_back(reviewer: Client, review: Review) -> None:
    page = reviewer.get("/p/desk/reviews/").text
    assert "You overruled the critic: Revise. The run continues." in page
    assert f'action="/p/desk/reviews/{review.pk}/undo/"' in page

    page = reviewer.post(f"/p/desk/reviews/{review.pk}/undo/", follow=True).text
    review.refresh_from_db()
    assert review.state == ReviewState.CLAIMED
    assert "Half as long." in page, "what was decided is in the form"
    assert f'value="{review.lease_token}"' in page
    assert f'action="/p/desk/reviews/{review.pk}/undo/"' not in page


def test_the_bar_goes_with_time_and_is_nobody_elses(reviewer: Client, project: Project, review: Review) -> None:
    other = Client()
    other.force_login(given.member(project, Role.REVIEWER))
    assert "You overruled" not in other.get("/p/desk/reviews/").text
    assert "You overruled" not in reviewer.get("/p/desk/runs/").text
    Review.objects.update(decided_at=timezone.now() - timedelta(hours=1))
    assert "You overruled" not in reviewer.get("/p/desk/reviews/").text
    assert f'action="/p/desk/reviews/{review.pk}/undo/"' in reviewer.get(f"/p/desk/reviews/{review.pk}/").text


def test_what_the_agent_was_told_stands_and_a_rewind_is_offered(reviewer: Client, review: Review) -> None:
    Run.objects.update(told_seq=F("last_event_seq"))
    assert review.step is not None
    rewind = f'href="/p/desk/runs/{review.run_id}/fork/?step={review.step.seq}"'
    why = "The agent or pipeline was already notified."
    for page, words in (
        ("/p/desk/reviews/", "The agent was already notified."),
        (f"/p/desk/reviews/{review.pk}/", why),
    ):
        told = reviewer.get(page).text
        assert words in told
        assert rewind in told
        assert f'action="/p/desk/reviews/{review.pk}/undo/"' not in told
    refused = reviewer.post(f"/p/desk/reviews/{review.pk}/undo/")
    assert refused.status_code == 409
    assert why in refused.text
    assert rewind in refused.text
    assert reviewer.get(f"/p/desk/runs/{review.run_id}/fork/?step={review.step.seq}").status_code == 200
