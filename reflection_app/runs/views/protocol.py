"""The six steps as a run's page shows them: for each rewind ticket what was done, what is now, and what is to come.

Told from the recorded steps alone, which a fork has as well as its parent.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from reflection_app.core.registry import STAGE_FACTS
from reflection_app.loops.effects import IssueTicket, RecordPlan, RecordPlanStep, RecordReport, RecordStage
from reflection_app.loops.plans import CheckedPlan, PlanStep, PlanStepOutcome
from reflection_app.loops.protocol.reports import KeptReport, without_number
from reflection_app.loops.protocol.stages import (
    AntiPattern,
    Executed,
    Output,
    Planned,
    Reflected,
    RepairStatus,
    RepairStep,
    StageRecord,
    Submitted,
)
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tickets import Ticket
from reflection_app.runs.models import Run, Step, StepState
from reflection_app.runs.views.steps import is_of_supplements, place_of

NAMES = ("explore", "reflect", "classify", "plan", "execute", "submit")


@dataclass(frozen=True)
class RepairShown:
    """A repair step. `state` is its status once it ended, else `now`, `to_come` or `not_reached`."""

    number: int
    repair: RepairStep
    state: str
    ended: Executed | None = None
    seq: int | None = None


@dataclass(frozen=True)
class StageShown:
    """One of the six. `state` is `done`, `failed`, `again`, `now`, `to_come`, `stopped` or `not_reached`.

    `failed`: a repair step did not work. `again`: what was submitted misses a requirement, so it goes round once more.
    """

    number: int
    name: str
    place: str
    state: str
    output: Output | None = None
    given: tuple[tuple[str, Any], ...] = ()
    seq: int | None = None
    repairs: tuple[RepairShown, ...] = ()

    @property
    def is_fallback(self) -> bool:
        """Whether code wrote it, since no model gave a usable answer."""
        return isinstance(self.output, Reflected | Planned) and self.output.is_fallback

    @property
    def facts(self) -> list[tuple[str, Any]]:
        """The parts of its output by name, texts and lists of texts; those that are empty are left out."""
        facts: dict[str, Any] = {}
        for name, value in self.output or ():
            if isinstance(value, str | float):
                facts[name] = value
            elif isinstance(value, AntiPattern):
                facts[name] = [one for one in (value.pattern_name, *value.symptoms, value.prevention) if one]
            elif isinstance(value, tuple):
                # The list numbers its items itself.
                facts[name] = [without_number(getattr(one, "action", str(one))) for one in value]
        if isinstance(self.output, Planned) and (lowered := self.output.expectation()):
            facts["lowered"] = list(lowered.in_words)
        return [(name, value) for name, value in facts.items() if name in STAGE_FACTS and value not in ("", [])]

    @property
    def completed(self) -> int:
        return sum(one.state == RepairStatus.COMPLETED for one in self.repairs)


@dataclass(frozen=True)
class RoundShown:
    """What follows from one ticket."""

    ticket: Ticket
    stages: tuple[StageShown, ...]
    reflection_id: str

    @property
    def place(self) -> str:
        return f"protocol-{self.ticket.attempt}"

    @property
    def done(self) -> int:
        return sum(stage.state in {"done", "failed", "again"} for stage in self.stages)


@dataclass
class _Recorded:
    """What the journal holds of one ticket's round: the newest record of each step, and the repairs by number."""

    ticket: Ticket
    outputs: dict[str, tuple[StageRecord, int]] = field(default_factory=dict)
    repairs: dict[int, tuple[Executed, int]] = field(default_factory=dict)
    reflection_id: str = ""

    def take(self, record: StageRecord, *, seq: int) -> None:
        if isinstance(record.output, Executed):
            self.repairs[record.output.number] = (record.output, seq)
        else:
            self.outputs[record.output.step] = (record, seq)


def has_protocol(run: Run) -> bool:
    return run.mode == Mode.REFLECTION_PROTOCOL.value


def rounds_of(run: Run) -> tuple[RoundShown, ...]:
    """The rounds of `run`, the newest first; none where its loop has no six steps."""
    if not has_protocol(run):
        return ()
    kinds = (IssueTicket.kind, RecordStage.kind, RecordReport.kind)
    rows = Step.objects.filter(run=run, kind__in=kinds, state=StepState.DONE).defer("request")
    by_ticket: dict[str, _Recorded] = {}
    reports: dict[int | None, str] = defaultdict(str)
    for row in rows:
        if row.kind == IssueTicket.kind:
            ticket = Ticket.model_validate(row.result)
            by_ticket[ticket.ticket_id] = _Recorded(ticket)
        elif row.kind == RecordReport.kind:
            reports[row.attempt_number] = KeptReport.model_validate(row.result).reflection_id
        else:
            record = StageRecord.model_validate(row.result)
            if record.ticket_id in by_ticket:
                by_ticket[record.ticket_id].take(record, seq=row.seq)
    recorded = list(by_ticket.values())
    for one in recorded:
        one.reflection_id = reports[one.ticket.attempt]
    newest = recorded[-1] if recorded else None
    return tuple(_round(one, is_newest=one is newest, is_ended=run.is_finished) for one in reversed(recorded))


