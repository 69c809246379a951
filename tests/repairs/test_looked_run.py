"""Produced files looked at by a model behind HTTP, from what is handed in to what stands in the rows and goes out."""

import base64
from dataclasses import dataclass

import pytest
from django.db import connection
from django.test import Client

from reflection_app.attachments.keeping import KEPT_UNUSED, sweep_unused
from reflection_app.attachments.models import Attachment, RenderedPage
from reflection_app.attachments.regions import check_regions
from reflection_app.core.models import Project, Role
from reflection_app.loops.completeness.checks import CheckState, Completeness
from reflection_app.loops.completeness.looked import Holds, Look, WhyNotLooked
from reflection_app.loops.completeness.looking import MAX_SIDE_PX
from reflection_app.loops.effects import RecordCompleteness
from reflection_app.loops.verdicts import Issue
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Attempt, Run, Step, Verdict
from tests import given
from tests.api.caller import Caller
from tests.attachments.produced import file_part
from tests.openai_server import Reply, SentPicture
from tests.pictures import pdf, png
from tests.repairs.looked import CHART, eyes, looked_check, looking_project, seen
from tests.runs.critiques import critique
from tests.runs.test_attempts import asked

pytestmark = pytest.mark.django_db

REPORT = pdf("Sales per region", "Legend")


def found_by(run: Run) -> Completeness:
    return Completeness.model_validate(Step.objects.get(run=run, kind=RecordCompleteness.kind).result)


def look_of(run: Run) -> Look:
    looked = found_by(run).looked
    assert looked is not None
    (look,) = looked.looks
    return look


@dataclass(frozen=True)
class Looked:
    """A check of REPORT by a model that does not find what it must show, with what that model was asked."""

    run: Run
    parts: list[str | SentPicture]
    pictures: list[SentPicture]


@pytest.fixture(scope="module")
def looked(module_transaction: None) -> Looked:
    def reply(asked: str) -> Reply:
        said = seen(asked, holds="no", saw=f"A chart. {given.HOSTILE}")
        return Reply(said, prompt_tokens=4_000, completion_tokens=90)

    with pytest.MonkeyPatch.context() as patched, eyes(reply, patched) as model:
        run = looked_check(looking_project(model.model), {"report.pdf": REPORT})
        return Looked(run, model.parts(), model.pictures())


def test_the_pages_of_a_report_are_drawn_shown_and_judged(looked: Looked) -> None:
    run, parts = looked.run, looked.parts
    assert (run.outcome, run.error) == ("succeeded", "")
    first, second = looked.pictures
    assert [one for one in parts if isinstance(one, str)][:2] == ["Picture 1:", "Picture 2:"]
    assert isinstance(parts[-1], str)
    assert CHART in parts[-1]
    assert "Picture 2: page 2 of 2" in parts[-1]
    for picture in (first, second):
        assert picture.media_type == "image/png"
        assert max(picture.size) == MAX_SIDE_PX
    assert first.content != second.content
    look = look_of(run)
    assert (look.holds, look.pages_in_all) == (Holds.NO, 2)
    assert [(one.page, one.width, one.height) for one in look.pages] == [(1, *first.size), (2, *second.size)]
    found = found_by(run)
    assert found.state is CheckState.INCOMPLETE
    assert found.looked is not None
    assert found.looked.tokens == 4_090
    assert run.total_tokens >= 4_090


def test_no_picture_stands_in_the_journal_or_any_row_but_its_own(looked: Looked) -> None:
    sent = [one.content for one in looked.pictures]
    (asked,) = Step.objects.filter(run=looked.run, role="vision")
    named = asked.request["messages"][1]["pictures"]
    assert [(one["page"], set(one)) for one in named] == [
        (1, {"sha256", "page", "max_side_px"}),
        (2, {"sha256", "page", "max_side_px"}),
    ]
    kept = {bytes(one) for one in RenderedPage.objects.values_list("content", flat=True)}
    assert kept == set(sent)
    inside = [base64.b64encode(one).decode()[40:100] for one in sent]
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'")
        columns = cursor.fetchall()
        for table, column in columns:
            counted = f'SELECT count(*) FROM "{table}" WHERE "{column}"::text LIKE ANY(%s)'
            cursor.execute(counted, [[f"%{one}%" for one in inside]])
            assert cursor.fetchone() == (0,), f"{table}.{column} holds a picture"


