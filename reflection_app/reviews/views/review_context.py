"""All that a review's page shows besides the form: what was asked, what was made of it, what was said, what follows.

The number of queries is bounded, whatever the run: a person waits for this page with each decision.
"""

from dataclasses import dataclass
from typing import Any

from notebook_app.public import SimilarEntry, similar
from reflection_app.loops.code_tests import TestReport
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.reviews.models.review import Review
from reflection_app.reviews.views.decision_effects import effects_of
from reflection_app.reviews.views.earlier_attempts import earlier_attempts
from reflection_app.reviews.views.review_calls import calls_before
from reflection_app.reviews.views.why_here import why_here
from reflection_app.runs.models import Verdict
from reflection_app.runs.views.attempts import AttemptCard, what_is_left
from reflection_app.runs.views.comparison import tell_pick
from reflection_app.runs.views.steps import is_tool_run
from reflection_app.web.hidden_characters import hidden_in, revealed
from reflection_app.web.rendering import LONGEST_LAID_OUT, render_markdown

LONGEST_ASKED = 1_500
MOST_SIMILAR = 5
# From here on the attempt scrolls in a box of its own, so that what is said of it stays within reach.
LONG = 12_000


@dataclass(frozen=True)
class Tested:
    """The tests of an attempt, those that failed apart: they are what a judge looks at first."""

    report: TestReport

    @property
    def failing(self) -> TestReport:
        return self.report.model_copy(update={"results": self.report.failures})

    @property
    def passing(self) -> TestReport:
        passed = tuple(result for result in self.report.results if result.passed)
        return self.report.model_copy(update={"results": passed})


@dataclass(frozen=True)
class SaidOfIt:
    """The verdicts on the attempt, and what was checked of it by code."""

    others: tuple[Verdict, ...]
    tests: Tested | None
    requirements: RequirementsReport | None


def review_context(review: Review, *, asked: dict[str, str]) -> dict[str, Any]:
    """What the templates of an item name. `asked` is the address's query: which comparison is wanted."""
    run = review.run
    left = what_is_left(run) if review.is_open and review.holds_run else None
    context: dict[str, Any] = {
        "review": review,
        "run": run,
        "project": review.project,
        "objective": render_markdown(run.task.objective),
        "left": left,
        "effects": effects_of(review, left=left),
        "why": why_here(review),
        "similar": _similar(review),
        "thresholds": run.get_spec().thresholds,
    }
    if review.is_pick:
        return context | {"pick": tell_pick(review)}
    return (
        context | _attempt(review) | {"calls": calls_before(review), "earlier": earlier_attempts(review, asked=asked)}
    )


def _attempt(review: Review) -> dict[str, Any]:
    attempt, spec = review.attempt, review.run.spec
    verdicts = tuple(Verdict.objects.filter(attempt=attempt).select_related("given_by"))
    card = AttemptCard(
        attempt=attempt,
        verdicts=verdicts,
        reviews=(),
        is_best=attempt.pk == review.run.best_attempt_id,
        is_code=any(verdict.tests for verdict in verdicts) or bool(spec.get("tests")),
        is_call=is_tool_run(spec),
        is_thought=bool(spec.get("chain_of_thought")),
    )
    hidden = hidden_in(attempt.content)
    return {
        "card": card,
        "said": _said(review, verdicts),
        "is_long": len(attempt.content) > LONG,
        # What is too long to be laid out is shown raw already.
        "raw": revealed(attempt.content) if hidden or len(attempt.content) <= LONGEST_LAID_OUT else "",
        "hidden": hidden,
    }


def _said(review: Review, verdicts: tuple[Verdict, ...]) -> SaidOfIt:
    """The newest tests and requirements, whichever verdict they came with. The one that is reviewed is shown apart."""
    tested = next((verdict for verdict in reversed(verdicts) if verdict.tests), None)
    checked = next((verdict for verdict in reversed(verdicts) if verdict.requirements), None)
    report = tested.get_tests() if tested else None
    # What a decision on this very review has added is told with the decision.
    apart = {review.verdict_id, review.decided_verdict_id}
    return SaidOfIt(
        others=tuple(verdict for verdict in verdicts if verdict.pk not in apart),
        tests=Tested(report) if report else None,
        requirements=checked.get_requirements() if checked else None,
    )


def _similar(review: Review) -> list[SimilarEntry]:
    """Entries of the notebook that are about what the task and the verdict's issues are about."""
    issues = (str(issue.get("description", "")) for issue in review.verdict.issues)
    text = "\n".join([review.run.task.objective[:LONGEST_ASKED], *issues])
    return similar(review.project_id, text, limit=MOST_SIMILAR)
