import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from reflection_app.loops.verdicts import Outcome
from reflection_app.runs.advance import PROVIDER_ASKED
from reflection_app.runs.models import Run, RunState
from tests import given
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db
ACTIVE = re.compile(
    r"<script(?! (?:(?:defer|type=\"module\") )?src=\"/static/)|<[^>]+\son\w+=|href=\"javascript:|<img", re.IGNORECASE
)


def test_every_outcome_is_explained_in_words(client: Client) -> None:
    project = given.scripted_project(
        "ends", {"attempt-1/answer": "A text.", "attempt-1/critique": critique(80, approved=True)}
    )
    run = given.advanced_run(project)
    given.logged_in(client, project)
    for outcome in Outcome:
        Run.objects.filter(pk=run.pk).update(outcome=outcome.value, error="it broke" * (outcome is Outcome.FAILED))
        page = client.get(f"/p/ends/runs/{run.pk}/").text
        explained = re.search(r'<p class="run-explained">(.*?)</p>', page, re.DOTALL)
        assert explained, outcome
        assert explained[1].strip()
        assert ("it broke" in page) is (outcome is Outcome.FAILED)


def test_a_silent_worker_is_told_of(client: Client) -> None:
    project = given.unsure_project("silent")
    run = given.submitted_run(project)
    given.logged_in(client, project)

    def page_with(**changed: Any) -> str:
        Run.objects.update(**changed)
        return client.get(f"/p/silent/runs/{run.pk}/").text

    in_time = timezone.now() + timedelta(seconds=settings.RUN_LEASE_S * 0.8)
    assert "A worker is processing the run." in page_with(state=RunState.RUNNING, lease_until=in_time)
    late = timezone.now() + timedelta(seconds=settings.RUN_LEASE_S * 0.6)
    assert "The worker is not responding; another worker takes over soon." in page_with(lease_until=late)
    gone = page_with(state=RunState.QUEUED, lease_until=None, worker_deaths=1)
    assert "The worker stopped; waiting for another worker." in gone
    due = timezone.now() + timedelta(minutes=1)
    again = page_with(worker_deaths=4, not_before=due)
    assert f"4 workers in a row crashed on this run; waiting until {due:%H:%M:%S} UTC to retry." in again
    asked = page_with(worker_deaths=0, waiting_for=PROVIDER_ASKED)
    assert f"Waiting until {due:%H:%M:%S} UTC, as requested by the model provider. No cost while waiting." in asked


def test_hostile_text_is_inert_everywhere(client: Client) -> None:
    said = critique(
        80,
        approved=True,
        confidence=0.1,
        feedback={"strengths": [given.HOSTILE], "weaknesses": [given.HOSTILE], "suggestions": [given.HOSTILE]},
        issues=[{"description": given.HOSTILE, "suggested_fix": given.HOSTILE}],
    )
    hostile = given.HOSTILE
    text = (
        f"# {hostile}\n\n{hostile}\n\n```{hostile}\n{hostile}\n```\n\n![x](javascript:alert(5)) <javascript:alert(6)>"
    )
    project = given.unsure_project("hostile", text=text, said=said)
    review = given.waiting_review(project, objective=text, external_id=given.HOSTILE)
    given.logged_in(client, project)
    paths = ["", "runs/", f"runs/{review.run_id}/", f"runs/{review.run_id}/steps/1/", "reviews/"]
    for path in (*paths, f"reviews/{review.pk}/"):
        page = client.get(f"/p/hostile/{path}").text
        assert "alert(1)" in page
        # The title that scripts set is quoted, and any quote in it escaped.
        page = re.sub('data-title="[^"]*"', "", page)
        assert not ACTIVE.search(page), (path, ACTIVE.search(page))


def test_hostile_names_of_tests_are_inert(client: Client) -> None:
    project = given.scripted_project("named", {"attempt-1/answer": "def f(x): return x"}, limits={"max_iterations": 1})
    run = given.advanced_run(
        project,
        tests={"entry_point": "f", "cases": [{"name": given.HOSTILE, "args": [given.HOSTILE], "expected": "no"}]},
    )
    page = given.logged_in(client, project).get(f"/p/named/runs/{run.pk}/").text
    assert run.outcome == "exhausted"
    assert "1 of 1 failed" in page
    assert not ACTIVE.search(page)


def test_a_run_is_cancelled_from_its_page_once(client: Client) -> None:
    project = given.unsure_project("cancel")
    run = given.submitted_run(project)
    given.logged_in(client, project)
    assert client.post(f"/p/cancel/runs/{run.pk}/cancel/").status_code == 302
    run.refresh_from_db()
    assert (run.state, run.outcome) == (RunState.FINISHED, "cancelled")
    assert client.post(f"/p/cancel/runs/{run.pk}/cancel/").status_code == 409
