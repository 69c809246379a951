"""The order of supplements and the second look in runs, with rows of a real history."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notebook_app.models import Entry
from reflection_app.adapters.llm.scripted import ScriptedAnswer
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.completeness.records import SupplementRecord
from reflection_app.loops.effects import EstimateSupplements
from reflection_app.repairs.models import CompletenessCheck, Supplement
from reflection_app.repairs.supplement_history import read_records
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, Step
from reflection_app.runs.undo import unmake_supplements
from tests import given, when
from tests.loops.completeness.scenes import checked, planned, wanted
from tests.notebook.at_once import at_once
from tests.repairs.completeness import SAVE, planned_run, reading_project, supplemented
from tests.repairs.past_supplements import past_supplement
from tests.runs.test_crashes import Killed, killing_after, let_lease_run_out

pytestmark = pytest.mark.django_db


FIRST_AGAIN = wanted("核对第一个文件里的颜色", "以免看错", "read_file", quote="比较两个文件里的颜色")
LISTED = wanted("核对第一个文件里的颜色", "以免看错", quote="比较两个文件里的颜色")
TWO = {"attempt-1/completeness": checked(FIRST_AGAIN, SAVE, missing=["核对", "第二个文件"])}
INCOMPLETE_STILL = {"attempt-1/second-look/completeness": checked(analysis="还缺少结论", missing=["颜色是否相同"])}


def check_of(run: Run) -> CompletenessCheck:
    return CompletenessCheck.objects.get(run=run)


def second_look_of(run: Run) -> dict[str, Any]:
    found = check_of(run).second_look
    assert isinstance(found, dict)
    return found


def result_of(run: Run, kind: str) -> dict[str, Any]:
    """What the run's one step of this kind has recorded."""
    result = Step.objects.get(run=run, kind=kind).result
    assert isinstance(result, dict)
    return result


def test_supplements_are_ordered_by_the_projects_own_record() -> None:
    project = reading_project(completeness={"max_supplements": 1})
    for _ in range(3):
        past_supplement(project, tokens=400)
    run = supplemented(project, {"attempt-1/completeness": checked(LISTED, SAVE, missing=["核对", "第二个文件"])})
    assert run.outcome == "succeeded"
    [supplement] = Supplement.objects.filter(completeness_check=check_of(run))
    assert (supplement.operation, supplement.succeeded) == (SAVE["operation"], True)
    [dropped] = check_of(run).dropped
    assert (dropped["operation"], dropped["code"], dropped["why"]) == (LISTED["operation"], "too_many", "")
    records = Step.objects.get(run=run, kind="estimate_supplements")
    assert records.key == "attempt-1/completeness/estimates"
    [none, read] = result_of(run, "estimate_supplements")["supplements"]
    assert none is None
    assert (read["runs"], read["completed"], read["tokens"]) == (3, 3, 400)
    told = given.caller(project).get(f"runs/{run.pk}").body["completeness"]["supplements"][0]["record"]
    assert (told["runs"], told["completed"]) == (3, 3)


def test_a_run_that_its_second_look_calls_complete_is_told_so_by_row_and_event() -> None:
    run = supplemented(reading_project())
    check = check_of(run)
    assert (check.state, second_look_of(run)["state"]) == ("completed_by_supplement", "complete")
    assert check.second_tokens > 0
    event = Event.objects.get(run=run, type="reflection_again")
    assert event.payload == {"isComplete": True, "analysis": "两个文件都读了", "missingsCount": 0}
    assert Step.objects.get(run=run, key="attempt-1/second-look/found").attempt_number == 1


def test_money_that_runs_out_is_recorded_at_what_was_not_begun() -> None:
    answers: dict[str, Any] = TWO | {
        "attempt-1/supplement/plan/make": ScriptedAnswer(
            text=planned(("s1-check", "核对", "read_file"), ("s2-read", "读取第二个文件", "read_file")),
            prompt_tokens=100,
            completion_tokens=50,
            cost_usd="0.02",
        )
    }
    run = supplemented(reading_project(completeness={"max_cost_usd": "0.01"}), answers)
    assert run.outcome == "succeeded", "the run itself goes on"
    rows = Supplement.objects.filter(completeness_check=check_of(run))
    assert {row.left_out for row in rows} == {"money_spent"}
    assert [row.attempted for row in rows] == [False, False]
    assert sum(row.cost_usd for row in rows) == Decimal("0.02")
    assert check_of(run).state == "incomplete"


def test_a_worker_that_dies_after_any_commit_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    project = reading_project()
    for _ in range(5):
        past_supplement(project)
    whole = supplemented(project)
    expected = [(step.key, step.kind) for step in Step.objects.filter(run=whole)]
    for killed_after in range(1, 60):
        run = planned_run(project)
        with monkeypatch.context() as patched:
            killing_after(killed_after, patched, journal_writes, "commit")
            patched.setattr("reflection_app.runs.journal.commit", journal_writes.commit)
            try:
                advance(run.pk)
            except Killed:
                pass
            else:
                break
        # Somebody else's history in between must not be read by what is recorded.
        past_supplement(project, completed=False, tokens=50_000)
        let_lease_run_out(run)
        Run.objects.filter(pk=run.pk, state="running").update(state="queued", lease_token=None, lease_until=None)
        when.advances(run)
        assert (run.outcome, run.error) == ("succeeded", ""), killed_after
        assert [(step.key, step.kind) for step in Step.objects.filter(run=run)] == expected, killed_after
        check = check_of(run)
        assert (check.state, check.supplements.count()) == ("completed_by_supplement", 1), killed_after
        recorded = result_of(run, "estimate_supplements")["supplements"][0]
        [kept] = result_of(run, "record_completeness")["supplements"]
        assert kept["record"] == recorded
        assert Event.objects.filter(run=run, type="reflection_again").count() == 1
    assert killed_after > 12, "there are that many commits to die after"


