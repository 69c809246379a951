"""Estimates, reasons and second looks on the run page, and what was bought on the project's page."""

import re

import pytest
from django.test import Client

from reflection_app.runs import advance as advancing
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.repairs.completeness import planned_run, reading_project, supplemented
from tests.repairs.past_supplements import past_supplement
from tests.repairs.test_completeness_pages import page_of, project_page
from tests.repairs.test_worth_run import FIRST_AGAIN, INCOMPLETE_STILL, TWO
from tests.runs.test_crashes import Killed, killing_after

pytestmark = pytest.mark.django_db(transaction=True)


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def with_history() -> Run:
    project = reading_project(completeness={"least_worth": 0.15})
    for _ in range(6):
        past_supplement(project, tokens=1_400)
    for _ in range(40):
        past_supplement(project, FIRST_AGAIN["operation"], completed=False, tokens=9_000)
    return supplemented(project, TWO)


def test_a_supplement_is_shown_with_its_estimate_beside_what_it_came_to(client: Client) -> None:
    page = text_of(page_of(client, with_history()))
    assert "usually 1,400 tokens (1,400–1,400)" in page
    assert "worth 88 % (61 % to 100 %): completed 6 of 6" in page
    assert "Estimate: 1,400 tokens, worth 88 %" in page
    assert "cost by 6 before it: the same supplement in tasks of this kind" in page
    assert "completed 6 of 6 · the same supplement in tasks of this kind" in page


def test_what_was_left_out_for_its_worth_says_why_with_its_estimate(client: Client) -> None:
    page = text_of(page_of(client, with_history()))
    assert "1 suggestion left out" in page
    assert "It turns at most 9 % of such runs complete, by 40 runs; the line is 15 %." in page
    assert "usually 9,000 tokens" in page


def test_without_a_history_it_says_that_nothing_is_known(client: Client) -> None:
    page = text_of(page_of(client, supplemented(reading_project(completeness={"look_again": False}))))
    assert "worth 50 %, as long as nothing is known" in page
    assert "Looked at again" not in page


def test_a_second_look_is_told_with_what_it_found(client: Client) -> None:
    page = text_of(page_of(client, supplemented(reading_project())))
    assert "Looked at again" in page
    assert "两个文件都读了" in page
    assert "With the check itself:" in page
    still = text_of(page_of(client, supplemented(reading_project(), INCOMPLETE_STILL)))
    assert "颜色是否相同" in still
    assert "completed by supplement" not in still
    failed = {f"attempt-1/second-look/completeness{again}": "er" for again in ("", "/again-1", "/again-2")}
    unknown = text_of(page_of(client, supplemented(reading_project(), failed)))
    assert "The second look failed, so nobody said that nothing is missing any more." in unknown


def test_a_second_look_under_way_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run = planned_run(reading_project())
    with monkeypatch.context() as patched:
        # Plan, arguments, call; check, likeness, estimates; plan, arguments, call; and the second look.
        killing_after(10, patched, advancing, "perform")
        with pytest.raises(Killed):
            advance(run.pk)
    run.refresh_from_db()
    page = text_of(page_of(client, run))
    assert "A model looks once more whether anything is missing." in page
    assert "completed by supplement" not in page


def test_the_projects_page_tells_what_was_spent_what_it_bought_and_what_was_left_out(client: Client) -> None:
    run = with_history()
    page = text_of(project_page(client, run))
    assert "What was spent, and what it bought" in page
    assert re.search(r"Runs turned complete 13 % 6 of 47 with supplements", page)
    assert re.search(r"Cost of a run turned complete \$0\.0\d+ \$", page)
    assert "worth less than the line" in page
    assert "How true the estimates were" not in page, "one estimate is too few"


def test_the_projects_page_tells_how_true_the_estimates_were(client: Client) -> None:
    project = reading_project()
    runs = [supplemented(project) for _ in range(7)]
    page = text_of(project_page(client, runs[0]))
    assert "Came to, of what was estimated" in page
    assert re.search(r"of \d supplements; a half would be true", page)
