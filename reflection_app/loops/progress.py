"""Progress of a run: usage compared to its limits, attempts and judgements.

Loops perform every effect through `Progress`, so that all usage is counted. It is computed from results, never from a
clock, so a replay from the journal gives the same values.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reflection_app.loops.attempt_effects import (
    USUAL_TEMPERATURE,
    AskPerson,
    Generate,
    HandedIn,
    Pick,
    RecordPick,
    RecordVerdict,
    Wait,
)
from reflection_app.loops.completeness.file_checks import FilesChecked, with_files
from reflection_app.loops.completeness.looked import Look
from reflection_app.loops.effect import Effect, EffectFailed, EffectTimedOut, Spent
from reflection_app.loops.lessons import Lessons
from reflection_app.loops.questions import Choice, PersonsAnswer
from reflection_app.loops.task_spec import Limits, ModelRole
from reflection_app.loops.tickets import Ticket
from reflection_app.loops.tool_calls import ToolCall
from reflection_app.loops.tool_permission import CallGate
from reflection_app.loops.values import Message, system
from reflection_app.loops.verdicts import Ended, Judgement, Outcome, Referee, Verdict

# Retained attempt: the best by its strongest referee, not the last


def best_attempt(attempts: Iterable[int], judgements: Iterable[Judgement], *, pick: int | None = None) -> int | None:
    """Return the number of the attempt to retain, or None if there is none.

    Attempts rank in this order:

    - An attempt that a person accepted. One that a person rejected is chosen only if there is no other.
    - The `pick`, which rests on more evidence than a score.
    - The attempt that meets more of the minimum requirements, with any referee.
    - The strongest referee's judgement: passed before not passed, then the score; ties go to the earliest.

    A score from a person who sent an attempt back counts among those of the strongest referee. An attempt without a
    judgement ranks after every judged one.
    """
    numbers = sorted(set(attempts))
    if not numbers:
        return None
    judgements = [judgement for judgement in judgements if not judgement.is_void]
    decisive = strongest_judgements(judgements)
    judged = [decisive[number] for number in numbers if number in decisive]
    if not judged:
        return pick if pick in numbers else numbers[0]
    accepted = [judgement for judgement in judged if judgement.referee is Referee.PERSON and judgement.passed]
    if pick in numbers and not accepted and not _is_rejected(decisive.get(pick)):
        return pick
    bearable = [judgement for judgement in judged if not _is_rejected(judgement)] or judged
    candidates = accepted
    if not accepted:
        shares = {one.attempt: one.requirements.share_met for one in judgements if one.requirements is not None}
        most = max((shares[one.attempt] for one in bearable if one.attempt in shares), default=0.0)
        # If it is unknown what an attempt meets, it does not count as falling short.
        meeting_most = [one for one in bearable if shares.get(one.attempt, most) >= most]
        by_others = [one for one in meeting_most if one.referee is not Referee.PERSON]
        # Judgements that only report unmet requirements give way to others, which meet no more and were evaluated.
        by_others = [one for one in by_others if one.passed or not one.is_by_requirements] or by_others
        strongest = max((one.referee for one in by_others), default=None)
        # Attempts that a person rejected are among these only if there are no others.
        by_people = [one for one in meeting_most if one.referee is Referee.PERSON]
        candidates = by_people + [one for one in by_others if one.referee == strongest]
    return min(candidates, key=lambda judgement: (not judgement.passed, -judgement.score, judgement.attempt)).attempt


def _is_rejected(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.referee is Referee.PERSON and judgement.verdict is Verdict.REJECT


def strongest_judgements(judgements: Iterable[Judgement]) -> dict[int, Judgement]:
    """Return the strongest referee's judgement of each attempt; the later one if two are equal."""
    decisive: dict[int, Judgement] = {}
    for judgement in judgements:
        known = decisive.get(judgement.attempt)
        if known is None or judgement.referee >= known.referee:
            decisive[judgement.attempt] = judgement
    return decisive


# Roles that do the agent's work. The project's rules for agents do not apply to critics, testers and reflectors.
WORKING_ROLES = frozenset({ModelRole.ACTOR, ModelRole.PLANNER, ModelRole.ESCALATION})


def _with_rules(messages: tuple[Message, ...], rules: str) -> tuple[Message, ...]:
    """Return the messages with the rules appended to the system prompt, unless it contains them already."""
    first, rest = (messages[0], messages[1:]) if messages and messages[0].role == "system" else (None, messages)
    if first is None:
        return (system(rules), *rest)
    if rules in first.content:
        return messages
    return (first.model_copy(update={"content": f"{first.content}\n\n{rules}"}), *rest)


# A call with less time cannot answer, so the time counts as used up.
SHORTEST_CALL_S = 0.05
# Limit of questions to reviewers per run, because models plan repairs and a tool may refuse without end.
MOST_QUESTIONS = 20
# Waiting costs no active time, so no other limit ends it.
LONGEST_WAITED_S = 86_400.0


class LimitReached(Exception):
    """A limit was reached; the loop ends with the outcome that names it."""

    def __init__(self, outcome: Outcome, *, why: str = "") -> None:
        super().__init__(outcome.value)
        self.outcome = outcome
        self.why = why


