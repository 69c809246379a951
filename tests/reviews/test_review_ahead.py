"""An open page goes on by itself: what it fetches ahead, and what the answer to its decision holds."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.models import Project, Role
from reflection_app.reviews.models import Review, ReviewState
from tests.factories import make_member
from tests.web.stories import claimed_by, unsure_project, waiting_review

# Advancing a run gives its connection back, so these tests cannot live in one transaction.
pytestmark = pytest.mark.django_db(transaction=True)
OPEN_PAGE = {"X-Review-Peeked": "none"}


@pytest.fixture
def project() -> Project:
    return unsure_project("desk")


def decision(review: Review, **typed: object) -> dict[str, object]:
    return {"lease_token": str(review.lease_token), "decision": "approve", "score": "80", "reason": ""} | typed


def issue(description: str, **fields: str) -> dict[str, object]:
    told = {"category": "other", "severity": "medium", "description": description, "suggested_fix": ""} | fields
    return {f"issue_{name}": [text] for name, text in told.items()}


def test_the_likely_next_is_shown_as_its_holder_will_see_it_and_not_claimed(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    following = waiting_review(project, objective="The one that follows")
    answer = reviewer.get(f"/p/desk/reviews/peek/?besides={held.pk}", headers=OPEN_PAGE)
    assert answer.status_code == 200
    assert f'data-review="{following.pk}"' in answer.text
    assert "The one that follows" in answer.text
    assert 'name="lease_token" value=""' in answer.text
    assert "<html" not in answer.text
    assert Review.objects.get(pk=following.pk).state == ReviewState.WAITING


def test_nothing_is_fetched_ahead_where_nothing_follows_or_no_page_asks(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    address = f"/p/desk/reviews/peek/?besides={held.pk}"
    assert reviewer.get(address, headers=OPEN_PAGE).status_code == 204
    assert reviewer.get(address)["Location"] == "/p/desk/reviews/"
    other = Client()
    other.force_login(make_member(project, Role.VIEWER))
    assert other.get(address, headers=OPEN_PAGE).status_code == 403


def test_the_answer_to_a_decision_claims_the_next_and_sends_only_what_the_page_has_not(
    reviewer: Client, project: Project
) -> None:
    first, second, third = (waiting_review(project) for _ in range(3))
    held = claimed_by(reviewer, first)
    told = reviewer.post(f"/p/desk/reviews/{first.pk}/decision/", decision(held), headers=OPEN_PAGE).json()
    second.refresh_from_db()
    assert (told["review"], told["lease_token"]) == (str(second.pk), str(second.lease_token))
    assert told["address"] == f"/p/desk/reviews/{second.pk}/"
    assert f'name="lease_token" value="{second.lease_token}"' in told["item"]
    assert "You agreed with the critic: Pass. The run succeeds." in told["last"]
    assert 'data-lease="held"' in told["lease"]
    seen = reviewer.get(f"/p/desk/reviews/peek/?besides={second.pk}", headers=OPEN_PAGE).text
    version = seen.split('data-version="')[1].split('"')[0]
    known = {"X-Review-Peeked": f"{third.pk} {version}"}
    told = reviewer.post(f"/p/desk/reviews/{second.pk}/decision/", decision(second), headers=known).json()
    assert (told["review"], told["item"]) == (str(third.pk), None)


def test_what_has_changed_since_it_was_fetched_is_sent_again(reviewer: Client, project: Project) -> None:
    first, second = waiting_review(project), waiting_review(project)
    known = {"X-Review-Peeked": f"{second.pk} 0-0-0"}
    address = f"/p/desk/reviews/{first.pk}/decision/"
    told = reviewer.post(address, decision(claimed_by(reviewer, first)), headers=known).json()
    assert f'data-review="{second.pk}"' in told["item"]


def test_after_the_last_one_the_page_is_sent_to_the_queue(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    told = reviewer.post(f"/p/desk/reviews/{held.pk}/decision/", decision(held), headers=OPEN_PAGE).json()
    assert told == {"review": None, "address": "/p/desk/reviews/"}
    assert "Nothing is waiting for a review." in reviewer.get(told["address"]).text


def test_an_open_page_is_given_its_item_back_where_a_decision_is_refused(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    typed = decision(held, decision="overrule", reason="No verdict")
    answer = reviewer.post(f"/p/desk/reviews/{held.pk}/decision/", typed, headers=OPEN_PAGE)
    assert answer.status_code == 400
    assert answer.text.lstrip().startswith('<div id="review-item"')
    assert "No verdict" in answer.text


def test_the_token_of_another_item_decides_nothing(reviewer: Client, project: Project) -> None:
    first, second = claimed_by(reviewer, waiting_review(project)), claimed_by(reviewer, waiting_review(project))
    answer = reviewer.post(f"/p/desk/reviews/{second.pk}/decision/", decision(first), headers=OPEN_PAGE)
    assert answer.status_code == 409
    assert set(Review.objects.values_list("state", flat=True)) == {ReviewState.CLAIMED}


def test_who_agrees_but_changed_the_issues_is_asked_to_overrule(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    address = f"/p/desk/reviews/{held.pk}/decision/"
    answer = reviewer.post(address, decision(held) | issue("Mine <b>"))
    assert answer.status_code == 400
    assert "to change them is to overrule" in answer.text
    assert 'value="overrule" data-key="o" checked' in answer.text
    assert 'value="Mine &lt;b&gt;"' in answer.text
    as_shown = {"category": "other", "severity": "medium", "suggested_fix": "Add one"}
    reviewer.post(address, decision(held) | issue("No title", **as_shown))
    assert Review.objects.get(pk=held.pk).decision == "approve"


def test_an_issue_keeps_the_place_that_it_names(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    typed = decision(held, decision="overrule", verdict="REVISE") | issue("Wrong", path="$.items[2].id")
    reviewer.post(f"/p/desk/reviews/{held.pk}/decision/", typed)
    decided = Review.objects.select_related("decided_verdict").get(pk=held.pk)
    assert decided.decided_verdict is not None
    assert decided.decided_verdict.issues[0]["path"] == "$.items[2].id"


def test_to_look_at_a_hold_moves_nothing_and_tells_when_it_is_lost(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    until = timezone.now() + timedelta(seconds=40)
    Review.objects.filter(pk=held.pk).update(lease_until=until)
    look = {"lease_token": str(held.lease_token), "look": "1"}
    answer = reviewer.post(f"/p/desk/reviews/{held.pk}/heartbeat/", look)
    assert Review.objects.get(pk=held.pk).lease_until == until
    assert 30 <= int(answer.text.split('data-left-s="')[1].split('"')[0]) <= 40
    Review.objects.filter(pk=held.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert "has run out" in reviewer.post(f"/p/desk/reviews/{held.pk}/heartbeat/", look).text


def test_the_items_of_a_view_lead_to_each_other_and_claim_nothing(reviewer: Client, project: Project) -> None:
    first, second = waiting_review(project), waiting_review(project)
    address = f"/p/desk/reviews/{first.pk}/beside/"
    assert reviewer.get(f"{address}?way=on")["Location"] == f"/p/desk/reviews/{second.pk}/"
    assert reviewer.get(f"{address}?way=back")["Location"] == f"/p/desk/reviews/{first.pk}/"
    newest = f"{address}?way=back&queue=sort%3Dnewest"
    assert reviewer.get(newest)["Location"] == f"/p/desk/reviews/{second.pk}/?queue=sort%3Dnewest"
    assert not Review.objects.exclude(state=ReviewState.WAITING).exists()


def test_what_was_typed_before_anything_was_chosen_outlives_a_lost_hold(reviewer: Client, project: Project) -> None:
    held = claimed_by(reviewer, waiting_review(project))
    other = Client()
    other.force_login(make_member(project))
    Review.objects.filter(pk=held.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    claimed_by(other, held)
    typed = decision(held, decision="", reason="Typed, nothing chosen yet")
    answer = reviewer.post(f"/p/desk/reviews/{held.pk}/claim/", typed)
    assert answer.status_code == 409
    assert "Typed, nothing chosen yet" in answer.text
    assert "Claim again" in answer.text
