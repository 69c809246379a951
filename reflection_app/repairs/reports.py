"""The class of an error as a person corrects it, and what is worked out from reports that are kept."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.adapters.live import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import ClassMovedOn, InvalidInput
from reflection_app.loops.progress import strongest_judgements
from reflection_app.loops.protocol.checklists import CheckItem, report_checklist, revised_output_checklist
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reporting import instruction_for, proposals_for
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Judgement
from reflection_app.repairs.issue_vectors import kept_vectors
from reflection_app.repairs.models import ClassCorrection, Report
from reflection_app.repairs.rows import keep_instruction, keep_proposal
from reflection_app.reviews.own_work import refuse_own_work
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Attempt, Run, Verdict

# Correcting the class of an error; what the new class asks for follows.


class CorrectionInput(Value):
    """The error class given by a reviewer, and the reason. If `before` is given, it must be the current class."""

    type: ErrorClass
    reason: Annotated[str, Field(max_length=2_000), AfterValidator(storable)] = ""
    before: ErrorClass | None = None


@transaction.atomic
def correct_class(report: Report, data: CorrectionInput, *, actor: Actor) -> Report:
    """Return the report with its new class. The class that holds already is confirmed.

    What a new class asks to be remembered is proposed; twice proposed counts once. Raises InvalidInput for a new class
    without a reason, ClassMovedOn if another one holds by now, and OwnWorkRefused.
    """
    # The run's lock comes first everywhere, so that nobody waits in a circle.
    run = Run.objects.select_for_update(of=("self",)).get(pk=report.run_id)
    refuse_own_work(run.handed_in_by, project_id=run.project_id, actor=actor)
    locked = Report.objects.select_for_update(of=("self",)).get(pk=report.pk)
    before = ErrorClass(locked.holding_type)
    if data.before not in {None, before}:
        raise ClassMovedOn(f"The class is {before.value} by now. Nothing was changed.")
    reason = data.reason.strip()
    if data.type is not before and not reason:
        message = _("Enter a reason.")
        raise InvalidInput(message, errors=[{"field": "reason", "message": message}])
    if data.type is before:
        audit(locked.project_id, actor, "report.class_confirmed", target=locked, after={"type": before.value})
        return locked
    locked.corrected_type = data.type.value
    locked.save(update_fields=["corrected_type"])
    ClassCorrection.objects.create(
        report=locked,
        computed=locked.error_type,
        before=before.value,
        after=data.type.value,
        reason=reason,
        user=actor.user,
        by_label=actor.label,
    )
    value = locked.get_holding()
    for proposal in proposals_for(value, agent=locked.agent):
        keep_proposal(run, proposal)
    instruction = instruction_for(value, agent=locked.agent)
    if instruction is not None:
        keep_instruction(run, instruction)
    add_event(run, EventType.REPORT_KEPT, report=locked.reflection_id, type=data.type.value, by=actor.label)
    run.save(update_fields=["last_event_seq"])
    after = {"type": data.type.value, "reason": reason}
    audit(locked.project_id, actor, "report.class_corrected", target=locked, before={"type": before.value}, after=after)
    transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    return locked


# What is worked out from kept reports: the seed's checklists, and what became of a report in the notebook.


@dataclass(frozen=True)
class ReportQuality:
    """Both checklists of a report, read when they are asked for."""

    report: Report

    @cached_property
    def of_report(self) -> tuple[CheckItem, ...]:
        value = self.report.get_holding()
        return report_checklist(self.report.get_document(), is_fallback=value.is_fallback)

    @cached_property
    def of_revision(self) -> tuple[CheckItem, ...]:
        value = self.report.get_holding()
        revised = self.report.revised_attempt
        judgement = requirements = None
        if revised is not None:
            judgement = judgement_of(revised)
            # Whichever verdict on the attempt carries the check of the minimum requirements.
            rows = Verdict.objects.filter(attempt=revised, requirements__isnull=False).order_by("created_at", "id")
            last = rows.last()
            requirements = last.get_requirements() if last else None
        named = [one.description for one in (*value.issues, *(judgement.issues if judgement else ()))]
        return revised_output_checklist(
            issues=value.issues,
            attempt=value.attempt,
            revised_attempt=value.revised_attempt,
            requirements=requirements,
            judgement=judgement,
            # A page does not wait for the model: what no worker has compared yet is compared by its words.
            vectors=kept_vectors(named),
        )


def judgement_of(attempt: Attempt) -> Judgement | None:
    """What the strongest referee says of the attempt; None where nobody has judged it."""
    rows = Verdict.objects.filter(attempt=attempt).select_related("attempt").defer("attempt__content")
    judged = strongest_judgements(row.get_judgement() for row in rows.order_by("created_at", "id"))
    return judged.get(attempt.number)
