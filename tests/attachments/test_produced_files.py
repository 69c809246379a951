"""Files that work has produced, opened before anybody judges it: what is sent back, what passes, what nobody loses."""

from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from reflection_app.attachments import produced
from reflection_app.attachments.keeping import keep
from reflection_app.attachments.models import ProducedFile
from reflection_app.core.models import Role
from reflection_app.loops.attempt_effects import InspectFiles
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step, Verdict
from tests import given, then, when
from tests.api.caller import Caller
from tests.attachments.produced import GOOD_CSV, TORN_CSV, file_part, workbook
from tests.attachments.samples import UNSEEN, pdf
from tests.runs.critiques import critique
from tests.runs.test_attempts import asked, hand_in

pytestmark = pytest.mark.django_db

REPORT: dict[str, Any] = {"files": [{"path": "report.xlsx", "kind": "xlsx", "columns": ["region"], "min_rows": 1}]}
APPROVED = {f"attempt-{number}/critique": critique(90, approved=True) for number in (1, 2, 3)}


def asked_for_report(caller: Caller, **task: Any) -> Run:
    task = {"mode": "actor_critic", "objective": "Make the sales report.", "requirements": REPORT} | task
    return asked(caller, APPROVED, **task)


def facts_of(run: Run) -> list[dict[str, Any]]:
    """What was found in each file of the run's attempts, in their order."""
    rows = ProducedFile.objects.filter(attempt__run=run).order_by("attempt__number", "place")
    return [row.facts for row in rows if row.facts is not None]


def with_files(*files: dict[str, Any]) -> Any:
    return ["Here it is.", *files]


def verdicts_of(run: Run) -> list[tuple[str, str]]:
    rows = Verdict.objects.filter(attempt__run=run).order_by("created_at", "id")
    return [(row.verdict, row.judge_label) for row in rows]


def test_a_truncated_workbook_is_sent_back_with_its_fault_named_and_the_mended_one_passes(caller: Caller) -> None:
    run = asked_for_report(caller)
    told = caller.get(f"runs/{run.pk}").body["next"]["prompt"]
    assert "report.xlsx" in told
    broken = file_part(workbook()[:-200], name="report.xlsx")
    assert hand_in(caller, run, with_files(broken)).status == 202
    advance(run.pk)
    asks = caller.get(f"runs/{run.pk}").body["next"]
    assert asks["attempt"] == 2
    [issue] = asks["ticket"]["issues"]
    assert "report.xlsx" in issue["description"]
    assert "truncated" in issue["description"]
    assert "truncated" in asks["messages"][-1]["content"]
    assert verdicts_of(run) == [("REVISE", "requirements")]

    mended = file_part(workbook(), name="report.xlsx")
    assert hand_in(caller, run, with_files(mended), attempt=2).status == 202
    when.advances(run)
    assert (run.outcome, verdicts_of(run)[-1]) == ("succeeded", ("PASS", "critic"))
    looked = facts_of(run)
    assert [bool(facts["faults"]) for facts in looked] == [True, False]
    assert looked[-1]["rows"] == 1


def test_a_file_that_nobody_asked_for_is_told_of_and_decides_only_where_it_is_none_at_all(caller: Caller) -> None:
    run = asked_for_report(caller, requirements=None)
    assert hand_in(caller, run, with_files(file_part(TORN_CSV, name="sales.csv"))).status == 202
    advance(run.pk)
    then.run_succeeded(run)
    assert "sales.csv" in str(Verdict.objects.get(attempt__run=run).issues)

    other = asked_for_report(caller, requirements=None)
    assert hand_in(caller, other, with_files(file_part(workbook()[:-200], name="sales.xlsx"))).status == 202
    advance(other.pk)
    assert verdicts_of(other) == [("REVISE", "requirements")]


def test_an_attempt_delivered_twice_is_looked_at_once(caller: Caller) -> None:
    run = asked_for_report(caller)
    content = with_files(file_part(workbook(), name="report.xlsx"))
    first = hand_in(caller, run, content, attempt=1)
    again = hand_in(caller, run, content, attempt=1)
    assert (first.status, again.status) == (202, 202)
    advance(run.pk)
    advance(run.pk)
    assert ProducedFile.objects.filter(run=run).count() == 1
    assert Step.objects.filter(run=run, kind=InspectFiles.kind).count() == 1


def test_what_is_handed_in_anew_as_a_text_takes_the_place_of_a_tools_file_however_its_folder_is_written(
    caller: Caller,
) -> None:
    run = asked_for_report(caller, requirements={"files": [{"path": "out/sales.csv"}]})
    with transaction.atomic():
        older = keep(run.project_id, TORN_CSV, name="out/sales.csv", field="file")
        ProducedFile.objects.create(run=run, place=1, name="out/sales.csv", attachment=older)
    artifacts = [{"name": "./out//sales.csv", "content": GOOD_CSV.decode()}]
    assert hand_in(caller, run, "Done.", artifacts=artifacts).status == 202
    advance(run.pk)
    then.run_succeeded(run)
    assert [facts["name"] for facts in facts_of(run)] == ["out/sales.csv"]


def test_neither_a_file_too_large_to_be_read_nor_very_many_keep_a_required_one_from_being_found(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(produced, "MOST_BYTES", 400)
    requirements = {"files": [{"path": "sales.csv"}, {"path": "large.csv"}]}
    run = asked_for_report(caller, requirements=requirements)
    large = b"a,b\n" + b"1,2\n" * 200
    with transaction.atomic():
        kept = [keep(run.project_id, one, name="x.csv", field="file") for one in (large, GOOD_CSV)]
        # From now on the newest comes first: the large one, then very many, and the required one is older.
        names = [("sales.csv", kept[1]), *((f"{n}.csv", kept[1]) for n in range(5)), ("large.csv", kept[0])]
        for place, (name, attachment) in enumerate(names, start=1):
            ProducedFile.objects.create(run=run, place=place, name=name, attachment=attachment)
    assert hand_in(caller, run, "Done.").status == 202
    advance(run.pk)
    told = {facts["name"]: facts for facts in facts_of(run)}
    assert (told["large.csv"]["could_look"], told["large.csv"]["why_not"]) == (False, "no_time")
    assert told["sales.csv"]["could_look"]
    # It is there, though nobody could look at it: so it is not missing, and the critic's word decides.
    assert verdicts_of(run) == [("PASS", "critic")]


@pytest.fixture
def run(caller: Caller) -> Run:
    run = asked_for_report(caller, requirements=None)
    files = {"sales.csv": TORN_CSV, "report.xlsx": workbook(), "a.pdf": pdf(1), "odd.zzz": UNSEEN}
    content = with_files(*(file_part(one, name=name) for name, one in files.items()))
    assert hand_in(caller, run, content).status == 202
    advance(run.pk)
    return run


def test_what_nobody_could_look_at_is_told_apart_from_what_is_whole(client: Client, run: Run) -> None:
    row = ProducedFile.objects.filter(run=run, name="report.xlsx").get()
    assert row.facts is not None
    row.facts |= {"could_look": False, "why_not": "no_sandbox", "faults": []}
    row.save()
    page = given.logged_in(client, run.project, Role.VIEWER).get(reverse("run", args=[run.project.slug, run.pk]))
    text = page.content.decode()
    assert "This file could not be inspected, so its condition is unknown." in text
    assert "No sandbox is available to open it." in text
