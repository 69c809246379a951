"""The list of runs in the browser: filters and orders by its address, page by page."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.web import list_pages
from tests import given

pytestmark = pytest.mark.django_db
LIST = "/p/listed/runs/"


@pytest.fixture
def project() -> Project:
    return given.project("listed")


def run_of(project: Project, name: str, *, days_ago: int = 0, cost: str = "0", **task: Any) -> Run:
    run = given.submitted_run(project, objective=name, **task)
    run.created_at -= timedelta(days=days_ago)
    Run.objects.filter(pk=run.pk).update(created_at=run.created_at, cost_usd=cost)
    return run


def names(client: Client, query: str = "") -> list[str]:
    page = client.get(f"{LIST}?{query}")
    assert page.status_code == 200
    return [run.task.objective for run in page.context["runs"]]


def test_runs_are_found_by_agent_kind_and_days(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    old = run_of(project, "Old", days_ago=5, agent="Porter", kind="creative_writing")
    run_of(project, "New", agent="clerk", kind="creative_writing")
    day = old.created_at.date().isoformat()
    assert names(client, "agent=porter") == ["Old"]
    assert names(client, f"until={day}") == ["Old"]
    assert names(client, f"since={day}&until={day}") == ["Old"]
    assert names(client, "kind=creative_writing") == ["New", "Old"]
    assert names(client, "score_from=1") == []
    # What cannot be understood is no filter.
    assert names(client, "since=2026-13-99&score_from=-1e999&sort=prettiest") == ["New", "Old"]
    assert 'value="porter"' in client.get(f"{LIST}?agent=porter").text


def test_heads_sort_both_ways_and_keep_the_filters(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    for name, cost in (("Cheap", "0.01"), ("Dear", "0.90"), ("Middle", "0.30")):
        run_of(project, name, cost=cost, agent="clerk")
    assert names(client, "sort=-cost") == ["Dear", "Middle", "Cheap"]
    assert names(client, "sort=cost") == ["Cheap", "Middle", "Dear"]
    page = client.get(f"{LIST}?sort=-cost&agent=clerk").text
    assert "agent=clerk&amp;sort=cost" in page
    assert 'aria-sort="descending"' in page


def test_pages_follow_each_other_in_any_order(
    client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_pages, "PAGE", 2)
    given.logged_in(client, project)
    for number, cost in enumerate(("0.3", "0.1", "0.3")):
        run_of(project, f"Run {number}", cost=cost)
    for sort in ("", "created", "-cost", "-score", "duration"):
        first = client.get(f"{LIST}?sort={sort}")
        seen = [run.task.objective for run in first.context["runs"]]
        last = client.get(f"{LIST}?sort={sort}&before={first.context['older']}")
        seen += [run.task.objective for run in last.context["runs"]]
        assert (len(set(seen)), last.context["older"]) == (3, None), sort
