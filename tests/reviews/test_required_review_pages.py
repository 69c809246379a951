"""The page of a required review shows its reason and the effect of each decision."""

from typing import Any

import pytest
from django.test import Client

from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.factories import make_project
from tests.runs.critiques import critique
from tests.runs.scripts import scripted_run
from tests.web.stories import claimed_by

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project() -> Project:
    return make_project("req", review_policy={"audit_share": 0})


def claimed(reviewer: Client, project: Project, said: str, **submission: Any) -> Review:
    answers = {"attempt-1/answer": "A haiku.", "attempt-1/critique": said}
    run = scripted_run(answers, project=project, mode="actor_critic", review="required", **submission)
    advance(run.pk)
    return claimed_by(reviewer, Review.objects.get(run=run))


def page_of(reviewer: Client, review: Review) -> str:
    return reviewer.get(f"/p/req/reviews/{review.pk}/").text


def test_the_page_names_the_task_as_the_reason(reviewer: Client, project: Project) -> None:
    page = page_of(reviewer, claimed(reviewer, project, critique(90, approved=True)))
    assert "The task requires a review" in page
    assert "The run waits for it." in page
    assert "The attempt is accepted and the run succeeds." in page
    assert "attempt 2 is made from the issues" in page


def test_at_the_end_of_a_run_the_page_says_that_no_attempt_can_follow(reviewer: Client, project: Project) -> None:
    review = claimed(reviewer, project, critique(45), limits={"max_iterations": 1})
    assert "No attempt can follow: the run ends, and keeps the best that it has." in page_of(reviewer, review)


def test_an_unjudged_attempt_can_be_kept(reviewer: Client, project: Project) -> None:
    review = claimed(reviewer, project, "no verdict")
    page = page_of(reviewer, review)
    assert "Nothing has judged attempt 1." in page
    assert "The tests were written by a model" not in page
    assert "The policy has a person pick" not in page
    typed = {"lease_token": str(review.lease_token), "pressed": "", "pick": "1", "reason": ""}
    assert reviewer.post(f"/p/req/reviews/{review.pk}/decision/", typed).status_code == 302
    advance(review.run_id)
    run = Run.objects.get(pk=review.run_id)
    assert run.outcome == "succeeded"
    page = reviewer.get(f"/p/req/runs/{run.pk}/").text
    assert "Not judged" in page
    assert "No verdict" in page
