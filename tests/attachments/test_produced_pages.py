"""The files that were opened, as people see them: what was found, how they begin, and who may not."""

import pytest
from django.test import Client
from django.urls import reverse

from reflection_app.attachments.models import ProducedFile
from reflection_app.core.models import Role
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given
from tests.api.caller import Caller
from tests.attachments.produced import TORN_CSV, file_part, workbook
from tests.attachments.samples import UNSEEN, pdf
from tests.attachments.test_produced_files import asked_for_report, with_files
from tests.runs.test_attempts import hand_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(caller: Caller) -> Run:
    run = asked_for_report(caller, requirements=None)
    files = {"sales.csv": TORN_CSV, "report.xlsx": workbook(), "a.pdf": pdf(1), "odd.zzz": UNSEEN}
    content = with_files(*(file_part(one, name=name) for name, one in files.items()))
    assert hand_in(caller, run, content).status == 202
    advance(run.pk)
    return run


def test_a_runs_page_shows_what_was_found_in_each_file_and_how_it_begins(client: Client, run: Run) -> None:
    page = given.logged_in(client, run.project, Role.VIEWER).get(reverse("run", args=[run.project.slug, run.pk]))
    text = page.content.decode()
    assert "A row has another number of fields than the others." in text
    assert "line 3" in text
    assert "North\t10" in text


def test_what_nobody_could_look_at_is_told_apart_from_what_is_whole(client: Client, run: Run) -> None:
    row = ProducedFile.objects.filter(run=run, name="report.xlsx").get()
    assert row.facts is not None
    row.facts |= {"could_look": False, "why_not": "no_sandbox", "faults": []}
    row.save()
    page = given.logged_in(client, run.project, Role.VIEWER).get(reverse("run", args=[run.project.slug, run.pk]))
    text = page.content.decode()
    assert "Nobody could look into it, which says nothing of the file." in text
    assert "There is no sandbox here to open it in." in text
