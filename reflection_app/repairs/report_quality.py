"""What is worked out from kept reports: the seed's checklists, and what became of a report in the notebook."""

from dataclasses import dataclass
from functools import cached_property

from notebook_app.public import KeptEntry, proposed_from
from reflection_app.loops.best_attempt import strongest_judgements
from reflection_app.loops.effects import ProposeEntry
from reflection_app.loops.protocol.checklists import CheckItem, report_checklist, revised_output_checklist
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.handling import proposals_for
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.verdicts import Judgement
from reflection_app.repairs.models.report import Report
from reflection_app.runs.models import Attempt, Step, Verdict


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
        judgement = judgement_of(revised) if revised else None
        return revised_output_checklist(
            issues=value.issues,
            attempt=value.attempt,
            revised_attempt=value.revised_attempt,
            requirements=_requirements_of(revised) if revised else None,
            judgement=judgement,
        )


def judgement_of(attempt: Attempt) -> Judgement | None:
    """What the strongest referee says of the attempt; None where nobody has judged it."""
    rows = Verdict.objects.filter(attempt=attempt).select_related("attempt").defer("attempt__content")
    judged = strongest_judgements(row.get_judgement() for row in rows.order_by("created_at", "id"))
    return judged.get(attempt.number)


def _requirements_of(attempt: Attempt) -> RequirementsReport | None:
    """The check of the minimum requirements, whichever verdict on the attempt carries it."""
    rows = Verdict.objects.filter(attempt=attempt, requirements__isnull=False).order_by("created_at", "id")
    last = rows.last()
    return last.get_requirements() if last else None


def proposals_of(report: Report) -> list[KeptEntry]:
    """The notebook's entries that were proposed because of the report, by its run or by a correction."""
    recorded = Step.objects.filter(
        run=report.run_id, kind=ProposeEntry.kind, result__reflection_id=report.reflection_id
    ).values_list("result__source", flat=True)
    value = report.get_value()
    classes = {report.error_type, *(correction.after for correction in report.corrections.all())}
    follow = [
        proposal.source
        for code in sorted(classes)
        for proposal in proposals_for(value.model_copy(update={"type": ErrorClass(code)}), agent=report.agent)
    ]
    return proposed_from(report.project_id, sources=list(dict.fromkeys([*recorded, *follow])))