def test_what_is_taken_back_of_a_second_look_leaves_the_supplements_as_they_went() -> None:
    run = supplemented(reading_project())
    unmake_supplements(run, Step.objects.filter(run=run, kind="record_second_look"))
    check = check_of(run)
    assert (check.state, check.second_look, check.second_tokens, check.used) == ("incomplete", None, 0, True)
    assert check.supplements.get().succeeded is True


def test_a_fork_of_the_second_look_writes_no_row_of_its_parents_check() -> None:
    parent = supplemented(reading_project(), INCOMPLETE_STILL)
    step = Step.objects.get(run=parent, key="attempt-1/second-look/completeness")
    fork = fork_run(parent, ForkInput(from_step=step.seq), actor=Actor())
    when.advances(fork)
    assert (fork.outcome, fork.error) == ("succeeded", "")
    assert check_of(parent).state == "incomplete"
    assert Event.objects.filter(run=fork, type="reflection_again").exists()


@pytest.mark.django_db(transaction=True)
def test_runs_that_end_at_the_same_moment_count_each_other() -> None:
    project = reading_project()
    supplemented(project)
    two = [planned_run(project), planned_run(project)]
    at_once(advance, [run.pk for run in two], threads=2)
    assert [Run.objects.get(pk=run.pk).outcome for run in two] == ["succeeded"] * 2
    [entry] = Entry.objects.all()
    assert entry.occurrences == 3


def effect_of(*tools: tuple[str, ...]) -> EstimateSupplements:
    return EstimateSupplements(key="k", operations=("read it",) * len(tools), tools=tools)


def records(project: Project, *tools: tuple[str, ...]) -> tuple[SupplementRecord | None, ...]:
    """What a new run of the project reads of supplements by these tools."""
    found: Any = read_records(effect_of(*tools), run_id=given.submitted_run(project, kind="compare").pk).value
    kept: tuple[SupplementRecord | None, ...] = found.supplements
    return kept


def test_a_tool_has_the_record_of_its_own_project() -> None:
    project = given.project("own")
    past_supplement(project, tokens=1_000)
    past_supplement(project, "Read the appendix", kind="other", tokens=2_000, cost_usd=Decimal("0.004"))
    past_supplement(project, completed=False, tokens=3_000, cost_usd=Decimal("0.006"))
    past_supplement(project, "Send a mail", tools=("mail",), completed=False)
    past_supplement(given.project("another"), completed=False)
    read, mail, none, unknown = records(project, ("read_file",), ("mail",), (), ("fax",))
    assert read == SupplementRecord(runs=3, completed=2, tokens=2_000, cost_usd=Decimal("0.004"))
    assert mail is not None
    assert (mail.runs, mail.completed) == (1, 0)
    assert none is unknown is None


def test_of_two_tools_the_one_with_more_runs_counts() -> None:
    project = given.project("two")
    past_supplement(project, tools=("mail",), completed=False)
    for _ in range(2):
        past_supplement(project)
    [found] = records(project, ("mail", "read_file"))
    assert found is not None
    assert (found.runs, found.completed) == (2, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"attempted": False, "tokens": 0},
        {"attempted": None, "tokens": 0},
        {"days_ago": 181},
    ],
)
def test_what_was_not_tried_or_is_old_does_not_count(fields: dict[str, Any]) -> None:
    project = given.project("old")
    past_supplement(project, **fields)
    assert records(project, ("read_file",)) == (None,)


def test_without_a_price_the_cost_is_not_known() -> None:
    project = given.project("unpriced")
    past_supplement(project)
    past_supplement(project, cost_known=False, cost_usd=Decimal(0))
    [found] = records(project, ("read_file",))
    assert found is not None
    assert (found.runs, found.cost_usd) == (2, None)


def test_a_run_and_forks_are_no_evidence() -> None:
    project = given.project("forks")
    run = past_supplement(project).completeness_check.run
    own: Any = read_records(effect_of(("read_file",)), run_id=run.pk).value
    assert own.supplements == (None,)
    Run.objects.filter(pk=run.pk).update(parent=given.submitted_run(project))
    assert records(project, ("read_file",)) == (None,)


def test_the_database_is_asked_once() -> None:
    project = given.project("once")
    run = given.submitted_run(project, kind="compare")
    for number in range(5):
        past_supplement(project, tools=(f"tool-{number}",))
    with CaptureQueriesContext(connection) as queries:
        read_records(effect_of(*((f"tool-{number}",) for number in range(5))), run_id=run.pk)
    assert len(queries) == 1
