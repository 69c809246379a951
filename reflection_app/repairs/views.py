"""Reports, failed calls and completeness checks as their pages show them."""

import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.attachments.models import ProducedFile
from reflection_app.attachments.produced import looked_at_by_check
from reflection_app.core.registry import look_of
from reflection_app.loops.completeness.checks import (
    CheckState,
    Completeness,
    CompletenessSettings,
    FileAspect,
    HistoryStep,
    SettingsFrom,
    Supplement,
    SupplementResult,
    SupplementsRun,
    state_after,
)
from reflection_app.loops.completeness.sampling import CheckLots
from reflection_app.loops.diagnosis.diagnoses import ChangedParam, changed_params
from reflection_app.loops.effects import DrawCheck, RecordCompleteness, RecordSecondLook, RecordSupplements
from reflection_app.loops.protocol.classification import NAMES, classify
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reports import Report as ReportValue
from reflection_app.loops.protocol.reports import without_number
from reflection_app.loops.protocol.stages import RepairStatus
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Judgement
from reflection_app.repairs.dropped_words import why_dropped
from reflection_app.repairs.models import AgentInstruction, ClassCorrection, Report, ToolFailure
from reflection_app.repairs.reports import ReportQuality, judgement_of
from reflection_app.runs.models import Run, Step, StepState
from reflection_app.web.labels import in_words
from reflection_app.web.template_filters import shortened

# A report as its page tells it: a post-mortem, with the facts and the questions that its class follows from.


# What each class means, and what it has done, for whoever corrects it.
MEANINGS = {
    ErrorClass.MODEL_CAPABILITY: gettext_noop("Repeated mistake. An anti-pattern is sent to the notebook."),
    ErrorClass.DECISION_ERROR: gettext_noop("Wrong decision. An instruction for the agent's prompt is proposed."),
    ErrorClass.PIPELINE_CRASH: gettext_noop("Interrupted run. It resumes from the last good step."),
    ErrorClass.MISSING_KNOWLEDGE: gettext_noop("Missing knowledge. It is requested and stored."),
    ErrorClass.NORMAL_ITERATION: gettext_noop("Completed, but below the threshold. No repair needed."),
}
CLASSES = [(one, NAMES[one], MEANINGS[one]) for one in ErrorClass]


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
        return self.row.surface_issue.strip() or _("Attempt below the threshold")

    @property
    def steps(self) -> list[str]:
        told = (without_number(step).strip() for step in self.value.occurrence_process)
        return [step for step in told if step]

    @property
    def questions(self) -> list[tuple[str, str, str]]:
        """The questions of the tree, each with its answer, and because of what."""
        told = []
        for text in classify(self.value.facts).path:
            question, _mark, rest = text.partition("? ")
            answer, _colon, because = rest.partition(": ")
            told.append((f"{question}?", answer, because))
        return told

    @property
    def repairs_told(self) -> str:
        """How the repairs went, in a few words: `2 completed, 1 failed`."""
        counted = Counter(action.status for action in self.value.repair_actions)
        return ", ".join(f"{counted[status]} {in_words(status.value)}" for status in RepairStatus if counted[status])

    @cached_property
    def revised_judgement(self) -> Judgement | None:
        return judgement_of(self.row.revised_attempt) if self.row.revised_attempt else None

    @cached_property
    def quality(self) -> ReportQuality:
        return ReportQuality(self.row)

    @cached_property
    def instructions(self) -> list[AgentInstruction]:
        return list(self.row.instructions.order_by("created_at", "id"))

    @cached_property
    def corrections(self) -> list[ClassCorrection]:
        return list(self.row.corrections.all())


# A failed call as its page and a run's page show it.

LONGEST_VALUE = 400
# A parameter, and what it was before and after, as text.
type Change = tuple[ChangedParam, str, str]


def changes_shown(before: dict[str, Any], after: dict[str, Any] | None) -> list[Change]:
    """Return what differs between two sets of parameters, with the values as texts."""
    return [(one, _written(one.before), _written(one.after)) for one in changed_params(before, after)]


def _written(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), LONGEST_VALUE)


def failures_by_place(run: Run) -> dict[str, ToolFailure]:
    """The run's failed calls by the keys of the steps that made them. Runs without tools are not asked about."""
    if not run.spec.get("tools"):
        return {}
    rows = ToolFailure.objects.filter(run=run).exclude(place="")
    return {row.place: row for row in rows}


# Completeness checks as the run page shows them, read from the journal, so that forks show theirs, too.

MOST_HISTORY_SHOWN = 100


@dataclass(frozen=True)
class SupplementShown:
    """`state` is `done`, `done_already`, `failed`, `not_tried`, `left_out`, `under_way` or `not_reached`.

    It is `advice` where nobody carries it out.
    """

    supplement: Supplement
    result: SupplementResult | None
    state: str

    @property
    def why_left_out(self) -> str:
        """Why it was not begun, in the reader's language."""
        code = self.result.left_out if self.result else None
        return str(look_of(code.value, "dropped").words) if code else ""


