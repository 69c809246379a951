"""A person's word on the class of an error: kept, audited, and followed by what goes with the class."""

import pytest

from notebook_app.models import Entry
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.repairs.models import AgentInstruction, ClassCorrection
from reflection_app.repairs.reports import CorrectionInput, correct_class
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.models import Run
from tests import given
from tests.repairs.reports import begun_run, kept_report

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return given.project()


@pytest.fixture
def actor(project: Project) -> Actor:
    return Actor(user=given.member(project))


def told(type_: ErrorClass = ErrorClass.MODEL_CAPABILITY, reason: str = "第四次了", **more: str) -> CorrectionInput:
    return CorrectionInput.model_validate({"type": type_.value, "reason": reason} | more)


def test_the_correction_is_kept_as_a_label_beside_what_the_tree_said(project: Project, actor: Actor) -> None:
    report = correct_class(kept_report(begun_run(project)), told(reason=" 第四次了 "), actor=actor)
    assert (report.error_type, report.corrected_type, report.holding_type) == ("3.3.2", "3.3.1", "3.3.1")
    label = ClassCorrection.objects.get(report=report)
    assert (label.computed, label.before, label.after, label.reason) == ("3.3.2", "3.3.2", "3.3.1", "第四次了")
    assert (label.user, label.by_label) == (actor.user, actor.label)
    classed = report.get_document()["error_classification"]
    assert (classed["type"], classed["description"]) == ("3.3.1", "Model capability: 第四次了")
    assert report.get_value().type is ErrorClass.DECISION_ERROR
    entry = AuditEntry.objects.get(action="report.class_corrected")
    assert (entry.target_id, entry.before) == (report.pk, {"type": "3.3.2"})
    assert entry.after == {"type": "3.3.1", "reason": "第四次了"}
    last = Event.objects.filter(run=report.run).last()
    assert last is not None
    assert (last.type, last.payload["type"]) == (EventType.REPORT_KEPT, "3.3.1")
    assert Run.objects.get(pk=report.run_id).last_event_seq == last.seq


def test_what_goes_with_the_new_class_is_proposed_once(project: Project, actor: Actor) -> None:
    report = kept_report(begun_run(project))
    correct_class(report, told(), actor=actor)
    correct_class(report, told(ErrorClass.DECISION_ERROR, "doch nicht"), actor=actor)
    correct_class(report, told(reason="again"), actor=actor)
    pattern, note = Entry.objects.filter(project_id=project.pk).order_by("kind")
    assert (pattern.kind, pattern.occurrences) == ("anti_pattern", 1)
    assert "Error type: 3.3.1" in pattern.content
    assert (note.kind, note.content, note.occurrences) == ("lesson", report.get_value().learning_notes, 1)
    assert AgentInstruction.objects.get(project=project).report == report
    assert ClassCorrection.objects.filter(report=report).count() == 3
    report.refresh_from_db()
    assert report.holding_type == "3.3.1"


def test_without_a_reason_nothing_changes(project: Project, actor: Actor) -> None:
    report = kept_report(begun_run(project))
    with pytest.raises(InvalidInput) as refused:
        correct_class(report, told(reason="  \n"), actor=actor)
    assert refused.value.errors[0]["field"] == "reason"
    report.refresh_from_db()
    assert report.corrected_type is None
    assert not ClassCorrection.objects.exists()


def test_the_class_that_holds_is_confirmed_without_a_reason(project: Project, actor: Actor) -> None:
    report = correct_class(kept_report(begun_run(project)), told(ErrorClass.DECISION_ERROR, ""), actor=actor)
    assert (report.corrected_type, ClassCorrection.objects.count()) == (None, 0)
    assert AuditEntry.objects.get(action="report.class_confirmed").after == {"type": "3.3.2"}
