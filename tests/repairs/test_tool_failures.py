"""Many agents report, and tell how it went, at the same moment: everything is counted, and once."""

from typing import Any
from uuid import uuid4

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput, OutcomeKnown
from reflection_app.loops.diagnosis.diagnoses import changed_params, without_values
from reflection_app.repairs.cheat_sheet import MOST_ROWS, cheat_sheet
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.repairs.tool_failures import DiagnosisJudgement, judge_diagnosis
from tests import given
from tests.notebook.at_once import at_once
from tests.pace import within
from tests.repairs.tool_failures import remedy_of, report, tell

pytestmark = pytest.mark.django_db
MANY = 20


@pytest.mark.django_db(transaction=True)
def test_equal_reports_at_once_are_all_kept_and_one_of_them_is_the_first() -> None:
    project = given.project()
    at_once(lambda _: report(project, agent="a"), range(MANY), threads=MANY)
    assert ToolFailure.objects.count() == MANY
    assert ToolFailure.objects.filter(is_repeated=True).count() == MANY - 1
    [row] = cheat_sheet(project).rows
    assert row.times_seen == MANY


@pytest.mark.django_db(transaction=True)
def test_outcomes_told_at_once_are_all_counted_for_one_pair() -> None:
    project = given.project()
    failures = [report(project, agent=f"agent {number}") for number in range(MANY)]
    told: dict[str, Any] = {"worked": True, "fix": "Ask for less", "params": {"query": "x"}}
    at_once(lambda failure: tell(failure, **told), failures, threads=MANY)
    pair = FixPair.objects.get()
    assert (pair.successes, pair.failures) == (MANY, 0)
    [row] = cheat_sheet(project).rows
    assert (row.times_seen, row.successes, row.success_share) == (MANY, MANY, 1.0)


@pytest.mark.django_db(transaction=True)
def test_of_contradicting_outcomes_at_once_one_is_kept() -> None:
    failure = report(given.project())

    def is_kept(number: int) -> bool:
        try:
            return bool(tell(failure, worked=True, note=f"told by {number}"))
        except OutcomeKnown:
            return False

    assert at_once(is_kept, range(MANY), threads=MANY).count(True) == 1
    assert FixPair.objects.get().successes == 1
    assert AuditEntry.objects.filter(action="tool_failure.outcome").count() == 1


def test_a_fix_that_failed_counts_against_it_and_is_not_kept_as_one() -> None:
    project = given.project()
    tell(report(project), worked=False, fix="Pray")
    assert FixPair.objects.count() == 0
    tell(report(project), worked=True, fix="Ask for less")
    for _ in range(2):
        tell(report(project), worked=False)
    pair = FixPair.objects.get()
    assert (pair.successes, pair.failures) == (1, 2)
    assert report(project).fix_pair is None
    [row] = cheat_sheet(project).rows
    assert (row.fix, row.success_share) == ("Ask for less", 1 / 3)


def test_of_two_fixes_the_more_reliable_one_is_on_the_sheet_and_advised() -> None:
    project = given.project()
    tell(report(project), worked=True, fix="Pray")
    lucky = FixPair.objects.get()
    FixPair.objects.filter(pk=lucky.pk).update(successes=9, failures=3)
    sure = FixPair.objects.get(pk=lucky.pk)
    sure.pk, sure.digest, sure.fix = uuid4(), "other", "Ask for less"
    sure.successes, sure.failures = 5, 0
    sure.save(force_insert=True)
    [row] = cheat_sheet(project).rows
    assert (row.fix, row.tried) == ("Ask for less", 5)
    assert report(project).fix_pair_id == sure.pk


def test_the_sheet_takes_as_many_queries_however_long_it_is(django_assert_num_queries: Any) -> None:
    project = given.project()
    one = report(project)
    with django_assert_num_queries(3):
        assert not cheat_sheet(project).is_cut
    ToolFailure.objects.bulk_create(
        ToolFailure(project=project, tool=one.tool, error_type=one.error_type, source=one.source, signature=f"{number}")
        for number in range(MOST_ROWS)
    )
    with django_assert_num_queries(3):
        assert cheat_sheet(project).is_cut


def test_a_report_of_another_projects_run_is_refused() -> None:
    run = given.submitted_run(given.project())
    with pytest.raises(InvalidInput):
        report(given.project(), run_id=run.pk)
    assert ToolFailure.objects.count() == 0


def test_another_projects_fixes_and_failures_are_not_seen() -> None:
    owner, stranger = given.project(), given.project()
    tell(report(owner), worked=True, fix="Ask for less")
    assert report(stranger).fix_pair is None
    assert [row.is_proven for row in cheat_sheet(stranger).rows] == [False]


def test_values_are_taken_out_of_what_is_shown_and_words_stay() -> None:
    params = {"token": "sk-1234567890", "deep": [{"n": 1234567890123}], "word": "search", "none": None, "on": True}
    said = "search with sk-1234567890 and 1234567890123, not None or True"
    assert without_values([said, "sk-1234567890"], params, None) == ["search with … and …, not None or True", "…"]


def test_of_too_many_values_to_look_for_nothing_is_shown() -> None:
    many = {f"p{number}": f"value number {number}" for number in range(5_000)}
    with within(paces=200):
        for _ in range(300):
            assert without_values(["value number 4999", "x" * 2_000], many, many) == ["…", "…"]


def test_a_fix_is_remembered_without_the_values_that_its_words_hold() -> None:
    project = given.project()
    failure = report(project, params={"query": "multi-agent", "token": "sk-old-1234567"})
    tell(failure, params={"query": "agents", "token": "sk-new-7654321"}, fix="Use sk-new-7654321, not sk-old-1234567")
    pair = FixPair.objects.get(project=project)
    assert pair.fix == "Use …, not …"
    assert pair.action["action"] == "Use …, not …"


def test_changes_name_what_is_added_left_out_or_other() -> None:
    changes = changed_params({"a": 1, "b": 2, "c": None}, {"a": 1, "b": 3, "d": None})
    assert [(one.name, one.was_there, one.is_there) for one in changes] == [
        ("b", True, True),
        ("c", True, False),
        ("d", False, True),
    ]
    assert changed_params({"a": 1}, None) == ()


def test_a_judged_diagnosis_is_corrected_and_what_was_said_before_is_in_the_trail() -> None:
    project = given.project()
    person, failure = Actor(user=given.member(project)), report(project)
    claimed = {"error_type": failure.error_type, "remedy": remedy_of(failure)}
    said = {"error_type": "parameter_error", "remedy": "skip"}
    judge_diagnosis(failure, DiagnosisJudgement(**said, action="Go on without it."), actor=person)
    failure.refresh_from_db()
    assert (failure.error_type, remedy_of(failure)) == ("parameter_error", "skip")
    assert (failure.action or {})["action"] == "Go on without it."
    entry = AuditEntry.objects.get(target_id=failure.pk, action="tool_failure.diagnosis_judged")
    assert (entry.before, entry.after) == (claimed, said)


def test_another_remedy_needs_words() -> None:
    project = given.project()
    failure = report(project)
    judgement, person = DiagnosisJudgement(error_type="parameter_error", remedy="skip"), given.member(project)
    with pytest.raises(InvalidInput) as refused:
        judge_diagnosis(failure, judgement, actor=Actor(user=person))
    assert refused.value.errors[0]["field"] == "action"
    failure.refresh_from_db()
    assert failure.error_type == "external_service_error"
