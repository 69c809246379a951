"""All that a review's page shows besides the form: what was asked, what was made of it, what was said, what follows.

The number of queries is bounded, whatever the run: a person waits for this page with each decision.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db.models import F
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from notebook_app.public import similar
from reflection_app.core.audit import Actor
from reflection_app.core.permissions import Permission
from reflection_app.loops.attempt_effects import CallTool, Draw, ReviewDecision, ReviewReason
from reflection_app.loops.hidden_characters import hidden_in
from reflection_app.loops.required_review import END_REVIEW
from reflection_app.loops.task_spec import ReviewPolicy
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.views import failures_by_place
from reflection_app.reviews.deciding import may_undo
from reflection_app.reviews.decisions import goes_back
from reflection_app.reviews.editing import why_not_edited
from reflection_app.reviews.models import PanelState, Review, ReviewState, is_hidden
from reflection_app.reviews.panels import majority
from reflection_app.reviews.undo import why_it_stands
from reflection_app.reviews.views.policy import in_words
from reflection_app.runs.marking import output_of
from reflection_app.runs.models import Attempt, Step, StepState, Verdict
from reflection_app.runs.views.attempts import AttemptCard, Left, what_is_left
from reflection_app.runs.views.comparison import compared, tell_pick
from reflection_app.runs.views.marked_rows import compared_with_marks
from reflection_app.runs.views.passages import Passages
from reflection_app.runs.views.steps import CallShown, call_of_step, is_tool_run, place_of
from reflection_app.tasks.redo import why_no_redo
from reflection_app.web.access import DeskRequest
from reflection_app.web.placed import placed_text, with_passages
from reflection_app.web.rendering import LONGEST_LAID_OUT, render_answer, render_markdown

# The calls of tools that led to an attempt, as its review shows them.

MOST_SHOWN = 40
LONGEST_GIST = 120
# As templates/runs/_call.html cuts it.
LONGEST_OUTPUT = 4_000


@dataclass(frozen=True)
class CallLine:
    """`gist` is the beginning of the arguments, in one line."""

    step: Step
    call: CallShown
    plan_place: str
    gist: str
    is_error: bool
    # What the tool put out, as far as it is shown here, in pieces that can be marked.
    output: SafeString


def calls_before(review: Review, passages: Passages) -> dict[str, Any] | None:
    """The run's last calls up to the attempt that is reviewed, and how many are left out before those.

    None of runs that were given no tools: they are not asked about.
    """
    if not review.run.spec.get("tools"):
        return None
    made_at = Attempt.objects.filter(pk=review.attempt_id).annotate(at=F("step__seq")).values("at")
    steps = Step.objects.filter(run=review.run_id, kind=CallTool.kind, seq__lte=made_at)
    failures = failures_by_place(review.run)
    newest = list(steps.order_by("-seq")[: MOST_SHOWN + 1])
    lines = [
        CallLine(
            step=step,
            call=replace(call, diagnosis=failures.get(step.key)),
            plan_place=place_of(step),
            gist=json.dumps(call.arguments, ensure_ascii=False)[:LONGEST_GIST],
            is_error=call.ok is False or step.state == StepState.FAILED,
            output=_output_shown(step, passages),
        )
        for step in reversed(newest[:MOST_SHOWN])
        if (call := call_of_step(step)) is not None
    ]
    return {
        "lines": lines,
        "errors": sum(line.is_error for line in lines),
        "left_out": steps.count() - MOST_SHOWN if len(newest) > MOST_SHOWN else 0,
    }


def _output_shown(step: Step, passages: Passages) -> SafeString:
    output = output_of(step)
    placed = placed_text(output[:LONGEST_OUTPUT], reveals=False)
    return with_passages(placed, passages.of_output(output, step=step.seq))


# The attempts before the one that is reviewed, with their verdicts, and what this one changed of any of them.

# Of the address: which attempt to compare with.
AGAINST = "against"


def earlier_attempts(review: Review, *, asked: dict[str, str], passages: Passages) -> dict[str, Any] | None:
    """Those before the review's own, the newest first, and the comparison that `asked`, the address, names.

    Without a name it is with the attempt right before; what no attempt has as its number counts as no name. `passages`
    are those of the review's own attempt.
    """
    number = review.attempt.number
    before = Attempt.objects.filter(run=review.run_id, number__lt=number).order_by("-number")
    numbers = list(before.values_list("number", flat=True)) if number > 1 else []
    if not numbers:
        return None
    named = asked.get(AGAINST, "")
    against = next((one for one in numbers if str(one) == named), numbers[0])
    # The verdict that counts of each: the strongest referee's, of two equal the later.
    rows = Verdict.objects.filter(attempt__run=review.run_id, attempt__number__lt=number)
    given: dict[int, list[Verdict]] = defaultdict(list)
    for row in rows.select_related("attempt").defer("tests", "feedback", "issues", "attempt__content"):
        given[row.attempt.number].append(row)
    verdicts = {one: max(said, key=lambda row: (row.referee, row.created_at)) for one, said in given.items()}
    content = Attempt.objects.values_list("content", flat=True).get(run=review.run_id, number=against)
    # Most verdicts mark nothing: those are not read.
    marking = Verdict.objects.filter(
        attempt__run=review.run_id, attempt__number=against, issues__contains=[{"mark": {}}]
    )
    issues = [issue for said in marking.values_list("issues", flat=True) for issue in said if issue.get("mark")]
    earlier = Passages(f"attempt-{against}", attempt=against)
    earlier.add(issues)
    comparison = compared_with_marks(content, review.attempt.content, earlier=earlier, issues=issues, later=passages)
    return {
        "attempts": [(one, verdicts.get(one)) for one in numbers],
        "earlier": against,
        "later": number,
        "rows": comparison.rows,
        # What is marked in the earlier one, and of that what stands in no line that is shown.
        "passages": earlier,
        "notes_left": comparison.notes_left,
        # The address names a comparison, so that it is what one came for.
        "is_asked": bool(named),
    }


# Why an item is in the queue: the rule that asked, the draw that took it, and what the person who asked said.


def why_here(review: Review) -> dict[str, Any]:
    """What the run's own policy says, which is the one that asked; the project's may have changed since.

    The number of the rule that asked, the rule and its words, and the recorded draw that took it, where one was made.
    """
    policy: ReviewPolicy = review.run.get_spec().review_policy
    number = review.rule
    rule = policy.rules[number - 1] if number and number <= len(policy.rules) else None
    key = ""
    if rule is not None and rule.share < 1:
        key = f"attempt-{review.attempt.number}/rule-{number}-draw"
    elif review.reason == ReviewReason.AUDIT or (review.panel and review.panel.reason == ReviewReason.AUDIT):
        key = f"attempt-{review.attempt.number}/audit-draw"
    made = Step.objects.filter(run=review.run_id, key=key, kind=Draw.kind, state=StepState.DONE)
    draw = made.values_list("result", flat=True).first() if key else None
    is_draw = isinstance(draw, dict) and {"value", "share"} <= draw.keys()
    return {
        "number": number,
        "rule": rule,
        "rule_words": in_words(rule) if rule else "",
        "draw": draw if is_draw else None,
    }


# A panel as the page of one of its reviews shows it: how many have spoken, and what its reader may know of it.


def panel_of(review: Review, *, reader: Actor) -> dict[str, Any] | None:
    """The panel of `review` as `reader` may know it; None where one person judges alone.

    The `opinions`, each with its seat, are all of them once the last is in, and the reader's own until then.
    `adjudication` is the review that settles the dispute.
    """
    panel = review.panel
    if panel is None:
        return None
    of_panel = Review.objects.filter(panel=panel).exclude(state=ReviewState.WITHDRAWN).select_related("panel")
    rows = list(of_panel.select_related("verdict", "decided_verdict").order_by("decided_at", "created_at", "id"))
    spoken = [(row, said) for row in rows if row.state == ReviewState.DECIDED and (said := row.get_opinion())]
    return {
        "panel": panel,
        "is_open": panel.state == PanelState.OPEN,
        "is_adjudication": review.reason == ReviewReason.ADJUDICATION,
        "given": len(spoken),
        "missing": max(0, panel.wanted - len(spoken)),
        "opinions": [(seat, said) for seat, said in spoken if not is_hidden(seat, reader=reader)],
        "adjudication": next((row for row in rows if row.reason == ReviewReason.ADJUDICATION), None),
        "has_spoken": any(seat.decided_by_label == reader.label for seat, _ in spoken),
        "reader": reader.label,
    }


def majority_of(review: Review) -> ReviewDecision | None:
    """What most said, of a review that is to settle their dispute; None of every other, and where there is no most."""
    if review.reason != ReviewReason.ADJUDICATION or review.panel_id is None:
        return None
    seats = Review.objects.filter(panel=review.panel, state=ReviewState.DECIDED, opinion__isnull=False)
    opinions = [said for seat in seats.order_by("decided_at", "id") if (said := seat.get_opinion())]
    return majority(opinions, thresholds=review.run.get_spec().thresholds)


# What each verdict of a person will cause, in words: told before it is given, so it must be what then happens.


@dataclass(frozen=True)
class Effects:
    """What follows from each verdict. `first` is what holds for all of them, where something does."""

    review: Review
    # What its run has left, where that is known already.
    left: Left | None

    @cached_property
    def first(self) -> str:
        """That the word of one person alone does not count yet, or that it settles a dispute."""
        review = self.review
        if review.is_seat and review.panel is not None:
            said = _("Takes effect when all %(wanted)s reviewers have decided and agree.")
            return said % {"wanted": review.panel.wanted}
        if review.panel_id is not None:
            return _("Settles the disagreement between the reviewers.")
        return ""

    @cached_property
    def by_pass(self) -> str:
        if not self.review.holds_run:
            return self._recorded
        return _("The attempt is accepted and the run succeeds.")

    @cached_property
    def by_revise(self) -> str:
        run = self.review.run
        if self.review.holds_run:
            left = self.left or what_is_left(run)
            if self.review.step is not None and self.review.step.key == END_REVIEW:
                return _("No further attempt is possible: the run ends with its best attempt.")
            if not left.attempts:
                return _("No attempts remaining: the run ends with its best attempt.")
            if not left.tokens or not left.seconds or left.money == 0:
                return _("Budget or time used up: the run ends with its best attempt.")
            said = _("Sent back with a rewind ticket; attempt %(number)s addresses the issues.")
            return said % {"number": run.attempts_made + 1}
        if not goes_back(self.review, VerdictName.REVISE.value, run):
            why_not = why_no_redo(run) if self.review.verdict.passed else ""
            recorded = _("Recorded only.")
            return f"{recorded} {why_not}" if why_not else self._recorded
        limits = run.get_spec().limits
        said = _(
            "A new run redoes the task with the issues on its ticket, within %(attempts)s attempts and %(tokens)s "
            "tokens."
        )
        return said % {"attempts": limits.max_iterations, "tokens": f"{limits.token_budget:,}"}

    @cached_property
    def by_reject(self) -> str:
        return _("The run ends as rejected.") if self.review.holds_run else self._recorded

    @cached_property
    def by_editing(self) -> str:
        """What follows from a text of the reviewer's own; nothing where there can be none."""
        review = self.review
        if why_not_edited(review, review.run):
            return ""
        if review.holds_run:
            return _("Your edited text becomes the final answer and the run succeeds. The original is marked Revise.")
        return _("Your edited text replaces the run's final answer. The original is marked Revise.")

    @cached_property
    def by_agreeing(self) -> str:
        """What follows from leaving the verdict as it is."""
        match VerdictName(self.review.verdict.verdict):
            case VerdictName.PASS:
                return self.by_pass
            case VerdictName.REVISE:
                return self.by_revise
            case VerdictName.REJECT:
                return self.by_reject

    @property
    def _recorded(self) -> str:
        if not self.review.run.is_finished:
            return _("Recorded only: the run is not waiting for this review.")
        return _("Recorded only: the run has ended and does not change.")


