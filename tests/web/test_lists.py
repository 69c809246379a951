from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from reflection_app.runs.models import Run
from tests import given

pytestmark = pytest.mark.django_db


def test_runs_are_filtered_and_searched_by_the_address(client: Client) -> None:
    project = given.project("many")
    given.submitted_run(project, objective="Write a haiku", external_id="EXT-7")
    given.submitted_run(project, objective="Write a limerick", mode="external_loop", tests={"script": "assert 1"})
    given.logged_in(client, project)

    def shown(query: str) -> list[str]:
        return [run.task.objective for run in client.get(f"/p/many/runs/?{query}").context["runs"]]

    assert shown("") == ["Write a limerick", "Write a haiku"]
    assert shown("q=ext-7") == ["Write a haiku"]
    assert shown("mode=external_loop") == ["Write a limerick"]
    assert shown("status=queued&q=haiku") == ["Write a haiku"]
    assert shown("status=succeeded") == []
    assert shown("status=__all__&mode=%27%3B--&before=nonsense") == ["Write a limerick", "Write a haiku"]
    assert shown("q=%00") == []


def test_older_runs_follow_page_by_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reflection_app.web.list_pages.PAGE", 2)
    project = given.project("paged")
    for number in range(5):
        given.submitted_run(project, objective=f"Task {number}")
    given.logged_in(client, project)
    seen, before = [], ""
    while True:
        context = client.get(f"/p/paged/runs/?before={before}").context
        seen += [run.task.objective for run in context["runs"]]
        if context["older"] is None:
            break
        before = context["older"]
    assert seen == [f"Task {number}" for number in range(4, -1, -1)]


def test_another_projects_run_is_as_good_as_none(client: Client) -> None:
    mine, other = given.project("mine"), given.project("others")
    given.submitted_run(mine, objective="Mine")
    foreign = given.submitted_run(other, objective="Foreign")
    Run.objects.filter(pk=foreign.pk).update(created_at=timezone.now() - timedelta(days=1))
    given.logged_in(client, mine)
    for before in (foreign.pk, uuid4()):
        assert "Mine" in client.get(f"/p/mine/runs/?before={before}").text


def test_htmx_gets_the_same_results_without_the_page_around(client: Client) -> None:
    project = given.project("swap")
    given.submitted_run(project, objective="Write a haiku")
    given.logged_in(client, project)
    part = client.get("/p/swap/runs/", headers={"HX-Request": "true"}).text
    assert "Write a haiku" in part
    assert "<html" not in part
    assert part.strip() in client.get("/p/swap/runs/").text
    restored = client.get("/p/swap/runs/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in restored.text


def test_a_list_asks_as_often_for_twelve_rows_as_for_two(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    project = given.unsure_project("counted")
    given.logged_in(client, project)
    most = {}
    for _ in range(2):
        given.waiting_review(project)
    for path, ceiling in {"": 15, "runs/": 10, "reviews/": 14}.items():
        client.get(f"/p/counted/{path}")
        with django_assert_max_num_queries(ceiling) as few:
            client.get(f"/p/counted/{path}")
        most[path] = len(few)
    for _ in range(10):
        given.waiting_review(project)
    for path, few_queries in most.items():
        with django_assert_max_num_queries(few_queries):
            client.get(f"/p/counted/{path}")


def test_what_changes_in_the_navigation_comes_in_one_small_answer(client: Client) -> None:
    project = given.unsure_project("counting")
    given.logged_in(client, project)
    assert 'class="count' not in client.get("/p/counting/navigation/", headers={"HX-Request": "true"}).text
    given.waiting_review(project)
    answer = client.get("/p/counting/navigation/", headers={"HX-Request": "true"}).text
    assert '[data-news=reviews]"><span class="count">1<' in answer
    assert len(answer) < 1_000
