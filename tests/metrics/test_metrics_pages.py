"""The pages of metrics: the choice in the address, what each figure leads to, files, and projects with nothing yet."""

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import plotly.graph_objects as plotly
import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.models import Project, Scope
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.figuring import figure_due
from reflection_app.metrics.models import RunFigure
from reflection_app.metrics.views.charts import Chart
from reflection_app.runs.models import Run
from tests import given, then
from tests.api.caller import Caller
from tests.metrics.metric_rows import fill
from tests.metrics.recorded import begin, random_project

pytestmark = pytest.mark.django_db

FIGURE = re.compile(r"data-chart='([^']*)'")


def charts_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(found) for found in FIGURE.findall(text)]


def drawn_charts(client: Client, project: Project) -> dict[str, Chart]:
    sections = client.get(address(project)).context["sections"]
    return {chart.name: chart for section in sections for chart in section.charts if chart.rows and not chart.lone}


def address(project: Project, rest: str = "") -> str:
    return f"/p/{project.slug}/metrics/{rest}"


def test_every_chart_is_one_that_plotly_itself_accepts(client: Client, project: Project) -> None:
    fill(project, runs=40)
    page = given.logged_in(client, project).get(address(project)).text
    found = charts_of(page)
    assert len(found) >= 10
    for one in found:
        drawn = plotly.Figure(one)
        assert [trace.type for trace in drawn.data]


def test_each_bar_leads_to_as_many_runs_as_it_is_long(client: Client, project: Project) -> None:
    fill(project, runs=20)
    given.logged_in(client, project)
    (trace,) = drawn_charts(client, project)["outcomes"].figure["data"]
    lengths = trace["x"] if trace["orientation"] == "h" else trace["y"]
    for length, href in zip(lengths, trace["customdata"], strict=True):
        if href:
            assert client.get(href).context["behind"].runs.count() == length, href


def test_addresses_are_in_the_table_alone_and_each_point_has_the_place_of_its_link(
    client: Client, project: Project
) -> None:
    fill(project, runs=40)
    given.logged_in(client, project)
    for chart in drawn_charts(client, project).values():
        links = [cell.href for row in chart.rows for cell in row if cell.href]
        assert "/runs/" not in chart.figure_json
        for trace, placed in zip(chart.figure["data"], json.loads(chart.figure_json)["data"], strict=True):
            leads = ["" if place is None else links[place] for place in placed["customdata"]]
            assert leads == trace["customdata"], chart.name
            assert any(leads), chart.name


def test_every_headline_leads_to_its_runs_and_those_to_their_parts(client: Client, project: Project) -> None:
    figures = fill(project, runs=50, days=5)
    given.logged_in(client, project)
    page = client.get(address(project))
    shown = {figure.name: figure for figure in page.context["all_figures"]}
    rate = shown["success_rate_with_reflection"]
    assert rate.of == "50"
    behind = client.get(rate.href)
    assert behind.context["behind"].runs.count() == 50
    assert "Runs for “Success with reflection”" in behind.text
    succeeded = {figure.run_id for figure in figures if figure.enabled_succeeded}
    parts = {part.words: part.query for part in behind.context["behind"].parts}
    did = client.get(f"/p/desk/runs/?{parts['Matching']}").context["behind"].runs
    assert {run.pk for run in did} == succeeded
    did_not = client.get(f"/p/desk/runs/?{parts['Not matching']}").context["behind"].runs
    assert {run.pk for run in did_not} == {figure.run_id for figure in figures} - succeeded


def test_all_runs_of_a_task_are_behind_its_bar_and_another_projects_task_has_none(
    client: Client, project: Project
) -> None:
    task = fill(project, runs=8)[0].task_id
    given.logged_in(client, project)
    assert client.get(f"/p/desk/runs/?figure=task&key={task}").context["behind"].runs.count() == 9
    other = fill(given.project("other"), runs=1)[0].task_id
    assert client.get(f"/p/desk/runs/?figure=task&key={other}").context["behind"].runs.count() == 0
    assert client.get("/p/desk/runs/?figure=task&key=x").context["behind"].runs.count() == 0


