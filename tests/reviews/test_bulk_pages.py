"""Bulk decisions in the browser: what is chosen, what comes back where it is refused, progress, taking back."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.reviews.bulk import BulkInput, begin_bulk, work_through
from reflection_app.reviews.models import BulkDecision, Review
from tests import given

pytestmark = pytest.mark.django_db(transaction=True)


def address(name: str, project: Project, **more: Any) -> str:
    return reverse(name, kwargs={"slug": project.slug, **more})


def begun(project: Project, reviews: list[Review], **more: Any) -> BulkDecision:
    told = BulkInput.model_validate({"reviews": [review.pk for review in reviews], "decision": "approve"} | more)
    return begin_bulk(project, told, actor=Actor(user=given.member(project)))


def test_what_was_selected_is_decided_together_and_its_progress_shown(client: Client) -> None:
    project = given.unsure_project("bulk-pages")
    reviews = [given.waiting_review(project) for _ in range(2)]
    given.logged_in(client, project, Role.REVIEWER)
    chosen = {"review": [str(review.pk) for review in reviews]}
    form = client.post(address("new_bulk", project), chosen)
    assert form.status_code == 200
    assert "Decide 2 reviews" in form.text
    assert "2 runs wait for their decisions" in form.text

    shown = client.post(address("start_bulk", project), chosen | {"choice": "agree"}, follow=True)
    bulk = BulkDecision.objects.get()
    assert shown.redirect_chain[-1][0] == address("bulk", project, bulk_id=bulk.pk)
    assert "0 of 2 gone through" in shown.text
    work_through(bulk.pk)
    part = client.get(address("bulk", project, bulk_id=bulk.pk), headers={"HX-Request": "true"})
    assert part.text.lstrip().startswith('<div id="bulk-progress">')
    assert "Undo all" in part.text
    assert "Agreed with all" in client.get(address("bulk_list", project)).text


def test_all_of_a_view_are_decided_together_and_no_others(client: Client) -> None:
    project = given.unsure_project("bulk-all")
    writers = [given.waiting_review(project, agent="writer") for _ in range(2)]
    other = given.waiting_review(project, agent="coder")
    given.logged_in(client, project, Role.REVIEWER)
    form = client.post(f"{address('new_bulk', project)}?agent=writer", {"all": "1", "review": str(other.pk)})
    assert "Decide 2 reviews" in form.text
    assert all(f'name="review" value="{review.pk}"' in form.text for review in writers)
    assert str(other.pk) not in form.text


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"choice": "REVISE", "reason": ""}, "Say why"),
        ({"reason": "kept words"}, "Choose"),
        ({"choice": "MAYBE", "reason": "kept words"}, "Choose"),
    ],
)
def test_a_decision_that_says_too_little_comes_back_with_what_was_typed(
    client: Client, typed: dict[str, str], said: str
) -> None:
    project = given.unsure_project("bulk-refused")
    review = given.waiting_review(project)
    given.logged_in(client, project, Role.REVIEWER)
    page = client.post(address("start_bulk", project), {"review": str(review.pk), **typed})
    assert page.status_code == 400
    assert said in page.text
    assert typed.get("reason", "") in page.text
    assert f'name="review" value="{review.pk}"' in page.text
    assert not BulkDecision.objects.exists()


def test_failures_are_listed_and_hostile_titles_and_reasons_do_nothing(client: Client) -> None:
    project = given.unsure_project("bulk-hostile")
    reviews = [given.waiting_review(project, objective=given.HOSTILE)]
    bulk = begun(project, reviews, decision="overrule", verdict="REVISE", reason=given.HOSTILE)
    Review.objects.update(state="withdrawn")
    work_through(bulk.pk)
    given.logged_in(client, project, Role.VIEWER)
    page = client.get(address("bulk", project, bulk_id=bulk.pk)).text
    assert "This review was withdrawn" in page
    assert "<script>alert(1)" not in page
    assert "Undo all" not in page


def test_a_bulk_decision_leads_on_within_the_view_that_it_was_begun_from(client: Client) -> None:
    project = given.unsure_project("bulk-view")
    mine = given.waiting_review(project, agent="writer")
    given.waiting_review(project, agent="coder")
    given.logged_in(client, project, Role.REVIEWER)
    form = client.post(f"{address('new_bulk', project)}?agent=writer", {"all": "1"})
    assert f'action="{address("start_bulk", project)}?queue=agent%3Dwriter"' in form.text
    shown = client.post(
        f"{address('start_bulk', project)}?queue=agent%3Dwriter",
        {"review": str(mine.pk), "choice": "agree"},
        follow=True,
    )
    bulk = BulkDecision.objects.get()
    work_through(bulk.pk)
    done = client.get(shown.redirect_chain[-1][0]).text
    assert f'action="{address("next_review", project)}?queue=agent%3Dwriter"' in done
    assert f'href="{address("reviews", project)}?agent=writer"' in done
    # What was decided is listed, not folded away.
    assert f'href="{address("review", project, review_id=mine.pk)}"' in done
