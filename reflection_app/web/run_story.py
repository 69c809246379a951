"""A run as its page tells it: the header, the steps and the attempts with what was said of them."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils import timezone
from django.utils.safestring import SafeString

from reflection_app.actions.next_attempt import NextAttempt, next_attempt_of
from reflection_app.actions.session_state import reflections_of
from reflection_app.loops.code_tests import TestReport
from reflection_app.loops.effects import AskReviewer, Draw, Generate, RecordVerdict, RequestAudit, Route, RunTests
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.models import Attempt, Review, Run, Step, StepState, Transcript, Verdict
from reflection_app.web.agent_view import AGENT_STEPS, ArtifactLine, artifacts_of, self_check_of, turns_words
from reflection_app.web.choice_view import CHOICES, CHOOSING_ROLES
from reflection_app.web.chosen_loop import chosen_loop
from reflection_app.web.rendering import render_answer, render_markdown
from reflection_app.web.run_lineage import go_on_from
from reflection_app.web.template_filters import money
from reflection_app.web.thought_view import ThoughtPart, parts_of
from reflection_app.web.tool_view import (
    QUIET_TOOL_KINDS,
    CallShown,
    call_of_attempt,
    call_of_step,
    is_tool_run,
    place_of,
    what_of,
)

QUIET_KINDS = frozenset({RecordVerdict.kind, Draw.kind, RequestAudit.kind})


@dataclass(frozen=True)
class StepLine:
    """One step of the timeline."""

    step: Step

    @property
    def place(self) -> str:
        return f"step-{self.step.seq}"

    @property
    def error_place(self) -> str:
        return f"{self.place}-error"

    @property
    def is_quiet(self) -> bool:
        """Bookkeeping that takes no time."""
        return self.step.kind in QUIET_KINDS | QUIET_TOOL_KINDS | CHOICES.keys()

    @property
    def is_reask(self) -> bool:
        return "/again-" in self.step.key

    @property
    def what(self) -> str:
        """`answer`, `critique`, `generate`, `tests`, `review`, `verdict`, `draw`, `audit`: what the templates name.

        Steps of tools and plans have words of their own (tool_view.what_of).
        """
        if named := what_of(self.step):
            return named
        if self.step.kind == Generate.kind:
            roles = {"actor": "answer", "critic": "critique", "reflector": "reflect"}
            return (roles | CHOOSING_ROLES).get(self.step.role, "generate")
        names = {RunTests.kind: "tests", AskReviewer.kind: "review", RecordVerdict.kind: "verdict", Draw.kind: "draw"}
        return (names | AGENT_STEPS | CHOICES).get(self.step.kind, "audit")

    @property
    def turns_words(self) -> str:
        """Which turns of a session were taken, or are waited for."""
        return turns_words(self.step)

    @property
    def messages(self) -> list[dict[str, Any]]:
        found = self.step.request.get("messages") if isinstance(self.step.request, dict) else None
        return found if isinstance(found, list) else []

    @property
    def text(self) -> str:
        """What the model said."""
        result = self.step.result
        return str(result.get("text", "")) if isinstance(result, dict) else ""

    @property
    def judgement(self) -> dict[str, Any]:
        """The verdict that was recorded, which in a fork may be a person's in place of the one that was asked for."""
        if self.step.kind == RecordVerdict.kind and isinstance(self.step.result, dict):
            return self.step.result
        found = self.step.request.get("judgement") if isinstance(self.step.request, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def was_drawn(self) -> bool:
        result = self.step.result
        return isinstance(result, dict) and result["value"] < result["share"]

    @property
    def report(self) -> TestReport | None:
        is_report = self.step.kind == RunTests.kind and self.step.result
        return TestReport.model_validate(self.step.result) if is_report else None

    @cached_property
    def call(self) -> CallShown | None:
        """The call of a tool that this step is."""
        return call_of_step(self.step)

    @property
    def plan_place(self) -> str:
        return place_of(self.step)

    @property
    def plan_issues(self) -> int:
        """How many faults a checked plan has."""
        result = self.step.result
        return len(result.get("issues", ())) if isinstance(result, dict) else 0

    @property
    def is_running(self) -> bool:
        return self.step.state == StepState.STARTED


@dataclass(frozen=True)
class AttemptCard:
    """One attempt with its verdicts and reviews."""

    attempt: Attempt
    verdicts: tuple[Verdict, ...]
    reviews: tuple[Review, ...]
    is_best: bool
    is_code: bool
    is_call: bool = False
    is_thought: bool = False

    @property
    def place(self) -> str:
        return f"attempt-{self.attempt.number}"

    @cached_property
    def thought(self) -> list[ThoughtPart]:
        return parts_of(self.attempt.content, is_code=self.is_code) if self.is_thought else []

    @cached_property
    def rendered(self) -> SafeString:
        return render_answer(self.attempt.content, is_code=self.is_code)

    @cached_property
    def call(self) -> CallShown | None:
        """The call of a tool that the attempt is."""
        return call_of_attempt(self.attempt.content) if self.is_call else None

    @property
    def artifacts(self) -> list[ArtifactLine]:
        return artifacts_of(self.attempt)

    @property
    def self_check(self) -> list[tuple[str, Any]]:
        return self_check_of(self.attempt)

    @property
    def decisive(self) -> Verdict | None:
        """The verdict that counts: the strongest referee's, of two equal ones the later."""
        return max(self.verdicts, key=lambda verdict: (verdict.referee, verdict.created_at), default=None)

    @property
    def open_reviews(self) -> tuple[Review, ...]:
        return tuple(review for review in self.reviews if review.is_open)


@dataclass(frozen=True)
class RunStory:
    run: Run
    steps: tuple[StepLine, ...]
    attempts: tuple[AttemptCard, ...]

    @cached_property
    def spec(self) -> TaskSpec:
        return self.run.get_spec()

    @cached_property
    def asked(self) -> NextAttempt | None:
        """What the run waits for from its outside agent."""
        return next_attempt_of(self.run)

    @cached_property
    def session(self) -> Transcript | None:
        """The session that the run reflects on."""
        return Transcript.objects.filter(run=self.run).first()

    @cached_property
    def reflections_made(self) -> int:
        return len(reflections_of(self.run))

    @property
    def is_code(self) -> bool:
        return bool(self.run.spec.get("tests"))

    @property
    def is_call(self) -> bool:
        return is_tool_run(self.run.spec)

    @cached_property
    def route(self) -> Route | None:
        return chosen_loop(self.run, self.spec)

    @cached_property
    def objective(self) -> SafeString:
        return render_markdown(self.run.task.objective)

    @property
    def budget_used(self) -> str:
        """How far the run went over its tokens or its money, whichever ran out."""
        limits, run = self.spec.limits, self.run
        if limits.cost_budget_usd is not None and run.total_tokens < limits.token_budget:
            return f"{money(run.cost_usd)} of {money(limits.cost_budget_usd)}"
        return f"{run.total_tokens:,} of {limits.token_budget:,} tokens"

    @property
    def worker_is_silent(self) -> bool:
        """Whether the run's lease ran out: the sweep gives it to another worker."""
        return self.run.lease_until is not None and self.run.lease_until <= timezone.now()

    @property
    def best(self) -> AttemptCard | None:
        return next((card for card in self.attempts if card.is_best), None)

    @cached_property
    def go_on_from(self) -> int | None:
        """Where a fork would go on, if the run stopped short."""
        return go_on_from(self.run)

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
    return RunStory(run=run, steps=tuple(StepLine(step) for step in steps), attempts=attempt_cards(run))


def attempt_cards(run: Run) -> tuple[AttemptCard, ...]:
    verdicts: dict[Any, list[Verdict]] = defaultdict(list)
    reviews: dict[Any, list[Review]] = defaultdict(list)
    attempts = list(Attempt.objects.filter(run=run))
    for verdict in Verdict.objects.filter(attempt__run=run).select_related("given_by"):
        verdicts[verdict.attempt_id].append(verdict)
    for review in (
        Review.objects.filter(run=run)
        .select_related("attempt", "decided_verdict__attempt")
        .order_by("created_at", "id")
    ):
        reviews[review.attempt_id].append(review)
    return tuple(
        AttemptCard(
            attempt=attempt,
            verdicts=tuple(verdicts[attempt.pk]),
            reviews=tuple(reviews[attempt.pk]),
            is_thought=bool(run.spec.get("chain_of_thought")),
            is_best=attempt.pk == run.best_attempt_id,
            is_code=bool(run.spec.get("tests")),
            is_call=is_tool_run(run.spec),
        )
        for attempt in attempts
    )
