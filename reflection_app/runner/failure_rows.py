"""The rows of failed calls, their diagnosis, and the fixes that worked."""

from uuid import UUID

from reflection_app.loops.diagnosis.diagnoses import DiagnosedFailure, FixOutcome, FixRecall
from reflection_app.loops.effects import RecallFix
from reflection_app.models import Run, Step
from reflection_app.runner.batch import Batch


def recall_fix(effect: RecallFix, *, run_id: UUID) -> FixRecall:
    raise NotImplementedError


def write_failure(run: Run, step: Step, batch: Batch, *, diagnosed: DiagnosedFailure) -> None:
    raise NotImplementedError


def write_fix_outcome(run: Run, batch: Batch, *, outcome: FixOutcome) -> None:
    raise NotImplementedError
