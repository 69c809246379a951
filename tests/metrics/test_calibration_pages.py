"""The page of calibration with its import of labels, read without a browser's help."""

import json
from datetime import UTC, datetime
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from reflection_app.core.models import Project, Role
from reflection_app.metrics.critics import prompts_first_seen
from reflection_app.metrics.models import JudgedItem, JudgementImport
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run, Verdict
from tests import given
from tests.metrics.judged import judged_run
from tests.metrics.judgements import imported, label, labels_of, lines

SPLIT = {"ann": "PASS", "bob": "REVISE"}


def page(client: Client, name: str, *args: object, query: str = "") -> str:
    answer = client.get(reverse(name, args=["desk", *args]) + query)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def uploaded(client: Client, content: bytes) -> str:
    """The page after an upload of this file."""
    file = SimpleUploadedFile("labels.jsonl", content)
    answer = client.post(reverse("import_judgements", args=["desk"]), {"file": file}, follow=True)
    assert [address for address, _status in answer.redirect_chain] == [reverse("calibration", args=["desk"])]
    return unescape(answer.content.decode())


def test_a_file_is_imported_listed_and_deleted(client: Client, project: Project) -> None:
    given.logged_in(client, project, Role.CURATOR)
    told = uploaded(client, lines([label("a"), *labels_of(SPLIT, "b", verdict="REJECT")]))
    assert "labels.jsonl" in told
    delete = reverse("delete_judgements", args=["desk", JudgementImport.objects.get().pk])
    assert delete in told
    client.post(delete)
    assert not JudgedItem.objects.exists()


def test_the_desks_prompts_are_numbered_by_when_they_were_first_decided_about(client: Client, project: Project) -> None:
    for day, prompt in ((20, "b" * 64), (3, "a" * 64), (9, "a" * 64)):
        verdict = judged_run(project)
        Verdict.objects.filter(pk=verdict.pk).update(created_at=datetime(2026, 11, day, tzinfo=UTC))
        Run.objects.filter(pk=verdict.attempt.run_id).update(prompt_versions={"critic_system": prompt})
        Review.objects.create(
            project=project,
            run=verdict.attempt.run,
            attempt=verdict.attempt,
            verdict=verdict,
            step=verdict.step,
            reason="low_confidence",
            holds_run=False,
            state="decided",
            decision="approve",
            decided_at=datetime(2026, 11, day, 1, tzinfo=UTC),
            decided_verdict=verdict,
        )
    assert [(version, f"{first:%m-%d}") for version, first in prompts_first_seen(project.pk).items()] == [
        ("aaaaaa", "11-03"),
        ("bbbbbb", "11-20"),
    ]
    given.logged_in(client, project, Role.VIEWER)
    told = page(client, "calibration", query="?period=custom&since=2026-11-01&until=2026-11-24")
    assert "prompt v1, 2026-11-03" in told
    assert "prompt v2, 2026-11-20" in told


def test_an_item_that_is_a_run_or_an_attempt_links_to_the_run(client: Client, project: Project) -> None:
    attempt = judged_run(project).attempt
    others = judged_run(given.project("elsewhere")).attempt
    for item in (attempt.pk, attempt.run_id, others.pk):
        imported(project, [label(str(item), text="Reviewed items")])
    given.logged_in(client, project, Role.VIEWER)
    told = page(client, "calibration")
    assert told.count(reverse("run", args=["desk", attempt.run_id])) == 2
    assert str(others.run_id) not in told
    assert str(others.pk) in told
    assert "Reviewed items" in told


def test_each_critic_has_its_figures_and_each_cell_leads_to_its_items(client: Client, project: Project) -> None:
    judged = [*[label(f"a{number}") for number in range(6)], *[label(f"b{n}", person="REJECT") for n in range(2)]]
    judged += [label(f"c{number}", verdict="REJECT", person="REJECT") for number in range(4)]
    small = label("a0", model="small", verdict="REVISE", prompt_version="v7")
    imported(project, [*judged, *labels_of(SPLIT, "split"), small])
    given.logged_in(client, project, Role.VIEWER)
    told = page(client, "calibration")
    assert "83 %" in told  # 10 of 12 agree
    assert "0.67" in told  # (10/12 − 1/2) / (1 − 1/2)
    assert "prompt v7" in told
    behind = page(client, "calibration", query="?source=imported&critic=gpt&version=&said=PASS&people=REJECT")
    assert [name for name in ("a0", "b0", "b1", "c0") if f"<bdi>{name}</bdi>" in behind] == ["b0", "b1"]


def test_the_charts_are_figures_that_plotly_takes(client: Client, project: Project) -> None:
    go = pytest.importorskip("plotly.graph_objects")
    imported(project, [label("a", confidence=0.9), label("b", confidence=0.4, person="REJECT")])
    given.logged_in(client, project, Role.VIEWER)
    answer = client.get(reverse("calibration", args=["desk"]))
    charts = {chart.name: chart for chart in answer.context["charts"]}
    assert set(charts) == {"confusion", "reliability"}
    for chart in charts.values():
        figure = json.loads(chart.figure_json)
        go.Figure(figure)
    matrix = charts["confusion"].figure["data"][0]
    assert matrix["z"] == [[0.5, 0, 0.5], [0, 0, 0], [0, 0, 0]]
    assert matrix["customdata"][0][2].endswith("said=PASS&people=REJECT#behind")
    assert matrix["customdata"][1] == ["", "", ""]
    curve = charts["reliability"].figure["data"][1]
    assert (curve["x"], curve["y"]) == ([0.4, 0.9], [0.0, 1.0])
    assert "style-src 'self' 'unsafe-inline'" in answer["Content-Security-Policy"]
    assert "script-src 'self'" in answer["Content-Security-Policy"]
