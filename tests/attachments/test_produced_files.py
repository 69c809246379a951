"""Files that work has produced, opened before anybody judges it: what is sent back, what passes, what nobody loses."""

from typing import Any

import pytest

from reflection_app.attachments.models import ProducedFile
from reflection_app.loops.attempt_effects import InspectFiles
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step, Verdict
from tests.api.caller import Caller
from tests.attachments.produced import GOOD_CSV, TORN_CSV, file_part, workbook
from tests.runs.critiques import critique
from tests.runs.test_attempts import asked, hand_in

pytestmark = pytest.mark.django_db(transaction=True)

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
    assert "breaks off before its end" in issue["description"]
    assert "breaks off before its end" in asks["messages"][-1]["content"]
    assert verdicts_of(run) == [("REVISE", "requirements")]

    mended = file_part(workbook(), name="report.xlsx")
    assert hand_in(caller, run, with_files(mended), attempt=2).status == 202
    advance(run.pk)
    run.refresh_from_db()
    assert (run.outcome, verdicts_of(run)[-1]) == ("succeeded", ("PASS", "critic"))
    looked = facts_of(run)
    assert [bool(facts["faults"]) for facts in looked] == [True, False]
    assert looked[-1]["rows"] == 1


def test_a_file_that_never_comes_keeps_every_attempt_from_passing(caller: Caller) -> None:
    run = asked_for_report(caller, limits={"max_iterations": 2})
    for number in (1, 2):
        assert hand_in(caller, run, "The report is attached.", attempt=number).status == 202
        advance(run.pk)
    run.refresh_from_db()
    assert run.outcome == "exhausted"
    assert verdicts_of(run) == [("REVISE", "requirements")] * 2
    # No model was asked about what is not there.
    assert not Step.objects.filter(run=run, role="critic").exists()


def test_a_text_handed_in_beside_the_answer_is_a_file_as_well(caller: Caller) -> None:
    run = asked_for_report(caller, requirements={"files": [{"path": "out/sales.csv", "columns": ["sales"]}]})
    artifacts = [{"name": "out/sales.csv", "content": GOOD_CSV.decode()}]
    assert hand_in(caller, run, "Done.", artifacts=artifacts).status == 202
    advance(run.pk)
    run.refresh_from_db()
    assert run.outcome == "succeeded"
    assert ProducedFile.objects.get(run=run).attachment is not None


def test_a_file_that_nobody_asked_for_is_told_of_and_decides_only_where_it_is_none_at_all(caller: Caller) -> None:
    run = asked_for_report(caller, requirements=None)
    assert hand_in(caller, run, with_files(file_part(TORN_CSV, name="sales.csv"))).status == 202
    advance(run.pk)
    run.refresh_from_db()
    assert run.outcome == "succeeded"
    assert "sales.csv" in str(Verdict.objects.get(attempt__run=run).issues)

    other = asked_for_report(caller, requirements=None)
    assert hand_in(caller, other, with_files(file_part(workbook()[:-200], name="sales.xlsx"))).status == 202
    advance(other.pk)
    assert verdicts_of(other) == [("REVISE", "requirements")]


def test_a_run_without_files_is_performed_as_ever(caller: Caller) -> None:
    run = asked_for_report(caller, requirements=None)
    assert hand_in(caller, run, "Done.").status == 202
    advance(run.pk)
    assert not Step.objects.filter(run=run, kind=InspectFiles.kind).exists()
    handed_in = Step.objects.get(run=run, kind="await_attempt")
    assert handed_in.result is not None
    assert "files" not in handed_in.result


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
