"""A run as its page tells it: the header, the steps and the attempts with what was said of them."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from reflection_app.loops.attempt_effects import Pick, RecordPick
from reflection_app.loops.attempts import changed_since
from reflection_app.loops.catalogue import LOOPS, VERSIONS, route_by_facts, version_of
from reflection_app.loops.effects import ChooseLoop, Route
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.loops.verdicts import Outcome, Referee
from reflection_app.repairs.views import failures_by_place
from reflection_app.reviews.models import Review
from reflection_app.runs.agent_leases import holder_of
from reflection_app.runs.handing_in import NextAttempt, next_attempt_of
from reflection_app.runs.lease import lease_end, silent_s
from reflection_app.runs.models import AgentLease, Question, QuestionState, Run, RunState, Step, StepState
from reflection_app.runs.views.attempts import AttemptCard, attempt_cards
from reflection_app.runs.views.comparison import compared
from reflection_app.runs.views.steps import StepLine
from reflection_app.sessions.models import Transcript
from reflection_app.sessions.recording import reflections_of
from reflection_app.web.rendering import render_markdown
from reflection_app.web.template_filters import money

# Where a run comes from: its parent, its forks, and the versions of loop and prompts that it began with.

MOST_FORKS = 50
# A run that ended so may be wanted to go on.
UNFINISHED = frozenset({Outcome.FAILED, Outcome.OVER_BUDGET, Outcome.TIMED_OUT, Outcome.EXHAUSTED, Outcome.CANCELLED})


def lineage_of(run: Run) -> dict[str, Any]:
    """Return the run's forks, oldest first, the version of its loop today, and the prompts that were changed since."""
    mode = Mode(run.spec["mode"])
    return {
        "forks": Run.objects.filter(parent=run).defer("spec").order_by("created_at", "id")[:MOST_FORKS],
        "loop_today": version_of(mode) if mode in VERSIONS else None,
        "changed": changed_since(run.prompt_versions),
    }


@dataclass(frozen=True)
class RunStory:
    """`is_whole` where `steps` are all of the run's."""

    run: Run
    steps: tuple[StepLine, ...]
    attempts: tuple[AttemptCard, ...]
    is_whole: bool

    @cached_property
    def spec(self) -> TaskSpec:
        return self.run.get_spec()

    @cached_property
    def asked(self) -> NextAttempt | None:
        """What the run waits for from its outside agent."""
        return next_attempt_of(self.run)

    @cached_property
    def held_by(self) -> AgentLease | None:
        """The agent that makes the attempt, or hears of it; None where anybody may hand in."""
        return None if self.run.is_finished else holder_of(self.run)

    @cached_property
    def open_question(self) -> Question | None:
        """The question that the run waits for a person to answer."""
        if self.run.is_finished:
            return None
        return Question.objects.filter(run=self.run, state=QuestionState.OPEN).first()

    @cached_property
    def session(self) -> Transcript | None:
        """The session that the run reflects on."""
        is_of_session = self.run.mode == Mode.INLINE_REFLECTION
        return Transcript.objects.filter(run=self.run).first() if is_of_session else None

    @cached_property
    def reflections_made(self) -> int:
        return len(reflections_of(self.run))

    @property
    def is_code(self) -> bool:
        return bool(self.run.spec.get("tests"))

    @cached_property
    def has_broken_tests(self) -> bool:
        """Whether a person had to decide, or nothing could, since tests that came with the task are broken."""
        verdicts = self.best.verdicts if self.best else ()
        reports = (verdict.get_tests() for verdict in verdicts if verdict.referee == Referee.TESTS)
        return any(bool(report.broken) for report in reports if report is not None)

    @cached_property
    def pick(self) -> Pick | None:
        """The newest pick: which attempt stands by the evidence of tests that a model wrote."""
        if self.is_whole:
            made = (line.step for line in reversed(self.steps) if line.step.kind == RecordPick.kind)
            result = next((step.result for step in made if step.state == StepState.DONE), None)
        else:
            picks = Step.objects.filter(run=self.run, kind=RecordPick.kind, state=StepState.DONE).order_by("-seq")
            result = picks.values_list("result", flat=True).first()
        return Pick.model_validate(result) if result else None

    @property
    def error(self) -> str:
        """What went wrong; empty where the run's error is the reason of a pick, which is told with the pick."""
        return "" if self.run.outcome == Outcome.UNVERIFIED and self.pick else self.run.error

    @cached_property
    def route(self) -> Route | None:
        """Which loop an adaptive task got, by its kind or by what came with it; None where it asked for one."""
        if self.run.task.mode != Mode.ADAPTIVE:
            return None
        if self.spec.mode is not Mode.ADAPTIVE:
            return route_by_facts(self.spec, built=LOOPS)
        step = Step.objects.filter(run=self.run, kind=ChooseLoop.kind).values_list("result", flat=True).first()
        return Route.model_validate(step) if step else None

    @cached_property
    def objective(self) -> SafeString:
        return render_markdown(self.run.task.objective)

    @property
    def budget_used(self) -> str:
        """How far the run went over its tokens or its money, whichever ran out."""
        limits, run = self.spec.limits, self.run
        if limits.cost_budget_usd is not None and run.total_tokens < limits.token_budget:
            return _("%(used)s of %(limit)s") % {"used": money(run.cost_usd), "limit": money(limits.cost_budget_usd)}
        tokens = {"used": f"{run.total_tokens:,}", "limit": f"{limits.token_budget:,}"}
        return _("%(used)s of %(limit)s tokens") % tokens

    @property
    def worker_is_silent(self) -> bool:
        """Whether its worker missed two renewals of the lease: where it is gone, another takes over."""
        silent = Q(lease_until__lt=lease_end() - timedelta(seconds=silent_s()))
        return Run.objects.filter(silent, pk=self.run.pk, state=RunState.RUNNING).exists()

    @property
    def waits_until(self) -> datetime | None:
        """When the run goes on by itself; None once it is only a worker that it waits for."""
        until = self.run.not_before
        return until if until is not None and until > timezone.now() else None

    @property
    def best(self) -> AttemptCard | None:
        return next((card for card in self.attempts if card.is_best), None)

    @cached_property
    def go_on_from(self) -> int | None:
        """The step from which a fork goes on where the unfinished run stopped; None where it did not stop short."""
        if self.run.outcome not in UNFINISHED or self.run.mode == Mode.INLINE_REFLECTION:
            return None
        last = Step.objects.filter(run=self.run).only("seq", "state").last()
        if last is None:
            return 1
        return last.seq + 1 if last.state == StepState.DONE else last.seq

    @property
    def waiting_review(self) -> Review | None:
        """The open review that the run waits for."""
        open_reviews = (review for card in self.attempts for review in card.open_reviews if review.holds_run)
        return next(open_reviews, None)


def tell(run: Run, *, after: int = 0) -> RunStory:
    """The story of `run`; of its steps only those that events after number `after` have touched.

    `run` has to be read before this is called: what changes in between comes again with the next look, while the
    other way round it would never come.
    """
    steps = Step.objects.filter(run=run, last_event_seq__gt=after) if after else Step.objects.filter(run=run)
    failures = failures_by_place(run)
    lines = tuple(StepLine(step, failure=failures.get(step.key)) for step in steps)
    cards = (
        card if card.original is None else replace(card, difference=compared(card.original, card.attempt.content))
        for card in attempt_cards(run, None if after else steps)
    )
    return RunStory(run=run, steps=lines, attempts=tuple(cards), is_whole=not after)
