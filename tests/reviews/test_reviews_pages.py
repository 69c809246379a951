import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.models import Project
from reflection_app.repairs.models import Ticket
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.factories import make_member
from tests.runs.critiques import critique
from tests.web.stories import claimed_by, unsure_project, waiting_review

# Advancing a run gives its connection back, so these tests cannot live in one transaction.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project() -> Project:
    return unsure_project("desk")


def decision(review: Review, **typed: object) -> dict[str, object]:
    return {"lease_token": str(review.lease_token), "decision": "approve", "score": "80", "reason": ""} | typed


def issues(*descriptions: str) -> dict[str, list[str]]:
    return {
        "issue_category": ["quality"] * len(descriptions),
        "issue_severity": ["high"] * len(descriptions),
        "issue_description": list(descriptions),
        "issue_suggested_fix": [""] * len(descriptions),
    }


def test_the_queue_tells_what_waits_and_why(reviewer: Client, project: Project) -> None:
    waiting_review(project, objective="A text to look at")
    page = reviewer.get("/p/desk/reviews/").text
    assert "A text to look at" in page
    assert "The critic is not sure" in page
    assert "the run waits for you" in page


def test_the_help_lists_every_letter_that_presses_a_control(reviewer: Client, project: Project) -> None:
    waiting_review(project)
    queue = reviewer.get("/p/desk/reviews/").text
    held = reviewer.post("/p/desk/reviews/next/", follow=True).text
    for page, letters in ((queue, "n"), (held, "aocmsi")):
        keys = " ".join(re.findall(r'data-key="([^"]*)"', page)).split()
        help_ = page[page.index("data-help ") :]
        assert set(letters) <= {key for key in keys if key.isalpha()}
        assert [key for key in keys if len(key) == 1 and key.isalpha() and f"<kbd>{key}</kbd>" not in help_] == []


def test_review_next_claims_the_oldest_and_opens_it(reviewer: Client, project: Project) -> None:
    first = waiting_review(project)
    waiting_review(project)
    page = reviewer.post("/p/desk/reviews/next/", follow=True)
    first.refresh_from_db()
    assert page.redirect_chain[-1][0] == f"/p/desk/reviews/{first.pk}/"
    assert first.state == ReviewState.CLAIMED
    assert f'value="{first.lease_token}"' in page.text
    assert 'value="No title"' in page.text


def test_review_next_opens_what_one_holds_before_it_claims_more(reviewer: Client, project: Project) -> None:
    waiting_review(project)
    held = claimed_by(reviewer, waiting_review(project))
    page = reviewer.post("/p/desk/reviews/next/", follow=True)
    assert page.redirect_chain[-1][0] == f"/p/desk/reviews/{held.pk}/"
    assert Review.objects.filter(state=ReviewState.CLAIMED).count() == 1


def test_nothing_is_said_to_wait_only_where_nothing_does(reviewer: Client, project: Project) -> None:
    claimed_by(reviewer, waiting_review(project))
    other = Client()
    other.force_login(make_member(project))
    page = other.post("/p/desk/reviews/next/", follow=True).text
    assert "Others hold what is left." in page
    assert "Nothing is waiting" not in page


def test_opening_alone_claims_nothing(reviewer: Client, project: Project) -> None:
    review = waiting_review(project)
    page = reviewer.get(f"/p/desk/reviews/{review.pk}/").text
    review.refresh_from_db()
    assert review.state == ReviewState.WAITING
    assert "Claim and decide" in page
    assert "data-decision" not in page


def test_approving_resumes_the_run_and_goes_on_to_the_next(reviewer: Client, project: Project) -> None:
    review, following = waiting_review(project), waiting_review(project)
    claimed = claimed_by(reviewer, review)
    page = reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", decision(claimed), follow=True)
    review.refresh_from_db()
    assert (review.state, review.decision) == (ReviewState.DECIDED, "approve")
    assert Run.objects.get(pk=review.run_id).state == "queued"
    assert page.redirect_chain[-1][0] == f"/p/desk/reviews/{following.pk}/"
    assert "You agreed with the critic: Pass. The run succeeds." in page.text
    assert f'<a href="/p/desk/runs/{review.run_id}/">Watch the run</a>' in page.text


def test_after_the_last_one_the_queue_says_so(reviewer: Client, project: Project) -> None:
    review = waiting_review(project)
    page = reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", decision(claimed_by(reviewer, review)), follow=True)
    assert page.redirect_chain[-1][0] == "/p/desk/reviews/"
    assert "Nothing is waiting for a review." in page.text


