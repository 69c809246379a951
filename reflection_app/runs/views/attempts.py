"""An attempt as a run's page shows it, with its verdicts and reviews."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from django.db.models import prefetch_related_objects
from django.utils.safestring import SafeString

from reflection_app.attachments.models import ProducedFile
from reflection_app.attachments.views import AttachedShown, shown
from reflection_app.loops.chain_of_thought import ChainOfThought
from reflection_app.loops.effects import IssueTicket
from reflection_app.loops.hidden_characters import in_order
from reflection_app.repairs.models import ToolFailure
from reflection_app.repairs.views import failures_by_place
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Attempt, Run, Step, StepState, Verdict
from reflection_app.runs.views.passages import Passages
from reflection_app.runs.views.steps import (
    ArtifactLine,
    CallShown,
    artifacts_of,
    call_of_attempt,
    is_tool_run,
    self_check_of,
)
from reflection_app.web.placed import placed_answer, placed_text, with_passages
from reflection_app.web.rendering import render_answer

if TYPE_CHECKING:
    from reflection_app.runs.views.comparison import Rows

# What a run has left of its limits, for whoever decides whether it should make another attempt.


@dataclass(frozen=True)
class Left:
    attempts: int
    tokens: int
    seconds: float
    money: Decimal | None
    enough: bool
    """Whether another attempt fits, if it takes as much as those so far did on average."""


def what_is_left(run: Run) -> Left:
    limits, made = run.get_spec().limits, max(1, run.attempts_made)
    tokens = max(0, limits.token_budget - run.total_tokens)
    seconds = max(0.0, limits.time_budget_s - run.active_s)
    money = None if limits.cost_budget_usd is None else max(Decimal(0), limits.cost_budget_usd - run.cost_usd)
    attempts = max(0, limits.max_iterations - run.attempts_made)
    enough = (
        attempts > 0
        and tokens > run.total_tokens / made
        and seconds > run.active_s / made
        and (money is None or money > run.cost_usd / made)
    )
    return Left(attempts=attempts, tokens=tokens, seconds=seconds, money=money, enough=enough)


# The parts of an attempt that was asked for as a chain of thought, as its card shows them.


def parts_of(
    thought: ChainOfThought | None, render: Callable[[str, bool], SafeString]
) -> list[tuple[str, SafeString | None]]:
    """The reasoning and the answer, or the five parts, in their order; none where nothing tells them apart.

    The text of one is None where the answer has no such part, and empty where it is a heading alone. `render` is also
    told whether the part may be code.
    """
    if thought is None:
        return []
    shown: dict[str, str | None] = {"reasoning": "\n\n".join(thought.reasoning)} if thought.reasoning else {}
    shown |= thought.parts or {"answer": thought.answer}
    return [(name, render(text, name in {"execute", "answer"}) if text else None) for name, text in shown.items()]


@dataclass(frozen=True)
class AttemptCard:
    """One attempt with its verdicts and reviews. Where it `is_markable`, passages of it can be selected."""

    attempt: Attempt
    verdicts: tuple[Verdict, ...]
    reviews: tuple[Review, ...]
    is_best: bool
    is_code: bool
    is_call: bool = False
    # The ticket that sent it back; that of a fork's copied step is the parent's.
    ticket_id: str = ""
    failure: ToolFailure | None = None
    is_markable: bool = False
    # Where a reviewer wrote it: the text in whose place, and what was changed of that.
    original: str | None = None
    difference: "Rows | None" = None

    @cached_property
    def passages(self) -> Passages:
        """What the issues of its verdicts mark."""
        passages = Passages(self.place, attempt=self.attempt.number)
        for verdict in self.verdicts:
            passages.add(verdict.issues)
        return passages

    @property
    def place(self) -> str:
        return f"attempt-{self.attempt.number}"

    @cached_property
    def thought(self) -> list[tuple[str, SafeString | None]]:
        return parts_of(self.attempt.thought, self._part)

    @cached_property
    def rendered(self) -> SafeString:
        return self._laid_out(self.attempt.content, is_code=self.is_code, at=0)

    @cached_property
    def raw(self) -> str:
        """The raw text; where it is to be marked, with what is hidden in it written out.

        Numbers lead to it where the answer is shown in no other words.
        """
        content = self.attempt.content
        if not (self.is_markable or self.passages):
            return in_order(content)
        placed = placed_text(content, reveals=self.is_markable)
        return with_passages(placed, self.passages.of_attempt(content), is_named=bool(self.call))

    def _part(self, text: str, may_be_code: bool) -> SafeString:
        at = self.attempt.content.find(text)
        return self._laid_out(text, is_code=self.is_code and may_be_code, at=at if at >= 0 else None)

    def _laid_out(self, text: str, *, is_code: bool, at: int | None) -> SafeString:
        """A part of the answer that begins `at` there; without passages where it is not known where it stands."""
        if at is None or not (self.is_markable or self.passages):
            return render_answer(text, is_code=is_code)
        return with_passages(
            placed_answer(text, is_code=is_code, at=at), self.passages.of_attempt(self.attempt.content)
        )

    @cached_property
    def call(self) -> CallShown | None:
        """The call of a tool that the attempt is."""
        call = call_of_attempt(self.attempt.content) if self.is_call else None
        return replace(call, diagnosis=self.failure) if call else None

    @property
    def artifacts(self) -> list[ArtifactLine]:
        return artifacts_of(self.attempt)

    @cached_property
    def attached(self) -> list[AttachedShown]:
        prefetch_related_objects([self.attempt], "attachments__attachment")
        return shown(self.attempt.attachments.all(), issues=chain.from_iterable(one.issues for one in self.verdicts))

    @cached_property
    def looked(self) -> list[ProducedFile]:
        """The files of the attempt that were opened."""
        prefetch_related_objects([self.attempt], "looked_at__attachment")
        return list(self.attempt.looked_at.all())

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


def attempt_cards(run: Run, steps: Iterable[Step] | None = None) -> tuple[AttemptCard, ...]:
    """The run's attempts in their order. `steps` are all of its steps, where they are read already."""
    verdicts: dict[Any, list[Verdict]] = defaultdict(list)
    reviews: dict[Any, list[Review]] = defaultdict(list)
    attempts = list(run.attempts.prefetch_related("attachments__attachment", "looked_at__attachment"))
    if steps is None:
        steps = Step.objects.filter(run=run, kind=IssueTicket.kind).only("kind", "state", "attempt_number", "result")
    issued = (step for step in steps if step.kind == IssueTicket.kind and step.state == StepState.DONE)
    # By the number of the attempt, the ticket with which it went back.
    tickets = {step.attempt_number: str((step.result or {}).get("ticket_id") or "") for step in issued}
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
            ticket_id=tickets.get(attempt.number, ""),
            is_best=attempt.pk == run.best_attempt_id,
            is_code=any(verdict.tests for verdict in verdicts[attempt.pk]) or bool(run.spec.get("tests")),
            is_call=is_tool_run(run.spec),
            failure=failures.get(f"attempt-{attempt.number}/call"),
            original=next((one.content for one in attempts if one.number == attempt.edited_from), None),
        )
        for attempt in attempts
    )
