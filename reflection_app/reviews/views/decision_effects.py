"""What each verdict of a person will cause, in words: told before it is given, so it must be what then happens."""

from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.loops.task_spec import Execution, Mode
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.models.review import Review
from reflection_app.reviews.overruled_audit import goes_back
from reflection_app.runs.models import Run
from reflection_app.runs.views.attempts import Left, what_is_left
from reflection_app.tasks.redo import redo_mode, why_no_redo


@dataclass(frozen=True)
class Effects:
    """What follows from each verdict. `first` is what holds for all of them, where something does."""

    review: Review
    left: Left | None

    @cached_property
    def first(self) -> str:
        """That the word of one person alone does not count yet, or that it settles a dispute."""
        review = self.review
        if review.is_seat and review.panel is not None:
            said = _("It counts once all %(wanted)s reviewers have said theirs, and if they agree.")
            return said % {"wanted": review.panel.wanted}
        if review.panel_id is not None:
            return _("It settles what the reviewers do not agree on.")
        return ""

    @cached_property
    def by_pass(self) -> str:
        if not self.review.holds_run:
            return self._recorded
        return _("The attempt is accepted and the run succeeds.")

    @cached_property
    def by_revise(self) -> str:
        if self.review.holds_run:
            return self._next_attempt
        if self.makes_new_run:
            return self._done_again
        why_not = why_no_redo(self.review.run) if self.review.verdict.passed else ""
        return f"{_('Only recorded.')} {why_not}" if why_not else self._recorded

    @cached_property
    def by_reject(self) -> str:
        return _("The run ends as rejected.") if self.review.holds_run else self._recorded

    @cached_property
    def by_agreeing(self) -> str:
        """What follows from leaving the verdict as it is."""
        by = {Verdict.PASS: "by_pass", Verdict.REVISE: "by_revise", Verdict.REJECT: "by_reject"}
        return str(getattr(self, by[Verdict(self.review.verdict.verdict)]))

    @cached_property
    def makes_new_run(self) -> bool:
        """Whether sending back what was accepted begins a run of its own."""
        return goes_back(self.review, Verdict.REVISE.value, self.review.run)

    @property
    def _recorded(self) -> str:
        if not self.review.run.is_finished:
            return _("Only recorded: the run does not wait for it.")
        return _("Only recorded: the run has ended and stays as it is.")

    @property
    def _done_again(self) -> str:
        run = self.review.run
        said = _("A new run does it again with the issues on its ticket; this one stays as it is.")
        if is_external(run):
            said += " " + _("The agent gets the ticket at its next question.")
        elif redo_mode(run) is Mode.REFLECTION_PROTOCOL:
            said += " " + _("It goes through the six steps.")
        limits = run.get_spec().limits
        attempts = ngettext("%(count)s attempt", "%(count)s attempts", limits.max_iterations) % {
            "count": limits.max_iterations
        }
        may_spend = _("It may make %(attempts)s and spend %(tokens)s tokens.")
        return f"{said} {may_spend % {'attempts': attempts, 'tokens': f'{limits.token_budget:,}'}}"

    @property
    def _next_attempt(self) -> str:
        left = self.left or what_is_left(self.review.run)
        if not left.attempts:
            return _("No attempt is left: the run ends, and keeps the best that it has.")
        if not left.tokens or not left.seconds or left.money == 0:
            return _("Nothing is left to spend: the run ends, and keeps the best attempt that it has.")
        number = self.review.run.attempts_made + 1
        if is_external(self.review.run):
            said = _(
                "It goes back with a rewind ticket. The agent gets it at its next question, for attempt %(number)s."
            )
        elif self.review.run.mode == Mode.REFLECTION_PROTOCOL:
            said = _("It goes back with a rewind ticket and through the six steps; they make attempt %(number)s.")
        else:
            said = _("It goes back with a rewind ticket; attempt %(number)s is made from the issues.")
        return said % {"number": number}


def effects_of(review: Review, *, left: Left | None) -> Effects:
    """What decisions on `review` cause; `left` is what its run has left, where that is known already."""
    return Effects(review, left)


def is_external(run: Run) -> bool:
    return bool(run.spec.get("execution") == Execution.EXTERNAL)