LONGEST_ASKED = 1_500
MOST_SIMILAR = 5
# From here on the attempt scrolls in a box of its own, so that what is said of it stays within reach.
LONG = 12_000


def said_of(review: Review, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The newest tests and requirements, whichever verdict they came with, and the `others` than the reviewed one."""
    tested = next((verdict for verdict in reversed(verdicts) if verdict.tests), None)
    checked = next((verdict for verdict in reversed(verdicts) if verdict.requirements), None)
    report, tests = tested.get_tests() if tested else None, None
    if report is not None:
        # Those that failed stand apart: they are what a judge looks at first.
        passed = tuple(result for result in report.results if result.passed)
        tests = {
            "report": report,
            "failing": report.model_copy(update={"results": report.failures}),
            "passing": report.model_copy(update={"results": passed}),
        }
    # The one that is reviewed is shown apart, and what a decision on it has added with the decision.
    apart = {review.verdict_id, review.decided_verdict_id}
    return {
        "others": [verdict for verdict in verdicts if verdict.pk not in apart],
        "tests": tests,
        "requirements": checked.get_requirements() if checked else None,
    }


def review_context(review: Review, *, asked: dict[str, str], panel: dict[str, Any] | None) -> dict[str, Any]:
    """What the templates of an item name. `asked` is the address's query: which comparison is wanted."""
    run = review.run
    left = what_is_left(run) if review.is_open and review.holds_run else None
    issues = (str(issue.get("description", "")) for issue in review.verdict.issues)
    about = "\n".join([run.task.objective[:LONGEST_ASKED], *issues])
    context: dict[str, Any] = {
        "review": review,
        "run": run,
        "project": review.project,
        "objective": render_markdown(run.task.objective),
        "left": left,
        "effects": Effects(review, left),
        "why": why_here(review),
        # Entries of the notebook that are about what the task and the verdict's issues are about.
        "similar": similar(review.project_id, about, limit=MOST_SIMILAR),
        "thresholds": run.get_spec().thresholds,
    }
    opinions = [issue for _seat, said in (panel["opinions"] if panel else ()) for issue in said.issues]
    if review.is_pick:
        decided = review.decided_verdict
        passages = Passages("pick", attempt=decided.attempt.number if decided else review.attempt.number)
        passages.add([*(decided.issues if decided else ()), *opinions])
        return context | {"pick": tell_pick(review, passages), "passages": passages}
    attempt, spec = review.attempt, run.spec
    # The attempt asks its run what it was made from; this one is read already.
    attempt.run = run
    verdicts = tuple(Verdict.objects.filter(attempt=attempt).select_related("given_by"))
    card = AttemptCard(
        attempt=attempt,
        verdicts=verdicts,
        reviews=(),
        is_best=attempt.pk == run.best_attempt_id,
        is_code=any(verdict.tests for verdict in verdicts) or bool(spec.get("tests")),
        is_call=is_tool_run(spec),
        is_markable=True,
    )
    card.passages.add(opinions)
    hidden = hidden_in(attempt.content)
    edited = review.edited_answer if review.is_edited else None
    return context | {
        "card": card,
        "said": said_of(review, verdicts),
        "is_long": len(attempt.content) > LONG,
        # What is too long to be laid out is shown raw already.
        "raw": card.raw if hidden or len(attempt.content) <= LONGEST_LAID_OUT else "",
        "passages": card.passages,
        "hidden": hidden,
        "calls": calls_before(review, card.passages),
        "earlier": earlier_attempts(review, asked=asked, passages=card.passages),
        # The text that the reviewer put in the attempt's place, and what it changed.
        "edited": edited,
        "edited_shown": "" if edited is None else render_answer(edited, is_code=card.is_code),
        "edited_rows": None if edited is None else compared(attempt.content, edited),
    }


@dataclass(frozen=True)
class UndoOffer:
    """Whether the user can take a decision back, or why it stands and from which step a fork would decide otherwise."""

    why_not: str
    from_step: int | None


def undo_offer(request: DeskRequest, review: Review) -> UndoOffer | None:
    """What the page of a decided review offers; nothing to whoever may not take it back."""
    if review.state != ReviewState.DECIDED or not request.place.may(Permission.REVIEW):
        return None
    if not may_undo(review, actor=request.place.actor):
        return None
    from_step = review.step.seq if review.holds_run and review.step else None
    return UndoOffer(why_it_stands(review, review.run), from_step)
