"""A report as its page tells it: a post-mortem, with the facts and the questions that its class follows from."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from notebook_app.public import KeptEntry
from reflection_app.loops.protocol.classification import NAMES, classify
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.report_documents import without_number
from reflection_app.loops.protocol.reports import Report as ReportValue
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.verdicts import Judgement
from reflection_app.repairs.models.report import AgentInstruction, ClassCorrection, Report
from reflection_app.repairs.report_quality import ReportQuality, judgement_of, proposals_of

# What each class means, and what it has done, for whoever corrects it.
MEANINGS = {
    ErrorClass.MODEL_CAPABILITY: gettext_noop("The same mistake again. An anti-pattern goes to the notebook."),
    ErrorClass.DECISION_ERROR: gettext_noop("A wrong turn. An instruction for the agent's prompt is proposed."),
    ErrorClass.PIPELINE_CRASH: gettext_noop("The run broke off. It is resumed from the last good step."),
    ErrorClass.MISSING_KNOWLEDGE: gettext_noop("The agent lacks knowledge. It is asked for and stored."),
    ErrorClass.NORMAL_ITERATION: gettext_noop("Completed, but below the bar. Nothing has to be repaired."),
}
CLASSES = [(one, NAMES[one], MEANINGS[one]) for one in ErrorClass]


@dataclass(frozen=True)
class Question:
    """A question of the tree with its answer, and because of what."""

    text: str
    answer: str
    because: str


@dataclass(frozen=True)
class ReportShown:
    row: Report

    @cached_property
    def value(self) -> ReportValue:
        return self.row.get_holding()

    @property
    def type(self) -> ErrorClass:
        return ErrorClass(self.row.holding_type)

    @property
    def type_name(self) -> str:
        return _(NAMES[self.type])

    @property
    def meaning(self) -> str:
        return _(MEANINGS[self.type])

    @property
    def computed_name(self) -> str:
        return _(NAMES[ErrorClass(self.row.error_type)])

    @property
    def is_corrected(self) -> bool:
        return self.row.corrected_type not in {None, self.row.error_type}

    @property
    def headline(self) -> str:
        return self.row.surface_issue.strip() or _("An attempt that fell short")

    @property
    def steps(self) -> list[str]:
        told = (without_number(step).strip() for step in self.value.occurrence_process)
        return [step for step in told if step]

    @property
    def questions(self) -> list[Question]:
        return [_question(text) for text in classify(self.value.facts).path]

    @property
    def repairs_told(self) -> str:
        """How the repairs went, in a few words: `2 completed, 1 failed`."""
        counted = Counter(action.status for action in self.value.repair_actions)
        return ", ".join(f"{counted[status]} {status.value}" for status in RepairStatus if counted[status])

    @cached_property
    def revised_judgement(self) -> Judgement | None:
        return judgement_of(self.row.revised_attempt) if self.row.revised_attempt else None

    @cached_property
    def quality(self) -> ReportQuality:
        return ReportQuality(self.row)

    @cached_property
    def proposals(self) -> list[KeptEntry]:
        return proposals_of(self.row)

    @cached_property
    def instructions(self) -> list[AgentInstruction]:
        return list(self.row.instructions.order_by("created_at", "id"))

    @cached_property
    def corrections(self) -> list[ClassCorrection]:
        return list(self.row.corrections.all())


def _question(text: str) -> Question:
    question, _mark, rest = text.partition("? ")
    answer, _colon, because = rest.partition(": ")
    return Question(f"{question}?", answer, because)