def test_a_picture_is_scaled_down_and_a_hostile_one_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = png(2, 2).replace((2).to_bytes(4) + (2).to_bytes(4), (60_000).to_bytes(4) + (60_000).to_bytes(4))
    with eyes(seen, monkeypatch) as model:
        looked_check(looking_project(model.model), {"chart.png": png(3_000, 1_500)})
        (picture,) = model.pictures()
        assert picture.size == (MAX_SIDE_PX, MAX_SIDE_PX // 2)
        run = looked_check(looking_project(model.model), {"bomb.png": bomb})
        assert len(model.server.requests) == 1, "nobody is asked about what cannot be shown"
    look = look_of(run)
    assert (look.holds, look.why_not) == (Holds.NOT_LOOKED_AT, WhyNotLooked.NOT_RENDERED)
    assert found_by(run).state is CheckState.INCOMPLETE, "by what opening it told"


def test_a_model_that_does_not_look_leaves_the_check_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with eyes(lambda _asked: Reply("This model does not support image input.", status=400), monkeypatch) as model:
        run = looked_check(looking_project(model.model), {"report.pdf": REPORT})
        assert all(model.pictures(at) for at in range(len(model.server.requests))), "never asked without the pictures"
    look = look_of(run)
    assert (look.holds, look.why_not) == (Holds.NOT_LOOKED_AT, WhyNotLooked.MODEL_FAILED)
    assert "does not support" in look.error
    assert (run.outcome, found_by(run).state) == ("unverified", CheckState.UNCHECKED)


def test_the_same_page_is_drawn_once_and_goes_with_its_file(looked: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    with eyes(seen, monkeypatch) as model:
        project = Project.objects.get(pk=looked.run.project_id)
        # Its script answers once.
        project.models_by_role = looking_project(model.model).models_by_role
        project.save()
        looked_check(project, {"report.pdf": REPORT})
    assert RenderedPage.objects.count() == 2
    Run.objects.all().delete()
    file = Attachment.objects.get()
    assert sweep_unused(file.handed_in_at + KEPT_UNUSED * 2) == 1
    assert not RenderedPage.objects.exists()


APPROVED = {f"attempt-{number}/critique": critique(90, approved=True) for number in (1, 2)}


def asked_for_chart(caller: Caller, *, model: str) -> Run:
    caller.project.models_by_role = {"vision": model}
    caller.project.save(update_fields=["models_by_role"])
    requirements = {"files": [{"path": "chart.png", "kind": "image", "shows": CHART}]}
    return asked(caller, APPROVED, mode="actor_critic", objective="Draw the sales.", requirements=requirements)


def hand_in(caller: Caller, run: Run, picture: bytes, *, attempt: int = 1) -> None:
    content = ["Here is the chart.", file_part(picture, name="chart.png")]
    assert caller.post(f"runs/{run.pk}/attempts", {"content": content, "attempt": attempt}).status == 202
    advance(run.pk)


def verdicts_of(run: Run) -> list[str]:
    return [row.verdict for row in Verdict.objects.filter(attempt__run=run).order_by("created_at", "id")]


def test_a_chart_without_its_legend_is_sent_back_and_the_next_one_passes(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter([{"holds": "no"}, {"holds": "yes"}])
    with eyes(lambda text: seen(text, **next(said)), monkeypatch) as model:
        run = asked_for_chart(caller, model=model.model)
        hand_in(caller, run, png(400, 200))
        assert verdicts_of(run) == ["REVISE"], "though the critic approved"
        asks = caller.get(f"runs/{run.pk}").body["next"]
        (issue,) = asks["ticket"]["issues"]
        assert CHART in issue["description"]
        assert issue["region"] == {"attachment": str(Attachment.objects.get(project=run.project).pk), "fragment": ""}
        assert CHART in asks["messages"][-1]["content"]
        check_regions([Issue.model_validate(issue)], of=[Attempt.objects.get(run=run)])

        hand_in(caller, run, png(400, 200, colour=(0, 0, 90)), attempt=2)
        run.refresh_from_db()
    assert (run.outcome, verdicts_of(run)) == ("succeeded", ["REVISE", "PASS"])


def page_of(client: Client, run: Run) -> str:
    return given.logged_in(client, run.project).get(f"/p/{run.project.slug}/runs/{run.pk}/").text


def test_the_page_shows_what_was_seen_and_the_pages(client: Client, looked: Looked) -> None:
    run = looked.run
    page = page_of(client, run)
    assert "A model viewed 2 of 2 pages:" in " ".join(page.split())
    assert given.HOSTILE not in page
    file = Attachment.objects.get()
    address = f"/p/{run.project.slug}/attachments/{file.pk}/seen/2/"
    assert f'src="{address}"' in page
    shown = RenderedPage.objects.get(page=2)
    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"], answer.content) == (200, "image/png", bytes(shown.content))
    assert "sandbox" in answer["Content-Security-Policy"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert client.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    assert client.get(address.replace("/2/", "/3/")).status_code == 404
    other = given.project("others")
    assert client.get(address.replace(run.project.slug, other.slug)).status_code == 404
    client.force_login(given.member(other, Role.ADMIN))
    assert client.get(address).status_code == 404