class AnsweredByPerson(Exception):
    """A person replaced an attempt with their own text; every loop ends with it, as this attempt."""

    def __init__(self, attempt: int) -> None:
        super().__init__(f"attempt {attempt}")
        self.attempt = attempt


class PriceUnknown(EffectFailed):
    """The cost budget cannot be enforced because the model's price is unknown: no further call may be made.

    `value` is the result of the call.
    """

    def __init__(self, message: str, *, value: object = None) -> None:
        super().__init__(message)
        self.value = value


@dataclass(frozen=True)
class FailedCall:
    """A model call that failed for good: its step's key, and the last successful step before it."""

    key: str
    last_good_step: str
    failure: EffectFailed

    @property
    def attempt(self) -> int | None:
        """Number of the attempt that the call belongs to, or None."""
        number = self.key.removeprefix("attempt-").split("/", 1)[0]
        return int(number) if number.isdecimal() else None


class Progress:
    """State of a running loop: usage, attempts, judgements and limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.tokens = 0
        self.cost_usd = Decimal(0)
        self.active_s = 0.0
        # Calls of unknown cost; `cost_usd` is then only a part of the total.
        self.unpriced_calls = 0
        self.attempts: list[int] = []
        self.judgements: list[Judgement] = []
        # Number of attempts at a reviewer's last decision.
        self.reviewed = 0
        self.pick: Pick | None = None
        self.tickets: dict[int, Ticket] = {}
        self.handed_in: dict[int, HandedIn] = {}
        # Inspected files by attempt number, for attempts with files to inspect.
        self.files: dict[int, FilesChecked] = {}
        # Attempts that are incomplete answers and are not evaluated.
        self.unfinished: set[int] = set()
        # Truncated attempts that count as complete, from journals that did not mark such answers.
        self.cut_off: set[int] = set()
        # True if a tool of the run has returned a file.
        self.has_produced_files = False
        self.lessons: Lessons | None = None
        self.waited_s = 0.0
        # Reason stored with the run's end if it is unverified.
        self.why_unverified = ""
        # Reason stored if the run is exhausted before its last attempt.
        self.why_exhausted = ""
        # Decides about tool calls; None in a run that started before the gate existed.
        self.gate: CallGate | None = None
        # Visual checks by file hash and required content.
        self.looks: dict[tuple[str, str], Look] = {}
        # Text of each attempt made.
        self.contents: dict[int, str] = {}
        self.failed_call: FailedCall | None = None
        self._last_good_step = ""
        self._questions = 0

    async def perform[R](self, effect: Effect[R]) -> R:
        """Perform the effect, count its usage, and return its result.

        Raise EffectFailed, whose usage counts too. Raise PriceUnknown if a cost budget cannot be enforced.
        """
        try:
            performed = await effect
        except EffectFailed as failure:
            self._charge(failure.spent)
            if isinstance(effect, Generate) and not isinstance(failure, EffectTimedOut):
                self.failed_call = FailedCall(effect.key, self._last_good_step, failure)
            raise
        self._charge(performed.spent)
        self._last_good_step = effect.key
        if self.limits.cost_budget_usd is not None and not performed.spent.cost_known:
            raise PriceUnknown(
                "the cost budget cannot be kept: the price of this model is not known. "
                "Use a model with a known price, or leave cost_budget_usd out.",
                value=performed.value,
            )
        return performed.value

    def model_call(
        self,
        *,
        key: str,
        role: str,
        messages: tuple[Message, ...],
        temperature: float = USUAL_TEMPERATURE,
        top_p: float | None = None,
        json_schema: dict[str, Any] | None = None,
        attempt: int | None = None,
    ) -> Generate:
        """Return a call of the model of `role` within the remaining budgets.

        The system prompt of a role that does the agent's work contains the project's rules. Raise EffectTimedOut if no
        time remains.
        """
        if role in WORKING_ROLES and self.lessons is not None and self.lessons.rules_block:
            messages = _with_rules(messages, self.lessons.rules_block)
        return Generate(
            key=key,
            role=role,
            messages=messages,
            temperature=temperature,
            top_p=top_p,
            max_tokens=self.tokens_left,
            timeout_s=self.time_left_s(),
            json_schema=json_schema,
            attempt=attempt,
        )

    def note_result(self, text: str) -> None:
        """Note the result of a step, which a writing tool is then allowed to save."""
        if self.gate is not None and text.strip():
            self.gate.produced.append(text)

    def note_call(self, call: ToolCall) -> None:
        """Note a call that was executed or may have been. Repeating it requires another ground."""
        if self.gate is not None:
            self.gate.made.append(call)

    async def ask_person(self, asking: AskPerson) -> PersonsAnswer:
        """Return a person's answer. After MOST_QUESTIONS questions, return SKIP without asking."""
        self._questions += 1
        if self._questions > MOST_QUESTIONS:
            return PersonsAnswer(choice=Choice.SKIP, by=f"The limit of {MOST_QUESTIONS} questions")
        return await self.perform(asking)

    async def wait(self, wait: Wait) -> bool:
        """Wait and return True. Return False without waiting if the run's total would exceed LONGEST_WAITED_S."""
        if self.waited_s + wait.delay_s > LONGEST_WAITED_S:
            return False
        await self.perform(wait)
        self.waited_s += wait.delay_s
        return True

    def _charge(self, spent: Spent) -> None:
        self.tokens += spent.tokens
        self.cost_usd += spent.cost_usd
        self.active_s += spent.duration_s
        self.unpriced_calls += not spent.cost_known

    @property
    def tokens_left(self) -> int:
        """Tokens left in the budget, at least 1, because a call must request some output."""
        return max(1, self.limits.token_budget - self.tokens)

    def time_left_s(self) -> float:
        """Return the seconds left. Raise EffectTimedOut if too few remain to be useful."""
        left = self.limits.time_budget_s - self.active_s
        if left < SHORTEST_CALL_S:
            raise EffectTimedOut(f"the run's {self.limits.time_budget_s:g} s were used up")
        return left

    def exceeded(self) -> Outcome | None:
        """Return the outcome for a reached limit, or None while another call is allowed."""
        if self.tokens >= self.limits.token_budget:
            return Outcome.OVER_BUDGET
        if self.limits.cost_budget_usd is not None and self.cost_usd >= self.limits.cost_budget_usd:
            return Outcome.OVER_BUDGET
        if self.active_s >= self.limits.time_budget_s:
            return Outcome.TIMED_OUT
        return None

    def check_limits(self, *, why: str = "") -> None:
        """Raise LimitReached if no further call is allowed."""
        limit = self.exceeded()
        if limit is not None:
            raise LimitReached(limit, why=why)

    async def record(self, judgement: Judgement, *, key: str) -> Judgement:
        """Record the judgement and return it as stored; a replay returns the stored one unchanged.

        Faults of produced files, and failed visual checks, count against any judgement except a person's. A PASS of an
        attempt with a required file that was not inspected gets confidence 0.
        """
        if judgement.attempt in self.files and judgement.referee is not Referee.PERSON:
            judgement = with_files(judgement, self.files[judgement.attempt])
        if judgement.passed and judgement.referee is not Referee.PERSON and self.uninspected(judgement.attempt):
            judgement = judgement.model_copy(update={"confidence": 0.0})
        recorded = await self.perform(RecordVerdict(key=key, judgement=judgement))
        self.judgements.append(recorded)
        if recorded.referee is Referee.PERSON:
            self.reviewed = len(self.attempts)
        return recorded

    async def record_pick(self, pick: Pick, *, key: str) -> Pick:
        """Record the pick and return it as stored."""
        self.pick = await self.perform(RecordPick(key=key, pick=pick))
        return self.pick

    def uninspected(self, number: int) -> tuple[str, ...]:
        """Return a sentence for each required file of attempt `number` that was not inspected."""
        checked = self.files.get(number)
        return checked.unknown if checked else ()

    def stop_by_scores(self, *, counted: Referee | None = None) -> Outcome | None:
        """Return the outcome if the scores of successive attempts say to stop, else None.

        Three falling scores in a row stop any loop. Weak referees are noisy: with one, the first attempt that does not
        improve on the best stops the loop too. It is over-correction only if the score fell. Attempts judged by a
        person do not count. With `counted`, only that referee's scores count, because others measure something else.
        """
        by_people = {judged.attempt for judged in self.judgements if judged.referee is Referee.PERSON}
        judgements = [
            judged
            for judged in self.judgements
            if judged.attempt not in by_people and not judged.is_void and counted in (None, judged.referee)
        ]
        scores = [judged.score for judged in judgements]
        if len(scores) >= 3 and scores[-3] > scores[-2] > scores[-1]:
            return Outcome.OVER_CORRECTED
        if len(scores) < 2 or not judgements[-1].referee.is_weak or scores[-1] > max(scores[:-1]):
            return None
        if scores[-1] < max(scores[:-1]):
            return Outcome.OVER_CORRECTED
        self.why_exhausted = f"Attempt {judgements[-1].attempt} scored no higher than an earlier one ({scores[-1]:g})."
        return Outcome.EXHAUSTED

    def ended(self, outcome: Outcome, *, error: str = "") -> Ended:
        """Return the run's end. If required files were not inspected, only a person can make it succeed."""
        pick = self.pick.attempt if self.pick else None
        whole = [number for number in self.attempts if number not in self.unfinished]
        best = best_attempt(whole or self.attempts, self.judgements, pick=pick)
        if outcome is Outcome.SUCCEEDED and best is not None and (open_files := self.uninspected(best)):
            judged = strongest_judgements(self.judgements).get(best)
            if judged is None or judged.referee is not Referee.PERSON:
                outcome, self.why_unverified = Outcome.UNVERIFIED, " ".join(open_files)
        whys = {Outcome.UNVERIFIED: self.why_unverified, Outcome.EXHAUSTED: self.why_exhausted}
        why = whys.get(outcome, "")
        return Ended(outcome=outcome, best_attempt=best, error=error or why)
