"""Completeness checks as the run page shows them, read from the journal, so that forks show theirs, too."""

from dataclasses import dataclass
from decimal import Decimal

from reflection_app.loops.completeness.checks import (
    CheckState,
    Completeness,
    HistoryStep,
    Supplement,
    SupplementResult,
    SupplementsRun,
)
from reflection_app.loops.effects import RecordCompleteness, RecordSupplements
from reflection_app.loops.task_spec import Mode
from reflection_app.runs.models import Run, Step, StepState

MOST_HISTORY_SHOWN = 100


@dataclass(frozen=True)
class SupplementShown:
    """`state` is `done`, `failed`, `not_tried`, `under_way`, `not_reached`, or `advice` that nobody carries out."""

    supplement: Supplement
    result: SupplementResult | None
    state: str


@dataclass(frozen=True)
class CheckShown:
    """One check: what it found, what became of the supplements, and in which step it was asked for."""

    found: Completeness
    supplements: tuple[SupplementShown, ...]
    done: SupplementsRun | None
    seq: int

    @property
    def attempt(self) -> int:
        return self.found.attempt

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


def has_checks(run: Run) -> bool:
    """Whether the run's completeness is checked at all."""
    is_planned = run.mode == Mode.PLANNING.value and bool(run.spec.get("completeness"))
    return is_planned or run.mode == Mode.COMPLETENESS_CHECK.value


def checks_of(run: Run) -> ChecksShown | None:
    """The checks of `run`; None where there are none to be."""
    if not has_checks(run):
        return None
    kinds = (RecordCompleteness.kind, RecordSupplements.kind)
    rows = list(Step.objects.filter(run=run, kind__in=kinds, state=StepState.DONE).only("kind", "result", "seq"))
    done = {one.attempt: one for one in (_done(row) for row in rows if row.kind == RecordSupplements.kind)}
    found = [(Completeness.model_validate(row.result), row.seq) for row in rows if row.kind == RecordCompleteness.kind]
    asks = Step.objects.filter(run=run, role="completeness", state=StepState.STARTED)
    only_advises = run.mode == Mode.COMPLETENESS_CHECK.value
    history = run.get_spec().history if only_advises else ()
    return ChecksShown(
        checks=tuple(
            _shown(one, done.get(one.attempt), seq=seq, is_ended=run.is_finished, only_advises=only_advises)
            for one, seq in reversed(found)
        ),
        is_checking=not run.is_finished and (asks.exists() or (only_advises and not found)),
        history=history[:MOST_HISTORY_SHOWN],
        history_left_out=max(0, len(history) - MOST_HISTORY_SHOWN),
    )


def _done(row: Step) -> SupplementsRun:
    return SupplementsRun.model_validate(row.result)


def _shown(
    found: Completeness, done: SupplementsRun | None, *, seq: int, is_ended: bool, only_advises: bool
) -> CheckShown:
    results = dict(enumerate(done.results)) if done else {}
    return CheckShown(
        found=found,
        supplements=tuple(
            SupplementShown(one, results.get(place), _state(results.get(place), is_ended, only_advises))
            for place, one in enumerate(found.supplements if found.state is CheckState.INCOMPLETE else ())
        ),
        done=done,
        seq=seq,
    )


def _state(result: SupplementResult | None, is_ended: bool, only_advises: bool) -> str:
    if only_advises:
        return "advice"
    if result is None:
        return "not_reached" if is_ended else "under_way"
    return "done" if result.succeeded else "failed" if result.attempted else "not_tried"
