"""A fork and its parent side by side, from the step where they part."""

from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from reflection_app.loops.code_tests import TestReport, TestResult
from reflection_app.loops.effects import AskReviewer, AwaitAttempt, Generate, KeepAttempt, RecordVerdict, RunTests
from reflection_app.runs.models.attempt import VOID, Attempt, Verdict
from reflection_app.runs.models.run import Run, Step
from reflection_app.runs.views.step_lines import StepLine
from reflection_app.web.template_filters import pretty_json
from reflection_app.web.text_diff import LONGEST_COMPARED, marked

# Further ones are listed, not compared.
MOST_COMPARED = 60

# Names that tickets and reports get from them differ always, and say nothing.
CHANCE_AND_CLOCK = {"ticket_id", "reflection_id", "timestamp"}


@dataclass(frozen=True)
class Side:
    """One of the two runs, with the score of what it keeps and what it inherited."""

    run: Run
    score: float | None
    best: Attempt | None
    inherited: tuple[Step, ...]

    @property
    def inherited_cost(self) -> Decimal:
        return sum((step.cost_usd for step in self.inherited), Decimal(0))

    @property
    def inherited_tokens(self) -> int:
        return sum(step.prompt_tokens + step.completion_tokens for step in self.inherited)


@dataclass(frozen=True)
class Pair:
    """A step of the parent beside the fork's step of the same key; one of them may be missing."""

    left: StepLine | None
    right: StepLine | None
    is_compared: bool = True

    @property
    def line(self) -> StepLine:
        found = self.right or self.left
        assert found is not None
        return found

    @cached_property
    def texts(self) -> tuple[str, str]:
        return result_text(self.left), result_text(self.right)

    @cached_property
    def differs(self) -> bool:
        return not (self.left and self.right) or self.texts[0] != self.texts[1] or self._states_differ

    @property
    def _states_differ(self) -> bool:
        assert self.left is not None
        assert self.right is not None
        return self.left.step.state != self.right.step.state

    @cached_property
    def marked(self) -> tuple[SafeString, SafeString]:
        """Both texts with what differs marked; a text that stands alone is all new, and needs no marks."""
        if self.left and self.right:
            return marked(*self.texts)
        left, right = (format_html("{}", text[:LONGEST_COMPARED]) for text in self.texts)
        return left, right

    @property
    def has_text(self) -> bool:
        return any(self.texts)

    @property
    def is_cut(self) -> bool:
        return max(len(text) for text in self.texts) > LONGEST_COMPARED


@dataclass(frozen=True)
class Comparison:
    parent: Side
    fork: Side
    shared: int
    pairs: tuple[Pair, ...]

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.parent, self.fork

    @property
    def kept_differs(self) -> bool:
        return _content(self.parent.best) != _content(self.fork.best)

    @cached_property
    def kept(self) -> tuple[SafeString, SafeString]:
        """What the two runs keep, with what differs marked."""
        return marked(_content(self.parent.best), _content(self.fork.best))


def compare(fork: Run, *, parent: Run) -> Comparison:
    """What the two share, and the rest of both in pairs of the same key, in the order in which they came."""
    parting = fork.forked_from_step or 1
    left = [StepLine(step) for step in Step.objects.filter(run=parent, seq__gte=parting)]
    right = [StepLine(step) for step in Step.objects.filter(run=fork, seq__gte=parting)]
    return Comparison(parent=_side(parent), fork=_side(fork), shared=parting - 1, pairs=tuple(_paired(left, right)))


def _paired(left: list[StepLine], right: list[StepLine]) -> list[Pair]:
    keys, other_keys = [line.step.key for line in left], [line.step.key for line in right]
    pairs: list[Pair] = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, keys, other_keys, False).get_opcodes():
        if tag == "equal":
            pairs += [Pair(*both) for both in zip(left[start:end], right[other_start:other_end], strict=True)]
        else:
            pairs += [Pair(line, None) for line in left[start:end]]
            pairs += [Pair(None, line) for line in right[other_start:other_end]]
    return [Pair(pair.left, pair.right, is_compared=place < MOST_COMPARED) for place, pair in enumerate(pairs)]


def _side(run: Run) -> Side:
    best = run.best_attempt
    judged = Verdict.objects.filter(attempt=best).exclude(VOID)
    decisive = judged.order_by("-referee", "-created_at", "-id").first() if best else None
    inherited = tuple(Step.objects.filter(run=run, is_inherited=True).defer("request", "result"))
    return Side(run=run, score=decisive.score if decisive else None, best=best, inherited=inherited)


def _content(attempt: Attempt | None) -> str:
    return attempt.content if attempt else ""


def result_text(line: StepLine | None) -> str:
    """What a step came to, as text that can be compared."""
    if line is None:
        return ""
    step = line.step
    made = step.request if step.kind == KeepAttempt.kind else step.result
    if step.error or not isinstance(made, dict):
        return step.error
    return _text_of(step.kind, made)


def _text_of(kind: str, made: dict[str, Any]) -> str:
    if kind == Generate.kind:
        return str(made.get("text", ""))
    if kind in {AwaitAttempt.kind, KeepAttempt.kind}:
        return str(made.get("content", ""))
    if kind in {RecordVerdict.kind, AskReviewer.kind}:
        return _judged(made)
    if kind == RunTests.kind:
        return _tested(TestReport.model_validate(made))
    return pretty_json({name: value for name, value in made.items() if name not in CHANCE_AND_CLOCK})


def _judged(result: dict[str, Any]) -> str:
    lines = [_("%(verdict)s, score %(score)s") % {"verdict": result.get("verdict"), "score": result.get("score")}]
    for issue in result.get("issues") or []:
        fix = issue.get("suggested_fix")
        lines.append(f"- {issue.get('description')}" + (f" ({fix})" if fix else ""))
    return "\n".join([*lines, str(result.get("reason") or "")]).strip()


def _tested(report: TestReport) -> str:
    """The report without its times, which differ always."""
    passed, failed = _("passed"), _("failed")
    told = [
        f"{passed}: {result.name}" if result.passed else f"{failed}: {result.name}\n  {_got(result)}"
        for result in report.results
    ]
    figures = {"passed": report.total - len(report.failures), "all": report.total}
    return "\n".join([_("%(passed)s of %(all)s passed") % figures, *told])


def _got(result: TestResult) -> str:
    return _("got %(what)s") % {"what": result.actual or result.error or result.reason}