def test_filters_and_days_are_in_the_address_and_in_every_link(client: Client, project: Project) -> None:
    fill(project, runs=90)
    given.logged_in(client, project)
    page = client.get(address(project, "?agent=docs-writer&mode=planning&period=90d"))
    chosen = page.context["asked"].chosen
    assert (chosen.agent, chosen.mode, chosen.days) == ("docs-writer", "planning", 90)
    counted = RunFigure.objects.filter(agent="docs-writer", mode="planning").count()
    assert page.context["metrics"].figures["runs"].value == counted > 0
    (figure,) = [one for one in page.context["all_figures"] if one.name == "runs"]
    assert client.get(figure.href).context["behind"].runs.count() == counted
    assert "?period=7d&amp;agent=docs-writer&amp;mode=planning" in page.text


@pytest.mark.parametrize("rest", ["", "reviews/"])
def test_nothing_in_an_address_breaks_a_page(client: Client, project: Project, rest: str) -> None:
    given.logged_in(client, project)
    for query in ("agent=%00", f"mode=x&kind=%F0%9F%A6%8A&model={'m' * 5000}", "period=never&scripted=yes"):
        assert client.get(address(project, f"{rest}?{query}")).status_code == 200, query
    page = client.get(address(project, f"{rest}?since=2026-03-02&until=2026-03-01"))
    assert page.context["asked"].chosen.days == 30, "the usual time, where the days are none"


def test_names_by_agents_are_shown_to_the_letter(client: Client, project: Project) -> None:
    fill(project, runs=5, agent=given.HOSTILE[:60])
    fill(project, runs=5, agent="other", seed=3)
    page = given.logged_in(client, project).get(address(project)).text
    assert "<script>alert" not in page
    texts = json.dumps(charts_of(page))
    # Plotly reads its texts as HTML of its own.
    assert "<script" not in texts
    assert "&lt;script" in texts


def test_scripts_are_as_strict_as_everywhere(client: Client, project: Project) -> None:
    policy = given.logged_in(client, project).get(address(project)).headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "style-src 'self' 'unsafe-inline'" in policy
    elsewhere = client.get("/p/desk/runs/").headers["Content-Security-Policy"]
    assert "unsafe-inline" not in elsewhere


def test_the_script_is_served_and_no_other_file_of_its_package(client: Client, project: Project) -> None:
    page = given.logged_in(client, project).get(address(project)).text
    found = re.search(r'data-plotly="([^"]+)"', page)
    assert found is not None
    script = client.get(found[1])
    script.close()
    assert script.status_code == 200
    assert client.get(found[1].replace("plotly.min.js", "widgetbundle.js")).status_code == 404


