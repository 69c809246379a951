"""A person's word on the diagnosis of a failed call."""

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput
from reflection_app.repairs.tool_failures import DiagnosisJudgement, judge_diagnosis
from tests import given
from tests.repairs.tool_failures import remedy_of
from tests.repairs.tool_failures import report as report_failure

pytestmark = pytest.mark.django_db


def test_a_judged_diagnosis_is_corrected_and_what_was_said_before_is_in_the_trail() -> None:
    project = given.project()
    person, failure = Actor(user=given.member(project)), report_failure(project)
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
    failure = report_failure(project)
    judgement, person = DiagnosisJudgement(error_type="parameter_error", remedy="skip"), given.member(project)
    with pytest.raises(InvalidInput) as refused:
        judge_diagnosis(failure, judgement, actor=Actor(user=person))
    assert refused.value.errors[0]["field"] == "action"
    failure.refresh_from_db()
    assert failure.error_type == "external_service_error"