def test_overruling_keeps_verdict_issues_and_reason(reviewer: Client, project: Project) -> None:
    review = waiting_review(project)
    typed = decision(claimed_by(reviewer, review), decision="overrule", verdict="REVISE", score="41", reason="Why")
    reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", typed | issues("Too short", "", "No title"))
    review.refresh_from_db()
    assert review.decided_verdict is not None
    assert (review.decided_verdict.verdict, review.decided_verdict.score) == ("REVISE", 41)
    assert [issue["description"] for issue in review.decided_verdict.issues] == ["Too short", "No title"]
    assert review.decision_reason == "Why"
    run_page = reviewer.get(f"/p/desk/runs/{review.run_id}/").text
    assert "overruled the critic" in run_page
    assert run_page.count("Why") == 1


def test_a_score_left_alone_moves_to_fit_the_verdict(reviewer: Client, project: Project) -> None:
    review = waiting_review(project)
    typed = decision(claimed_by(reviewer, review), decision="overrule", verdict="REJECT", reason="No")
    reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", typed)
    review.refresh_from_db()
    assert review.decided_verdict is not None
    assert review.decided_verdict.score == 29


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"decision": ""}, "Choose agree or overrule."),
        ({"decision": "overrule"}, "Overruling needs a verdict"),
        ({"decision": "overrule", "verdict": "REVISE", "score": "many"}, "A score is a number from 0 to 100."),
        ({"decision": "overrule", "verdict": "REVISE"}, "Say what is to be revised"),
    ],
)
def test_an_unclear_decision_is_refused_with_all_kept(
    reviewer: Client, project: Project, wrong: dict[str, str], said: str
) -> None:
    review = waiting_review(project)
    typed = decision(claimed_by(reviewer, review)) | wrong
    page = reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", typed | issues(""))
    assert page.status_code == 400
    assert said in page.text
    assert f'value="{typed["score"]}"' in page.text
    assert Review.objects.get(pk=review.pk).state == ReviewState.CLAIMED


def test_a_lost_lease_keeps_what_was_typed_and_offers_to_claim_again(reviewer: Client, project: Project) -> None:
    review = claimed_by(reviewer, waiting_review(project))
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    typed = decision(review, decision="overrule", verdict="REVISE", reason="My long reason") | issues("Mine")
    page = reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", typed)
    assert page.status_code == 409
    assert "has run out" in page.text
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
    review = claimed_by(reviewer, waiting_review(project))
    address = f"/p/desk/reviews/{review.pk}/"
    Run.objects.update(prompt_tokens=900, completion_tokens=80, active_s=9)
    assert "2 attempts, 9,020 tokens and 21 s are left." in reviewer.get(address).text
    Run.objects.update(active_s=29)
    assert "1.0 s are left. That may be too little for another attempt." in reviewer.get(address).text
    Run.objects.update(attempts_made=3)
    assert "0 attempts, 9,020 tokens and 1.0 s are left. If you ask for a revision, the run ends." in (
        reviewer.get(address).text
    )


def test_two_tabs_of_one_person_can_both_decide(reviewer: Client, project: Project) -> None:
    review = claimed_by(reviewer, waiting_review(project))
    reviewer.post(f"/p/desk/reviews/{review.pk}/claim/")
    reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", decision(review))
    review.refresh_from_db()
    assert review.state == ReviewState.DECIDED


def test_an_old_tab_gets_the_present_token_of_its_own_user(reviewer: Client, project: Project) -> None:
    old = claimed_by(reviewer, waiting_review(project))
    Review.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    new = claimed_by(reviewer, old)
    page = reviewer.post(f"/p/desk/reviews/{old.pk}/decision/", decision(old, reason="Kept"))
    assert page.status_code == 409
    assert page.text.count("You opened this review in another tab; decide here.") == 1
    assert "What you typed is kept below." in page.text
    assert f'value="{new.lease_token}"' in page.text
    assert "Kept" in page.text


def test_what_somebody_else_decided_is_said_by_whom(reviewer: Client, project: Project) -> None:
    review = claimed_by(reviewer, waiting_review(project))
    reviewer.post(f"/p/desk/reviews/{review.pk}/decision/", decision(review))
    other = Client()
    other.force_login(make_member(project))
    page = other.post(f"/p/desk/reviews/{review.pk}/decision/", decision(review, reason="Mine, late"))
    review.refresh_from_db()
    assert page.status_code == 409
    assert f"{review.decided_by_label} has decided this review already" in page.text
    assert "Mine, late" in page.text


def test_what_somebody_else_holds_cannot_be_claimed(reviewer: Client, project: Project) -> None:
    review = claimed_by(reviewer, waiting_review(project))
    other = Client()
    other.force_login(make_member(project))
    assert "holds this review" in other.get(f"/p/desk/reviews/{review.pk}/").text
    assert str(review.lease_token) not in other.get(f"/p/desk/reviews/{review.pk}/").text
    assert other.post(f"/p/desk/reviews/{review.pk}/claim/").status_code == 409


