"""The calls of tools that led to an attempt, as its review shows them."""

import json
from dataclasses import dataclass, replace

from django.db.models import F

from reflection_app.loops.effects import CallTool
from reflection_app.repairs.views.failure_view import failures_by_place
from reflection_app.reviews.models.review import Review
from reflection_app.runs.models import Attempt, Step, StepState
from reflection_app.runs.views.steps import CallShown, call_of_step, place_of

MOST_SHOWN = 40
LONGEST_GIST = 120


@dataclass(frozen=True)
class CallLine:
    """One call with the attempt that it was made for, and the step of the plan where it is one's."""

    step: Step
    call: CallShown
    plan_place: str

    @property
    def gist(self) -> str:
        """The beginning of the arguments, in one line."""
        return json.dumps(self.call.arguments, ensure_ascii=False)[:LONGEST_GIST]

    @property
    def is_error(self) -> bool:
        return self.call.ok is False or self.step.state == StepState.FAILED


@dataclass(frozen=True)
class CallLines:
    """The last calls in their order, and how many there were before those."""

    lines: tuple[CallLine, ...] = ()
    left_out: int = 0

    @property
    def errors(self) -> int:
        return sum(line.is_error for line in self.lines)


def calls_before(review: Review) -> CallLines:
    """The run's calls up to the attempt that is reviewed. Runs that were given no tools are not asked about."""
    if not review.run.spec.get("tools"):
        return CallLines()
    made_at = Attempt.objects.filter(pk=review.attempt_id).annotate(at=F("step__seq")).values("at")
    steps = Step.objects.filter(run=review.run_id, kind=CallTool.kind, seq__lte=made_at)
    failures = failures_by_place(review.run)
    newest = list(steps.order_by("-seq")[: MOST_SHOWN + 1])
    left_out = steps.count() - MOST_SHOWN if len(newest) > MOST_SHOWN else 0
    lines = []
    for step in reversed(newest[:MOST_SHOWN]):
        if (call := call_of_step(step)) is not None:
            shown = replace(call, diagnosis=failures.get(step.key))
            lines.append(CallLine(step, shown, place_of(step)))
    return CallLines(tuple(lines), left_out)