def test_what_to_do_next_is_told_where_there_is_nothing(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    fill(project, runs=3, days=2, is_scripted=True)
    Run.objects.filter(project=project, state="finished").update(is_scripted=True)
    assert "?scripted=1" in client.get(address(project)).text
    assert client.get(address(project, "?scripted=1")).context["metrics"].figures["runs"].value == 3
    fill(project, runs=3, days=2)
    for query in ("?agent=nobody", "?since=2020-01-01&until=2020-02-01"):
        assert '<section class="empty' in client.get(address(project, query)).text


def test_the_files_have_the_figures_of_the_page(client: Client, project: Project) -> None:
    fill(project, runs=30, agent="=1+1")
    fill(project, runs=3, agent="b", seed=5)
    given.logged_in(client, project)
    answer = client.get(address(project, "runs.csv?period=90d"))
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="metrics-runs-desk-')
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    (runs,) = [line for line in lines if line["what"] == "figure" and line["name"] == "runs"]
    assert float(runs["value"]) == 33
    # No spreadsheet takes a name for a formula.
    assert {line["key"] for line in lines if line["name"] == "agents"} == {"'=1+1", "b"}
    assert client.get(address(project, "runs.xls")).status_code == 404
    assert client.get(address(project, "others.csv")).status_code == 404


def test_reviews_have_their_page_and_files(client: Client) -> None:
    review = given.waiting_review(given.unsure_project("reviewed"))
    project = review.project
    given.logged_in(client, project)
    page = client.get(address(project, "reviews/?scripted=1"))
    values = {figure.name: figure.value for figure in page.context["headline"]}
    assert (values["queue_length"], values["decided"], values["overrule_rate"]) == ("1", "0", "–")
    (ages,) = [one for one in page.context["charts"] if one.name == "ages"]
    assert [cell.text for cell in ages.rows[0]] == ["up to 1 h", "1", "100 %"]
    review.decided_at = timezone.now()
    review.decision, review.state, review.decided_by_label = "overrule", "decided", "Ann <b>"
    review.save()
    page = client.get(address(project, "reviews/?scripted=1"))
    charts = {chart.name: chart for chart in page.context["charts"]}
    assert [cell.text for cell in charts["reviewers"].rows[0]] == ["Ann <b>", "1", "1", "100 %", "21–100 %"]
    assert "<b>" not in page.text.split("</head>")[1].split("<main")[1]
    for name in ("reviewers", "reasons", "decision-time", "overruled"):
        cells = [cell for row in charts[name].rows for cell in row if cell.href]
        assert cells
        assert [run.pk for run in client.get(cells[0].href).context["behind"].runs] == [review.run_id]
        plotly.Figure(charts[name].figure)
    assert "overrule_rate,Ann <b>" in client.get(address(project, "reviews.csv?scripted=1")).text


def test_the_overview_says_how_the_last_week_went(client: Client, project: Project) -> None:
    given.logged_in(client, project)
    assert client.get("/p/desk/").context["figures"] == []
    fill(project, runs=20, days=7)
    page = client.get("/p/desk/")
    rate = page.context["figures"][0]
    assert (rate.name, rate.of) == ("success_rate_with_reflection", "20")
    assert client.get(rate.href).context["behind"].runs.count() == 20
    assert 'href="/p/desk/metrics/?period=7d"' in page.text


# Metrics over REST: what is told, to whom, of which runs, and what is refused.


NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
PERIOD = {"since": "2026-03-03", "until": "2026-03-04"}
READS = [Scope.METRICS_READ.value]


def caller_with_runs(*, runs: int = 20, agent: str = "") -> Caller:
    caller = given.caller(scopes=READS)
    random_project(caller.project, runs=runs, seed=runs, until=NOON, days=2)
    ended(caller.project, agent=agent)
    figure_due()
    return caller


def ended(project: Project, *, agent: str, outcome: Outcome = Outcome.FAILED, at: datetime = NOON) -> Run:
    return begin(project, agent=agent).end(outcome, kept=None, at=at)


def test_without_a_period_it_is_the_last_thirty_days() -> None:
    caller = given.caller(scopes=READS)
    today = datetime.now(UTC)
    ended(caller.project, agent="", at=today)
    ended(caller.project, agent="", at=today - timedelta(days=30))
    figure_due()
    body = caller.get("metrics").body
    assert (body["figures"]["runs"]["value"], body["before"]["runs"]["value"]) == (1, 1)
    assert (body["chosen"]["until"], len(body["points"])) == (today.date().isoformat(), 30)


def test_the_runs_behind_a_figure_are_told_page_by_page_and_without_what_they_wrote() -> None:
    caller = caller_with_runs(runs=30)
    counted = caller.get("metrics", **PERIOD).body["figures"]["runs"]["value"]
    page = caller.get("metrics/runs", figure="runs", limit="5", **PERIOD).body
    seen = [one["id"] for one in page["results"]]
    while page["next"]:
        page = caller.get(page["next"]).body
        seen += [one["id"] for one in page["results"]]
    assert len(seen) == len(set(seen)) == counted > 5
    assert page["results"][0].keys() == {
        *("id", "task_id", "mode", "state", "outcome", "attempts", "created_at", "finished_at")
    }
    failed = caller.get("metrics/runs", figure="outcomes", key="failed", **PERIOD).body["results"]
    assert {one["outcome"] for one in failed} == {"failed"}
    assert caller.get("metrics/runs", figure="queue_length", **PERIOD).body["results"] == []


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("metrics", {"since": "2026-03-05", "until": "2026-03-04"}, "since"),
        ("metrics", {"since": "2025-01-01", "until": "2026-03-04"}, "since"),
        ("metrics", {"since": "yesterday"}, "since"),
        ("metrics", {"until": "0001-01-01"}, "until"),
        ("metrics", {"until": "9999-12-31"}, "until"),
        ("metrics/runs", {"figure": "nothing"}, "figure"),
        ("metrics/runs", {"figure": "modes", "key": "a\0b"}, "key"),
        ("metrics/runs", {"figure": "runs", "cursor": "x"}, "cursor"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_its_name(path: str, query: dict[str, str], field: str) -> None:
    answer = given.caller(scopes=READS).get(path, **query)
    then.refused(answer, 400)
    assert field in {error["field"] for error in answer.body["errors"]}
