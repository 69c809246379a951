"""The files that were opened, as people see them: what was found, how they begin, and who may not."""

import pytest
from django.test import Client
from django.urls import reverse

from reflection_app.attachments import serving
from reflection_app.attachments.models import Attachment, ProducedFile
from reflection_app.core.models import Role
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.api.caller import Caller, assert_problem, make_caller
from tests.attachments.produced import GOOD_CSV, TORN_CSV, file_part, workbook
from tests.attachments.samples import UNSEEN, pdf
from tests.attachments.test_produced_files import asked_for_report, with_files
from tests.factories import make_project
from tests.repairs.test_completeness_of_files import caller_saying, checked_by
from tests.runs.test_attempts import hand_in
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(caller: Caller) -> Run:
    run = asked_for_report(caller, requirements=None)
    files = {"sales.csv": TORN_CSV, "report.xlsx": workbook(), "a.pdf": pdf(1), "odd.zzz": UNSEEN}
    content = with_files(*(file_part(one, name=name) for name, one in files.items()))
    assert hand_in(caller, run, content).status == 202
    advance(run.pk)
    return run


def test_a_runs_page_shows_what_was_found_in_each_file_and_how_it_begins(client: Client, run: Run) -> None:
    page = logged_in(client, run.project, Role.VIEWER).get(reverse("run", args=[run.project.slug, run.pk]))
    text = page.content.decode()
    assert "A row has another number of fields than the others." in text
    assert "line 3" in text
    # The first rows of the workbook, and of the table as it is written.
    assert '<td class="value">North</td>' in text
    assert reverse("attachment_page", args=[run.project.slug, Attachment.objects.get(name="a.pdf").pk, 1]) in text


def test_a_page_of_a_document_is_drawn_by_the_desk_and_may_run_nothing(client: Client, run: Run) -> None:
    attachment = Attachment.objects.get(name="a.pdf")
    address = reverse("attachment_page", args=[run.project.slug, attachment.pk, 1])
    viewer = logged_in(client, run.project, Role.VIEWER)
    answer = viewer.get(address)
    assert answer.status_code == 200
    assert answer.content.startswith(b"\x89PNG")
    assert answer["Content-Type"] == "image/png"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert viewer.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    for number in (0, 2, 21):
        assert viewer.get(address.replace("/page/1/", f"/page/{number}/")).status_code == 404
    other = Attachment.objects.get(name="sales.csv")
    assert viewer.get(reverse("attachment_page", args=[run.project.slug, other.pk, 1])).status_code == 404


def test_who_is_of_another_project_sees_neither_files_nor_pages_of_them(client: Client, run: Run) -> None:
    attachment = Attachment.objects.get(name="a.pdf")
    stranger = make_project()
    viewer = logged_in(client, stranger, Role.ADMIN)
    for slug in (run.project.slug, stranger.slug):
        for name, more in (("attachment", []), ("attachment_page", [1])):
            assert viewer.get(reverse(name, args=[slug, attachment.pk, *more])).status_code == 404
    outside = make_caller(stranger)
    assert_problem(outside.get(f"runs/{run.pk}/attempts"), 404)
    assert_problem(outside.get(f"attachments/{attachment.pk}/content"), 404)
    # Nor is what it uploaded taken for a file of theirs.
    body = {"objective": "x", "history": [], "files": [{"type": "attachment", "id": str(attachment.pk)}]}
    assert_problem(outside.post("completeness-checks", body), 400)
    assert not ProducedFile.objects.filter(run__project=stranger).exists()


def test_a_checks_section_says_that_no_models_word_stands_against_the_files(client: Client) -> None:
    caller = caller_saying()
    check = checked_by(
        caller,
        files=[file_part(TORN_CSV, name="sales.csv"), file_part(GOOD_CSV, name="whole.csv")],
        required_files=[{"path": "report.pdf"}],
    )
    viewer = logged_in(client, caller.project, Role.VIEWER)
    text = viewer.get(reverse("run", args=[caller.project.slug, check["run_id"]])).content.decode()
    assert "It is not complete by this, whatever a model says." in text
    assert "There is no such file." in text
    assert "report.pdf" in text
    assert "whole.csv" in text


def test_what_nobody_could_look_at_is_told_apart_from_what_is_whole(client: Client, run: Run) -> None:
    row = ProducedFile.objects.filter(run=run, name="report.xlsx").get()
    assert row.facts is not None
    row.facts |= {"could_look": False, "why_not": "no_sandbox", "faults": []}
    row.save()
    page = logged_in(client, run.project, Role.VIEWER).get(reverse("run", args=[run.project.slug, run.pk]))
    text = page.content.decode()
    assert "Nobody could look into it, which says nothing of the file." in text
    assert "There is no sandbox here to open it in." in text


def test_pages_that_cannot_be_drawn_are_tried_once_and_no_more_at_once_than_a_few(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    attachment = Attachment.objects.get(name="a.pdf")
    address = reverse("attachment_page", args=[run.project.slug, attachment.pk, 7])
    viewer = logged_in(client, run.project, Role.VIEWER)
    assert viewer.get(address).status_code == 404
    monkeypatch.setattr(serving, "WAITED_S", 0.05)
    taken = [serving._drawing.acquire() for _ in range(serving.DRAWN_AT_ONCE)]
    try:
        # Known by now, so that nothing has to be drawn.
        assert viewer.get(address).status_code == 404
        busy = viewer.get(address.replace("/page/7/", "/page/8/"))
        assert (busy.status_code, busy["Retry-After"]) == (503, "5")
    finally:
        for _ in taken:
            serving._drawing.release()
    assert viewer.get(address.replace("/page/7/", "/page/8/")).status_code == 404
