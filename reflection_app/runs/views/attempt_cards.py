"""An attempt as a run's page shows it, with its verdicts and reviews."""

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.utils.safestring import SafeString

from reflection_app.loops.effects import IssueTicket
from reflection_app.repairs.views.failure_view import FailureShown, failures_by_place
from reflection_app.reviews.models.review import Review
from reflection_app.runs.models.attempt import Attempt, Verdict
from reflection_app.runs.models.run import Run, Step, StepState
from reflection_app.runs.views.agent_view import ArtifactLine, artifacts_of, self_check_of
from reflection_app.runs.views.thought_view import ThoughtPart, parts_of
from reflection_app.runs.views.tool_view import CallShown, call_of_attempt, is_tool_run
from reflection_app.web.rendering import render_answer


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
    # The ticket that sent it back; that of a fork's copied step is the parent's.
    ticket_id: str = ""
    failure: FailureShown | None = None

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
        call = call_of_attempt(self.attempt.content) if self.is_call else None
        return replace(call, diagnosis=self.failure) if call else None

    @property
    def artifacts(self) -> list[ArtifactLine]:
        return artifacts_of(self.attempt)

    @property
    def self_check(self) -> list[tuple[str, Any]]:
        return self_check_of(self.attempt)

    @property
    def decisive(self) -> Verdict | None:
        """The verdict that counts: the strongest referee's, of two equal ones the later."""
        given = (verdict for verdict in self.verdicts if not verdict.is_void)
        return max(given, key=lambda verdict: (verdict.referee, verdict.created_at), default=None)

    @property
    def open_reviews(self) -> tuple[Review, ...]:
        return tuple(review for review in self.reviews if review.is_open)


def attempt_cards(run: Run) -> tuple[AttemptCard, ...]:
    verdicts: dict[Any, list[Verdict]] = defaultdict(list)
    reviews: dict[Any, list[Review]] = defaultdict(list)
    attempts = list(Attempt.objects.filter(run=run))
    tickets = _tickets_of(run)
    failures = failures_by_place(run)
    for verdict in Verdict.objects.filter(attempt__run=run).select_related("given_by"):
        verdicts[verdict.attempt_id].append(verdict)
    for review in (
        Review.objects.filter(run=run)
        .select_related("attempt", "verdict", "panel", "decided_verdict__attempt")
        .order_by("created_at", "id")
    ):
        reviews[review.attempt_id].append(review)
    return tuple(
        AttemptCard(
            attempt=attempt,
            verdicts=tuple(verdicts[attempt.pk]),
            reviews=tuple(reviews[attempt.pk]),
            is_thought=bool(run.spec.get("chain_of_thought")),
            ticket_id=tickets.get(attempt.number, ""),
            is_best=attempt.pk == run.best_attempt_id,
            is_code=any(verdict.tests for verdict in verdicts[attempt.pk]) or bool(run.spec.get("tests")),
            is_call=is_tool_run(run.spec),
            failure=failures.get(f"attempt-{attempt.number}/call"),
        )
        for attempt in attempts
    )


def _tickets_of(run: Run) -> dict[int | None, str]:
    """By the number of the attempt, the ticket with which it went back."""
    issued = Step.objects.filter(run=run, kind=IssueTicket.kind, state=StepState.DONE)
    return {number: str(name or "") for number, name in issued.values_list("attempt_number", "result__ticket_id")}
