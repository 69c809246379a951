"""The pages of calibration and of judgements from elsewhere, read without a browser's help."""

import json
from datetime import UTC, datetime
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from reflection_app.core.models import Project, Role
from reflection_app.metrics.critics import prompts_first_seen
from reflection_app.metrics.models import CriticJudgement, JudgedItem, JudgementImport
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run, Verdict
from tests.factories import make_project
from tests.metrics.judged import judged_run
from tests.metrics.judgements import imported, lines, row
from tests.web.stories import HOSTILE, logged_in

SPLIT = {"ann": "PASS", "bob": "REVISE"}


@pytest.fixture
def project(db: None) -> Project:
    return make_project("calibrated")


def page(client: Client, name: str, *args: object, query: str = "") -> str:
    answer = client.get(reverse(name, args=["calibrated", *args]) + query)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_an_empty_project_is_told_what_would_fill_the_page(client: Client, project: Project) -> None:
    logged_in(client, project, Role.VIEWER)
    told = page(client, "calibration")
    assert "No critic's verdict has been compared" in told
    assert reverse("import_judgements", args=["calibrated"]) not in told
    assert "No judgements from elsewhere" in page(client, "judged_items")


def test_a_file_is_shown_first_and_imported_then(client: Client, project: Project) -> None:
    logged_in(client, project, Role.CURATOR)
    content = lines([row("a"), row("b", verdict="REJECT", people=SPLIT), row("c", verdict="garbage")])
    sent = client.post(
        reverse("import_judgements", args=["calibrated"]), {"file": SimpleUploadedFile("labels.jsonl", content)}
    )
    assert sent.status_code == 302
    shown = unescape(client.get(sent["Location"]).content.decode())
    assert "labels.jsonl" in shown
    assert "line 3" in shown
    assert "Input should be 'PASS', 'REVISE' or 'REJECT'" in shown
    assert "people have no majority" in shown
    assert "Import 2 judgements" in shown
    assert not JudgedItem.objects.exists()
    done = JudgementImport.objects.get()
    apply = reverse("apply_judgements", args=["calibrated", done.pk])
    assert client.get(apply).status_code == 302
    assert client.post(apply)["Location"] == sent["Location"]
    assert "2 added, 0 changed, 0 there already, 1 refused" in page(client, "judgements_shown", done.pk)
    assert CriticJudgement.objects.count() == 2


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
    logged_in(client, project, Role.VIEWER)
    told = page(client, "calibration", query="?period=custom&since=2026-11-01&until=2026-11-24")
    assert "prompt v1, 2026-11-03" in told
    assert "prompt v2, 2026-11-20" in told


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_without_rows_is_refused(client: Client, project: Project, content: bytes) -> None:
    logged_in(client, project, Role.CURATOR)
    sent = client.post(
        reverse("import_judgements", args=["calibrated"]), {"file": SimpleUploadedFile("labels.jsonl", content)}
    )
    assert sent.status_code == 400
    assert "Nothing was imported." in sent.content.decode()
    assert client.post(reverse("import_judgements", args=["calibrated"])).status_code == 400


def test_only_curators_import(client: Client, project: Project) -> None:
    logged_in(client, project, Role.REVIEWER)
    assert client.get(reverse("import_judgements", args=["calibrated"])).status_code == 403


def test_each_critic_has_its_figures_and_each_cell_leads_to_its_items(client: Client, project: Project) -> None:
    imported(
        project,
        [
            *[row(f"a{number}", confidence=0.9) for number in range(6)],
            *[row(f"b{number}", people={"ann": "REJECT"}, confidence=0.8) for number in range(2)],
            *[row(f"c{number}", verdict="REJECT", people={"ann": "REJECT"}) for number in range(4)],
            row("split", people=SPLIT),
            row("a0", model="small", verdict="REVISE", people={}, prompt_version="v7"),
        ],
    )
    logged_in(client, project, Role.VIEWER)
    told = page(client, "calibration")
    assert "1 imported item is left out: people have no majority there." in told
    assert "12 imported judgements" in told
    assert "83 %" in told  # 10 of 12 agree
    assert "0.67" in told  # (10/12 − 1/2) / (1 − 1/2)
    assert "prompt v7" in told
    cell = "said=PASS&people=REJECT#behind"
    assert cell in told
    behind = page(client, "calibration", query="?source=imported&critic=gpt&version=&said=PASS&people=REJECT")
    assert "The critic said Pass, people said Reject" in behind
    items = {
        item.external_id: reverse("judged_item", args=["calibrated", item.pk]) for item in JudgedItem.objects.all()
    }
    assert {name for name, href in items.items() if href in behind} == {"b0", "b1"}
    other = page(client, "calibration", query="?source=imported&critic=small&version=v7")
    assert "1 imported judgement, compared" in other
    assert "The critic gave no confidence" in other


def test_an_address_that_names_nothing_shows_the_critic_of_which_most_is_known(
    client: Client, project: Project
) -> None:
    imported(project, [row("a")])
    logged_in(client, project, Role.VIEWER)
    for query in ("?source=desk&critic=gpt", "?critic=%00&said=nonsense", "?since=x&until=y", "?said=PASS&people=PASS"):
        assert "1 imported judgement" in page(client, "calibration", query=query)


def test_an_item_shows_what_was_said_of_it_and_hostile_words_stay_words(client: Client, project: Project) -> None:
    imported(
        project,
        [
            row(
                HOSTILE[:190],
                model=HOSTILE[:190],
                prompt_version=HOSTILE[:40],
                people={HOSTILE[:190]: "PASS"},
                content=HOSTILE,
            )
        ],
    )
    logged_in(client, project, Role.VIEWER)
    item = JudgedItem.objects.get()
    for name, args in (("judged_item", (item.pk,)), ("judged_items", ()), ("calibration", ())):
        answer = client.get(reverse(name, args=["calibrated", *args]))
        assert answer.status_code == 200
        assert b"<script>alert" not in answer.content
        assert b"<img src=x" not in answer.content
    assert "The majority counts:" in page(client, "judged_item", item.pk)
    other = make_project("elsewhere")
    assert client.get(reverse("judged_item", args=[other.slug, item.pk])).status_code == 404


def test_the_charts_are_figures_that_plotly_takes(client: Client, project: Project) -> None:
    go = pytest.importorskip("plotly.graph_objects")
    imported(project, [row("a", confidence=0.9), row("b", confidence=0.4, people={"ann": "REJECT"})])
    logged_in(client, project, Role.VIEWER)
    answer = client.get(reverse("calibration", args=["calibrated"]))
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