def _round(recorded: _Recorded, *, is_newest: bool, is_ended: bool) -> RoundShown:
    # The steps of the plan with how each ended, one by one.
    planned = recorded.outputs.get("plan")
    output = planned[0].output if planned else None
    steps = dict(enumerate(output.repair_steps, start=1)) if isinstance(output, Planned) else {}
    shown: list[RepairShown] = []
    next_repair = "now" if is_newest and not is_ended and "submit" not in recorded.outputs else "not_reached"
    for number in sorted({*steps, *recorded.repairs}):
        if number in recorded.repairs:
            ended, seq = recorded.repairs[number]
            shown.append(RepairShown(number, ended.repair, ended.status.value, ended, seq))
        else:
            shown.append(RepairShown(number, steps[number], next_repair))
            next_repair = "to_come" if next_repair in {"now", "to_come"} else next_repair
    repairs = tuple(shown)
    stages: list[StageShown] = []
    # The first step that is missing is the one that is worked at, or at which the run ended.
    missing = ("stopped" if is_ended else "now") if is_newest else "not_reached"
    for number, name in enumerate(NAMES, start=1):
        state = _state(recorded, name, repairs)
        if not state:
            state, missing = missing, "to_come" if is_newest and not is_ended else "not_reached"
        record, recorded_at = recorded.outputs.get(name, (None, None))
        stages.append(
            StageShown(
                number=number,
                name=name,
                place=f"protocol-{recorded.ticket.attempt}-{name}",
                state=state,
                output=record.output if record else None,
                given=tuple((given.replace("_", " "), value) for given, value in record.input.items())
                if record
                else (),
                seq=recorded_at,
                repairs=repairs if name == "execute" else (),
            )
        )
    return RoundShown(ticket=recorded.ticket, stages=tuple(stages), reflection_id=recorded.reflection_id)


def _state(recorded: _Recorded, name: str, repairs: tuple[RepairShown, ...]) -> str:
    """How a step ended; nothing where it has not."""
    if name != "execute":
        if name not in recorded.outputs:
            return ""
        output = recorded.outputs[name][0].output
        return "again" if isinstance(output, Submitted) and not output.ready_for_re_evaluation else "done"
    is_over = "submit" in recorded.outputs or ("plan" in recorded.outputs and all(one.ended for one in repairs))
    if not is_over:
        return ""
    return "failed" if any(one.state == RepairStatus.FAILED for one in repairs) else "done"


# Plans as the run page shows them: each with its versions, its steps, and how far each step is.

# The number of an attempt, and whether it is its supplementary plan, which comes after its own.
Place = tuple[int, bool]


@dataclass(frozen=True)
class PlanStepShown:
    """One step. `state` is `done`, `failed`, `skipped`, `running`, `waiting` or, once the run ended, `not_reached`."""

    step: PlanStep
    state: str
    outcome: PlanStepOutcome | None
    duration_s: float
    # The step of the journal that shows what was done, where there is one.
    seq: int | None


@dataclass(frozen=True)
class PlanShown:
    """The plan of one attempt or of its supplements. `refused` are its versions that could not be carried out."""

    attempt: int
    is_supplementary: bool
    refused: tuple[CheckedPlan, ...]
    steps: tuple[PlanStepShown, ...]

    @property
    def place(self) -> str:
        return f"plan-{self.attempt}{'-supplement' if self.is_supplementary else ''}"

    @property
    def done(self) -> int:
        return sum(one.state == "done" for one in self.steps)


def has_plans(run: Run) -> bool:
    return run.mode == Mode.PLANNING.value


def plans_of(run: Run) -> tuple[PlanShown, ...]:
    """The plans of `run`, the newest first and supplements never carried out last; none where it does not plan."""
    if not has_plans(run):
        return ()
    recorded: dict[Place, list[CheckedPlan]] = defaultdict(list)
    under: dict[tuple[Place, str], list[Step]] = defaultdict(list)
    rows = Step.objects.filter(run=run).filter(Q(kind=RecordPlan.kind) | Q(key__contains="/step-")).defer("request")
    for row in rows:
        if row.attempt_number is None:
            continue
        of = (row.attempt_number, is_of_supplements(row))
        if row.kind == RecordPlan.kind:
            recorded[of].append(CheckedPlan.model_validate(row.result))
        else:
            under[of, place_of(row)].append(row)
    plans = []
    for of in sorted(recorded, reverse=True):
        valid = next((checked for checked in recorded[of] if not checked.issues), None)
        steps = valid.plan.steps if valid else ()
        shown = []
        for place, step in enumerate(steps, start=1):
            rows_of_step = under.get((of, str(place)), [])
            worked = [row for row in rows_of_step if row.kind != RecordPlanStep.kind]
            ended = next((row for row in rows_of_step if row.kind == RecordPlanStep.kind), None)
            outcome = PlanStepOutcome.model_validate(ended.result) if ended else None
            if outcome is not None:
                state = outcome.state.value
            elif run.is_finished:
                state = "not_reached" if all(row.state == StepState.ABANDONED for row in rows_of_step) else "failed"
            else:
                state = "running" if rows_of_step else "waiting"
            shown.append(
                PlanStepShown(
                    step=step,
                    state=state,
                    outcome=outcome,
                    duration_s=sum(row.duration_s for row in worked),
                    seq=worked[-1].seq if worked else None,
                )
            )
        plan = PlanShown(
            attempt=of[0],
            is_supplementary=of[1],
            refused=tuple(checked for checked in recorded[of] if checked.issues),
            steps=tuple(shown),
        )
        plans.append(plan)
    return tuple(sorted(plans, key=lambda plan: plan.is_supplementary and not plan.steps))