def test_a_heartbeat_keeps_the_lease_and_says_when_it_is_lost(reviewer: Client, project: Project) -> None:
    review = claimed_by(reviewer, waiting_review(project))
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() + timedelta(seconds=5))
    path = f"/p/desk/reviews/{review.pk}/heartbeat/"
    kept = reviewer.post(path, {"lease_token": str(review.lease_token)})
    review.refresh_from_db()
    assert "Held for you" in kept.text
    assert review.lease_until is not None
    assert review.lease_until > timezone.now() + timedelta(minutes=5)
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=5))
    lost = reviewer.post(path, {"lease_token": str(review.lease_token)})
    assert lost.status_code == 200
    assert "has run out" in lost.text
    assert "hx-post" not in lost.text


def test_giving_back_frees_the_review(reviewer: Client, project: Project) -> None:
    review = claimed_by(reviewer, waiting_review(project))
    reviewer.post(f"/p/desk/reviews/{review.pk}/release/", decision(review))
    review.refresh_from_db()
    assert review.state == ReviewState.WAITING


@pytest.fixture
def rejected(reviewer: Client) -> Review:
    """A review of a REJECT that the reviewer holds, and its run waits for."""
    project = Project.objects.get(slug="desk")
    answers = {
        "attempt-1/answer": "A first text.",
        "attempt-1/critique": critique(10, issues=[{"description": "Three papers only"}]),
        "attempt-2/answer": "A second text.",
        "attempt-2/critique": critique(95, approved=True),
    }
    project.models_by_role = {"default": register_script("rejecting", answers)}
    project.save()
    return claimed_by(reviewer, waiting_review(project))


def test_a_rejected_attempt_offers_three_decisions_and_what_each_causes(reviewer: Client, rejected: Review) -> None:
    page = reviewer.get(f"/p/desk/reviews/{rejected.pk}/").text
    for value in ("redo", "accept", "close"):
        assert f'name="decision" value="{value}"' in page
    assert "goes back with a rewind ticket" in page
    assert 'value="Three papers only"' in page
    assert "Choose “Redo”" in page
    assert "data-overrule" not in page


def test_an_order_to_redo_goes_on_and_says_so(reviewer: Client, rejected: Review) -> None:
    typed = decision(rejected, decision="redo", reason="Find five papers.") | issues("Too narrow a search")
    page = reviewer.post(f"/p/desk/reviews/{rejected.pk}/decision/", typed, follow=True).text
    assert "You ordered it to be done again. The run goes on." in page
    advance(rejected.run_id)
    ticket = Ticket.objects.get(run=rejected.run_id)
    assert ticket.repair_plan[0] == "Find five papers."
    assert [issue["description"] for issue in ticket.issues][1:] == ["Too narrow a search"]
    shown = reviewer.get(f"/p/desk/reviews/{rejected.pk}/").text
    assert "ordered it to be done again" in shown
    assert "Find five papers." in shown
    assert "ordered it to be done again" in reviewer.get(f"/p/desk/runs/{rejected.run_id}/").text


@pytest.mark.parametrize(("chosen", "field"), [("redo", "reason"), ("accept", "reason")])
def test_a_decision_without_its_words_comes_back_with_all_that_was_typed(
    reviewer: Client, rejected: Review, chosen: str, field: str
) -> None:
    typed = decision(rejected, decision=chosen, reason="  ") | issues("Mine <b>")
    answer = reviewer.post(f"/p/desk/reviews/{rejected.pk}/decision/", typed)
    assert answer.status_code == 400
    assert f'id="error-{field}"' in answer.text
    assert 'value="Mine &lt;b&gt;"' in answer.text
    assert answer.text.count("Say w") == 2
    rejected.refresh_from_db()
    assert rejected.state == ReviewState.CLAIMED


def test_accepting_and_closing_end_the_run(reviewer: Client, rejected: Review) -> None:
    typed = decision(rejected, decision="accept", reason="Enough for a draft.")
    page = reviewer.post(f"/p/desk/reviews/{rejected.pk}/decision/", typed, follow=True).text
    assert "You accepted it all the same. The run succeeds." in page
    second = claimed_by(reviewer, waiting_review(rejected.project))
    typed = decision(second, decision="close")
    page = reviewer.post(f"/p/desk/reviews/{second.pk}/decision/", typed, follow=True).text
    assert "You closed it. The run ends as rejected." in page
    assert "closed it as rejected" in reviewer.get(f"/p/desk/reviews/{second.pk}/").text


def test_a_directors_words_survive_a_lost_lease(reviewer: Client, rejected: Review) -> None:
    Review.objects.filter(pk=rejected.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    typed = decision(rejected, decision="redo", reason="Find five papers.")
    page = reviewer.post(f"/p/desk/reviews/{rejected.pk}/decision/", typed)
    assert page.status_code == 409
    assert "You had chosen: <strong>Redo with instructions</strong>" in page.text
    again = reviewer.post(f"/p/desk/reviews/{rejected.pk}/claim/", typed).text
    assert "Find five papers." in again
    assert 'value="redo"' in again
