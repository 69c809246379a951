"""An unsettled pick as its page tells it: the attempts side by side, what each computes, and where they part."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.safestring import SafeString

from reflection_app.loops.code_answers import code_of
from reflection_app.loops.code_tests import TestReport
from reflection_app.loops.effects import RunTests
from reflection_app.reviews.models.review import Review
from reflection_app.runs.models.attempt import Attempt
from reflection_app.runs.models.run import Step, StepState
from reflection_app.runs.views.attempt_cards import AttemptCard, attempt_cards
from reflection_app.runs.views.code_differences import DiffLine, differences
from reflection_app.runs.views.compared_answers import TestLine, compare_answers
from reflection_app.web.rendering import render_code


@dataclass(frozen=True)
class Candidate:
    """An attempt to pick from: its code as it was tested, and what the tests showed of it."""

    card: AttemptCard
    code: str
    report: TestReport | None
    is_proposed: bool
    is_picked: bool

    @property
    def number(self) -> int:
        return self.card.attempt.number

    @property
    def key(self) -> str:
        """The key that goes to its button; there are nine."""
        return str(self.number) if self.number <= 9 else ""

    @cached_property
    def rendered(self) -> SafeString:
        return render_code(self.code)


@dataclass(frozen=True)
class Difference:
    """What the later attempt changed of the earlier; no lines where nothing, None where it is too long to tell."""

    earlier: Candidate
    later: Candidate
    lines: tuple[DiffLine, ...] | None


@dataclass(frozen=True)
class PickStory:
    candidates: tuple[Candidate, ...]
    lines: tuple[TestLine, ...]
    differences: tuple[Difference, ...]

    @property
    def tested(self) -> tuple[Candidate, ...]:
        """The candidates that the lines have a cell for, in their order."""
        return tuple(candidate for candidate in self.candidates if candidate.report)

    @property
    def open_lines(self) -> tuple[TestLine, ...]:
        return tuple(line for line in self.lines if not line.all_pass)

    @property
    def passed_lines(self) -> tuple[TestLine, ...]:
        return tuple(line for line in self.lines if line.all_pass)


def tell_pick(review: Review) -> PickStory:
    """The attempts that there were when the person was asked, the proposed one compared with each of the others."""
    candidates = _candidates(review)
    reports = {candidate.number: candidate.report for candidate in candidates if candidate.report}
    return PickStory(candidates=candidates, lines=compare_answers(reports), differences=_differences(candidates))


def _candidates(review: Review) -> tuple[Candidate, ...]:
    asked = asked_at(review)
    made = set(Attempt.objects.filter(run=review.run_id, step__seq__lt=asked).values_list("number", flat=True))
    tested = {step.attempt_number: step for step in _test_steps(review)}
    decided = review.decided_verdict
    picked = decided.attempt_id if decided and decided.passed else None
    return tuple(
        Candidate(
            card=card,
            code=_code_of(card.attempt, tested.get(card.attempt.number)),
            report=_report_of(tested.get(card.attempt.number)),
            is_proposed=card.attempt.pk == review.attempt_id,
            is_picked=card.attempt.pk == picked,
        )
        for card in attempt_cards(review.run)
        if card.attempt.number in made
    )


def asked_at(review: Review) -> int:
    """The number of the step that asked: only loops ask for a pick."""
    assert review.step is not None
    return review.step.seq


def _test_steps(review: Review) -> Sequence[Step]:
    """The latest test run of each attempt comes last."""
    asked = asked_at(review)
    steps = Step.objects.filter(run=review.run_id, kind=RunTests.kind, state=StepState.DONE, seq__lt=asked)
    return list(steps.order_by("seq"))


def _code_of(attempt: Attempt, step: Step | None) -> str:
    request: Any = step.request if step else None
    code = request.get("code") if isinstance(request, dict) else None
    return code if isinstance(code, str) else code_of(attempt.content)


def _report_of(step: Step | None) -> TestReport | None:
    return TestReport.model_validate(step.result) if step and step.result else None


def _differences(candidates: Sequence[Candidate]) -> tuple[Difference, ...]:
    proposed = next((candidate for candidate in candidates if candidate.is_proposed), None)
    if proposed is None:
        return ()
    pairs = (sorted((proposed, other), key=lambda one: one.number) for other in candidates if other is not proposed)
    return tuple(Difference(earlier, later, differences(earlier.code, later.code)) for earlier, later in pairs)