@dataclass(frozen=True)
class CheckShown:
    """One check: what it found, what became of the supplements, what a second look found, and in which steps."""

    found: Completeness
    supplements: tuple[SupplementShown, ...]
    done: SupplementsRun | None
    seq: int
    looked: tuple[ProducedFile, ...] = ()
    second_look: Completeness | None = None
    second_seq: int | None = None

    @property
    def attempt(self) -> int:
        return self.found.attempt

    @property
    def state(self) -> CheckState:
        return state_after(self.found, self.done, second_look=self.second_look)

    @property
    def dropped(self) -> list[tuple[str, str]]:
        """What was left out, and why."""
        return [(one.operation, why_dropped(one)) for one in self.found.dropped]

    @property
    def faulty_not_opened(self) -> list[FileAspect]:
        """What the files lack, but for what is told beside each of those that were opened."""
        told = {(one.name, fault) for one in self.looked for fault in one.found.faults}
        return [one for one in self.found.faulty_files if (one.file, one.fault) not in told]

    @property
    def is_looked_at_again(self) -> bool:
        """Whether a second look is to be made, or was."""
        return self.second_look is not None or bool(self.done and self.done.looks_again)

    @property
    def were_tried(self) -> bool:
        """Whether any supplement was carried out, or begun."""
        return any(one.attempted for one in self.done.results) if self.done else False

    @property
    def all_tokens(self) -> int:
        """What the check, its supplements and the second look took."""
        return self.found.tokens + self.supplements_tokens + (self.second_look.tokens if self.second_look else 0)

    @property
    def all_cost_usd(self) -> Decimal:
        second = self.second_look.cost_usd if self.second_look else Decimal(0)
        return self.found.cost_usd + self.supplements_cost_usd + second

    @property
    def supplements_tokens(self) -> int:
        return sum(one.tokens for one in self.done.results) if self.done else 0

    @property
    def supplements_cost_usd(self) -> Decimal:
        return sum((one.cost_usd for one in self.done.results), Decimal(0)) if self.done else Decimal(0)


@dataclass(frozen=True)
class ChecksShown:
    """All checks of a run, the newest first; `is_checking` while one is under way."""

    checks: tuple[CheckShown, ...]
    is_checking: bool
    history: tuple[HistoryStep, ...]
    history_left_out: int
    settings_from: SettingsFrom | None
    settings: CompletenessSettings | None
    lots: CheckLots | None = None


def checks_of(run: Run) -> ChecksShown | None:
    """The checks of `run`; None where its completeness is not checked at all."""
    is_chosen = run.spec.get("completeness_from") == SettingsFrom.TASK
    is_planned = run.mode == Mode.PLANNING.value and (bool(run.spec.get("completeness")) or is_chosen)
    only_advises = run.mode == Mode.COMPLETENESS_CHECK.value
    if not is_planned and not only_advises:
        return None
    kinds = (RecordCompleteness.kind, RecordSupplements.kind, RecordSecondLook.kind, DrawCheck.kind)
    rows = list(Step.objects.filter(run=run, kind__in=kinds, state=StepState.DONE).only("kind", "result", "seq"))
    runs = [SupplementsRun.model_validate(row.result) for row in rows if row.kind == RecordSupplements.kind]
    done = {one.attempt: one for one in runs}
    found = [(Completeness.model_validate(row.result), row.seq) for row in rows if row.kind == RecordCompleteness.kind]
    seconds = {
        one.attempt: (one, row.seq)
        for row in rows
        if row.kind == RecordSecondLook.kind
        for one in [Completeness.model_validate(row.result)]
    }
    lots = next((CheckLots.model_validate(row.result) for row in rows if row.kind == DrawCheck.kind), None)
    asks = Step.objects.filter(run=run, role="completeness", state=StepState.STARTED)
    spec = run.get_spec()
    history = spec.history if only_advises else ()
    checks = []
    for one, seq in reversed(found):
        ran = done.get(one.attempt)
        results = dict(enumerate(ran.results)) if ran else {}
        supplements = tuple(
            SupplementShown(supplement, results.get(place), _state(results.get(place), run.is_finished, only_advises))
            for place, supplement in enumerate(one.supplements if one.state is CheckState.INCOMPLETE else ())
        )
        looked = looked_at_by_check(run.pk, attempt=one.attempt).prefetch_related("attachment") if one.files else ()
        second_look, second_seq = seconds.get(one.attempt, (None, None))
        checks.append(
            CheckShown(
                found=one,
                supplements=supplements,
                done=ran,
                seq=seq,
                looked=tuple(looked),
                second_look=second_look,
                second_seq=second_seq,
            )
        )
    return ChecksShown(
        checks=tuple(checks),
        is_checking=not run.is_finished and (asks.exists() or (only_advises and not found)),
        history=history[:MOST_HISTORY_SHOWN],
        history_left_out=max(0, len(history) - MOST_HISTORY_SHOWN),
        settings_from=spec.completeness_from,
        settings=spec.completeness,
        lots=lots,
    )


def _state(result: SupplementResult | None, is_ended: bool, only_advises: bool) -> str:
    if only_advises:
        return "advice"
    if result is None:
        return "not_reached" if is_ended else "under_way"
    if result.done_already:
        return "done_already"
    if result.left_out:
        return "left_out"
    return "done" if result.succeeded else "failed" if result.attempted else "not_tried"
