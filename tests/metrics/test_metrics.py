"""Metrics over REST: what is told, to whom, of which runs, and what is refused."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest

from reflection_app.core.models import Project, Scope
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.definitions import DEFINITIONS, Chosen
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.figuring import figure_due
from reflection_app.runs.models import Run
from tests import given, then
from tests.api.caller import Caller
from tests.metrics.recorded import begin, random_project

pytestmark = pytest.mark.django_db

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


def test_figures_are_those_of_the_period_and_each_has_its_definition() -> None:
    caller = caller_with_runs()
    body = caller.get("metrics", **PERIOD).body
    chosen = Chosen(since=NOON.date() - timedelta(days=1), until=NOON.date())
    found = metrics_of(caller.project.pk, chosen)
    assert {name: told["value"] for name, told in body["figures"].items()} == {
        name: figure.value for name, figure in found.figures.items()
    }
    assert sum(body["mode_usage"].values()) == pytest.approx(1)
    assert len(body["points"]) == 2
    assert body["bars"]["outcomes"] == [{"key": bar.key, "count": bar.count} for bar in found.bars["outcomes"]]
    assert all(isinstance(one["cost_usd"], str) for one in [*body["spend"], *body["dearest_tasks"]])
    defined = {one["name"]: one for one in caller.get("metrics/definitions").body["results"]}
    assert defined.keys() == body["figures"].keys()
    assert all(len(one["definition"]) > 10 for one in defined.values())
    assert len(DEFINITIONS) == len(defined)


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


def test_a_table_has_every_figure_and_no_cell_that_a_spreadsheet_would_carry_out() -> None:
    caller = caller_with_runs(agent='=HYPERLINK("http://evil")')
    answer = caller.get("metrics.csv", **PERIOD)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    lines = list(csv.reader(io.StringIO(answer.body.decode())))
    assert lines[0] == ["what", "name", "key", "start", "value", "unit", "of", "low", "high"]
    figures = {line[1] for line in lines if line[0] == "figure"}
    assert figures == {definition.name for definition in DEFINITIONS}
    agents = [line[2] for line in lines if line[:2] == ["bar", "agents"]]
    assert '\'=HYPERLINK("http://evil")' in agents
    assert not any(cell.startswith(("=", "+", "@")) for line in lines for cell in line)


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("metrics", {"since": "2026-03-05", "until": "2026-03-04"}, "since"),
        ("metrics", {"since": "2025-01-01", "until": "2026-03-04"}, "since"),
        ("metrics", {"since": "yesterday"}, "since"),
        ("metrics", {"until": "0001-01-01"}, "until"),
        ("metrics", {"until": "9999-12-31"}, "until"),
        ("metrics", {"mode": "best"}, "mode"),
        ("metrics", {"agnet": "x"}, "agnet"),
        ("metrics.csv", {"scripted": "maybe"}, "scripted"),
        ("metrics/definitions", {"figure": "runs"}, "figure"),
        ("metrics/runs", {}, "figure"),
        ("metrics/runs", {"figure": "nothing"}, "figure"),
        ("metrics/runs", {"figure": "runs", "key": "maybe"}, "figure"),
        ("metrics/runs", {"figure": "modes", "key": "a\0b"}, "key"),
        ("metrics/runs", {"figure": "runs", "cursor": "x"}, "cursor"),
        ("metrics/runs", {"figure": "runs", "hour": "9"}, "hour"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_its_name(path: str, query: dict[str, str], field: str) -> None:
    answer = given.caller(scopes=READS).get(path, **query)
    then.refused(answer, 400)
    assert field in {error["field"] for error in answer.body["errors"]}
