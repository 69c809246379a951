"""The rows of completeness checks, and the events that tell of them."""

from reflection_app.loops.completeness.checks import Completeness, SupplementsRun
from reflection_app.models import Run, Step
from reflection_app.runner.batch import Batch


def write_check(run: Run, step: Step, batch: Batch, *, found: Completeness) -> None:
    raise NotImplementedError


def write_supplements(run: Run, batch: Batch, *, done: SupplementsRun) -> None:
    raise NotImplementedError
