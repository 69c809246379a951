"""What a model saw, on the run's page: the pages as they were shown to it, with a box around what it found."""

import re

import pytest
from django.test import Client

from reflection_app.attachments.models import Attachment, RenderedPage
from reflection_app.core.models import Role
from reflection_app.runs.models import Run
from tests.factories import make_member, make_project
from tests.pictures import pdf, png
from tests.repairs.looked import CHART, eyes, looked_check, looking_project, seen
from tests.web.stories import HOSTILE, logged_in

pytestmark = pytest.mark.django_db(transaction=True)

REPORT = pdf("Sales per region", "Legend")
FINDINGS = [
    {
        "what": f"No legend. {HOSTILE}",
        "severity": "high",
        "picture": 2,
        "box": {"x": 0.5, "y": 0.25, "width": 0.25, "height": 0.5},
        "confidence": 0.9,
    },
    {"what": "Small letters.", "severity": "low", "picture": 1, "box": None, "confidence": 0.4},
]


def page_of(client: Client, run: Run) -> str:
    return logged_in(client, run.project).get(f"/p/{run.project.slug}/runs/{run.pk}/").text


def test_the_page_shows_what_was_seen_with_the_place_of_each_finding(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = lambda asked: seen(asked, holds="no", findings=FINDINGS, saw=f"A chart. {HOSTILE}")  # noqa: E731
    with eyes("openai", reply, monkeypatch) as model:
        run = looked_check(looking_project(model.model), {"report.pdf": REPORT})
    page = page_of(client, run)
    told = " ".join(page.split())
    assert "A model looked at 2 of 2 pages:" in told
    assert f"report.pdf: {CHART}" in told, "it is among what is missing"
    assert "90 % sure" in told
    assert "A model looks at 2 pages" in told, "the step of the timeline"
    assert HOSTILE not in page
    file = Attachment.objects.get()
    address = f"/p/{run.project.slug}/attachments/{file.pk}/seen/2/"
    assert f'src="{address}"' in page
    shown = RenderedPage.objects.get(page=2)
    scale = min(340 / shown.width, 260 / shown.height)
    width, height = round(shown.width * scale), round(shown.height * scale)
    assert f'viewBox="0 0 {width} {height}"' in page
    box = re.search(r'<rect class="box" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"\s+height="([\d.]+)"', page)
    assert box is not None
    assert [float(one) for one in box.groups()] == [
        round(share, 1) for share in (width / 2, height / 4, width / 4, height / 2)
    ]

    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"], answer.content) == (200, "image/png", bytes(shown.content))
    assert "sandbox" in answer["Content-Security-Policy"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert client.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    assert client.get(address.replace("/2/", "/3/")).status_code == 404
    other = make_project("others")
    assert client.get(address.replace(run.project.slug, other.slug)).status_code == 404
    client.force_login(make_member(other, Role.ADMIN))
    assert client.get(address).status_code == 404


def test_that_nobody_looked_is_told_and_is_no_good_word(client: Client) -> None:
    page = page_of(client, looked_check(looking_project(), {"report.pdf": REPORT}))
    told = " ".join(page.split())
    assert "Nobody looked: no model that sees is configured (LLM_VISION_MODEL)." in told
    looked = told[told.index('class="seen"') :]
    looked = looked[: looked.index("</section>")]
    assert "mark-good" not in looked
    assert "<img" not in looked


def test_a_page_whose_picture_is_gone_is_told_by_its_number(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    with eyes("anthropic", seen, monkeypatch) as model:
        run = looked_check(looking_project(model.model), {"chart.png": png(40, 30)})
    RenderedPage.objects.all().delete()
    told = " ".join(page_of(client, run).split())
    assert "its picture is not kept any more" in told
    assert "A model looked at 1 of 1 page:" in told


def test_a_check_without_anything_to_be_seen_has_no_such_part(client: Client) -> None:
    page = page_of(client, looked_check(looking_project(), {"chart.png": png(40, 30)}, shows=""))
    assert 'class="seen"' not in page


def test_the_settings_name_the_model_that_looks_or_say_that_nobody_does(client: Client) -> None:
    project = looking_project("openai/house-eyes")
    page = logged_in(client, project).get(f"/p/{project.slug}/settings/").text
    assert "<code>openai/house-eyes</code>" in page
    project = looking_project()
    page = logged_in(client, project).get(f"/p/{project.slug}/settings/").text
    assert "none: nobody looks at pictures and pages" in page
