"""The page of the referee's quality shows what a replay measured, and how to measure where nothing was."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Role
from reflection_app.metrics.models import RefereeMeasurement
from reflection_app.metrics.pages.figures import review_chart, rules_chart
from reflection_app.metrics.referees import RefereeQuality
from tests.factories import make_project
from tests.metrics.test_replay_traces import GOOD_TESTS, ONE_BAD_TEST, RIGHT, WRONG, trace, written
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db

QUALITY = RefereeQuality(
    runs=341,
    first=294,
    last=274,
    best_self_score=287,
    kept=301,
    any=312,
    attempts_recorded=742,
    attempts_used=398,
    review_curve={"0": 0.8827, "10": 0.8974, "5": 0.8944},
)


def test_an_unmeasured_project_says_how_to_measure(client: Client) -> None:
    project = make_project()
    logged_in(client, project, Role.VIEWER)
    page = client.get(f"/p/{project.slug}/metrics/referees/").content.decode()
    assert f"manage.py replay_traces FILE --project {project.slug}" in page


def test_a_replay_is_kept_and_shown(client: Client, tmp_path: Path) -> None:
    project, other = make_project(), make_project(slug="other")
    path = written(tmp_path, trace(ONE_BAD_TEST, RIGHT, WRONG), trace(GOOD_TESTS, WRONG, RIGHT))
    out = StringIO()
    call_command("replay_traces", str(path), project=project.slug, stdout=out, stderr=StringIO())
    row = RefereeMeasurement.objects.get()
    assert (row.project, row.name, row.by_label) == (project, "traces.jsonl", "system")
    assert row.figures == json.loads(out.getvalue())
    assert AuditEntry.objects.filter(action="referee.measured", target_id=row.pk).exists()
    logged_in(client, project, Role.VIEWER)
    page = client.get(f"/p/{project.slug}/metrics/referees/").content.decode()
    assert "2 recorded runs; the loop needed 3 of their 4 attempts." in page
    assert "100 %" in page
    assert "Against keeping the first attempt, 0 runs are gained and 0 lost." in page
    assert "Without a person 0 succeed, of which 0 are right." in page
    assert "which is right is open." in page
    assert "What the confidences are worth" in page
    logged_in(client, other, Role.ADMIN)
    assert "traces.jsonl" not in client.get("/p/other/metrics/referees/").content.decode()


def test_a_project_that_is_none_is_told_before_the_work(tmp_path: Path) -> None:
    path = written(tmp_path, trace(GOOD_TESTS, RIGHT))
    with pytest.raises(CommandError, match="nowhere"):
        call_command("replay_traces", str(path), project="nowhere", stdout=StringIO())


def test_a_measurement_of_before_kinds_were_told_is_still_shown(client: Client) -> None:
    project = make_project()
    older = QUALITY.model_dump(mode="json", exclude={"kinds", "gained", "lost", "succeeded", "succeeded_right"})
    RefereeMeasurement.objects.create(project=project, name="older", figures=older, by_label="system")
    logged_in(client, project, Role.VIEWER)
    page = client.get(f"/p/{project.slug}/metrics/referees/").content.decode()
    assert "341 recorded runs" in page
    assert "Against keeping the first attempt" not in page
    assert "What the confidences are worth" not in page


def test_shares_and_intervals_are_those_of_the_counts() -> None:
    rules = rules_chart(QUALITY)
    kept = next(row for row in rules.rows if row[0].text == "The referee's")
    # Wilson's interval of 301 of 341, computed by hand: (.8441, .9126).
    assert [cell.text for cell in kept[1:]] == ["301", "88 %", "84 % to 91 %"]
    assert [row[0].text for row in review_chart(QUALITY).rows] == ["0 %", "5 %", "10 %"]


def test_charts_are_figures_that_plotly_reads() -> None:
    import plotly.graph_objects

    for chart in (rules_chart(QUALITY), review_chart(QUALITY)):
        data = [{name: value for name, value in trace.items() if name != "meta"} for trace in chart.figure["data"]]
        plotly.graph_objects.Figure(data=data, layout=chart.figure["layout"])
