"""What a loop has done so far: spending against its limits, attempts and judgements.

Loops perform every effect through `Progress`, so that nothing they spend goes uncounted. All of it is computed from
results, never from a clock, and so comes out the same when a run is replayed from its journal.
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

# Which attempt a run keeps: the best by its strongest referee, not the last.


def best_attempt(attempts: Iterable[int], judgements: Iterable[Judgement], *, pick: int | None = None) -> int | None:
    """The number of the attempt to keep, or None where there is none.

    What a person accepted comes first, and what a person rejected is kept only when there is nothing else. A `pick`,
    made by more evidence than a score, comes next. Then an attempt that meets more of the minimum requirements comes
    before one that meets fewer, whoever judged them. Otherwise the strongest referee decides: what it passed before
    what it did not, then the score, ties to the earliest. A person who sent an attempt back has given it a score that
    stands among those of the strongest referee. An attempt that nobody judged comes after every judged one.
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
        # An attempt of which it is not known what it meets is not held to fall short.
        meeting_most = [one for one in bearable if shares.get(one.attempt, most) >= most]
        by_others = [one for one in meeting_most if one.referee is not Referee.PERSON]
        # Those that say only that requirements are not met give way to others, which meet no more and were judged.
        by_others = [one for one in by_others if one.passed or not one.is_by_requirements] or by_others
        strongest = max((one.referee for one in by_others), default=None)
        # Of what a person rejected there is something here only where there is nothing else.
        by_people = [one for one in meeting_most if one.referee is Referee.PERSON]
        candidates = by_people + [one for one in by_others if one.referee == strongest]
    return min(candidates, key=lambda judgement: (not judgement.passed, -judgement.score, judgement.attempt)).attempt


def _is_rejected(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.referee is Referee.PERSON and judgement.verdict is Verdict.REJECT


def strongest_judgements(judgements: Iterable[Judgement]) -> dict[int, Judgement]:
    """For each attempt its judgement by the strongest referee; of two equally strong the later one."""
    decisive: dict[int, Judgement] = {}
    for judgement in judgements:
        known = decisive.get(judgement.attempt)
        if known is None or judgement.referee >= known.referee:
            decisive[judgement.attempt] = judgement
    return decisive


# Roles that do the agent's work. Critics, testers and reflectors are not bound by the project's rules for agents.
WORKING_ROLES = frozenset({ModelRole.ACTOR, ModelRole.PLANNER, ModelRole.ESCALATION})


def _with_rules(messages: tuple[Message, ...], rules: str) -> tuple[Message, ...]:
    """Return the messages with the rules at the end of the system prompt. A continued call has them already."""
    first, rest = (messages[0], messages[1:]) if messages and messages[0].role == "system" else (None, messages)
    if first is None:
        return (system(rules), *rest)
    if rules in first.content:
        return messages
    return (first.model_copy(update={"content": f"{first.content}\n\n{rules}"}), *rest)


# A call that gets less than this cannot answer; the time is up.
SHORTEST_CALL_S = 0.05
# Who plans repairs is a model, and a tool may refuse for ever: a person is asked no more often than this by one run.
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
    """A person put their own text in an attempt's place; whatever loop it is ends with it, as this attempt."""

    def __init__(self, attempt: int) -> None:
        super().__init__(f"attempt {attempt}")
        self.attempt = attempt


class PriceUnknown(EffectFailed):
    """The cost budget cannot be kept, since the model has no known price: no further call may be made.

    `value` is what the call came to.
    """

    def __init__(self, message: str, *, value: object = None) -> None:
        super().__init__(message)
        self.value = value


@dataclass(frozen=True)
class FailedCall:
    """A model call that failed for good: its step's key, and the last step before it that worked."""

    key: str
    last_good_step: str
    failure: EffectFailed

    @property
    def attempt(self) -> int | None:
        """The number of the attempt that the call belongs to, or None."""
        number = self.key.removeprefix("attempt-").split("/", 1)[0]
        return int(number) if number.isdecimal() else None


class Progress:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.tokens = 0
        self.cost_usd = Decimal(0)
        self.active_s = 0.0
        # Calls that cost nobody knows what: `cost_usd` is then only a part.
        self.unpriced_calls = 0
        self.attempts: list[int] = []
        self.judgements: list[Judgement] = []
        # How many attempts there were when a person last decided.
        self.reviewed = 0
        self.pick: Pick | None = None
        self.tickets: dict[int, Ticket] = {}
        self.handed_in: dict[int, HandedIn] = {}
        # What the files told that were produced by the attempt of this number, where there were any to be looked at.
        self.files: dict[int, FilesChecked] = {}
        # Attempts that are the beginning of an answer: nobody judges them.
        self.unfinished: set[int] = set()
        # Those that were cut off and stand as whole ones, in journals that do not tell such answers apart.
        self.cut_off: set[int] = set()
        # Whether some tool of the run has answered with a file.
        self.has_produced_files = False
        self.lessons: Lessons | None = None
        self.waited_s = 0.0
        # Told with the run's end where that is unverified.
        self.why_unverified = ""
        # The same of one that is exhausted before its last attempt.
        self.why_exhausted = ""
        # Decides about calls of tools; None in a run that began before there was one.
        self.gate: CallGate | None = None
        # What was seen on files, by their bytes and what they must show.
        self.looks: dict[tuple[str, str], Look] = {}
        # The text of each attempt that was made.
        self.contents: dict[int, str] = {}
        self.failed_call: FailedCall | None = None
        self._last_good_step = ""
        self._questions = 0

    async def perform[R](self, effect: Effect[R]) -> R:
        """The effect's result, its spending counted.

        Raises EffectFailed (counted too); PriceUnknown where a money budget cannot be kept for want of a price.
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
        """Return a call of the model of `role` within the remaining budgets. Raises EffectTimedOut if no time remains.

        The system prompt of a role that does the agent's work holds the project's rules.
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
        """Note a result of a step: a tool that writes may save it."""
        if self.gate is not None and text.strip():
            self.gate.produced.append(text)

    def note_call(self, call: ToolCall) -> None:
        """Note a call that was carried out, or may have been: the same call needs another reason."""
        if self.gate is not None:
            self.gate.made.append(call)

    async def ask_person(self, asking: AskPerson) -> PersonsAnswer:
        """The person's answer; where the run has asked too often already nobody is asked, and the question skipped."""
        self._questions += 1
        if self._questions > MOST_QUESTIONS:
            return PersonsAnswer(choice=Choice.SKIP, by=f"The limit of {MOST_QUESTIONS} questions")
        return await self.perform(asking)

    async def wait(self, wait: Wait) -> bool:
        """Whether the time has passed; false, without waiting, where the run would wait longer than it may at all."""
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
        """At least 1: a call is never asked for no answer at all."""
        return max(1, self.limits.token_budget - self.tokens)

    def time_left_s(self) -> float:
        """Raises EffectTimedOut where nothing useful is left."""
        left = self.limits.time_budget_s - self.active_s
        if left < SHORTEST_CALL_S:
            raise EffectTimedOut(f"the run's {self.limits.time_budget_s:g} s were used up")
        return left

    def exceeded(self) -> Outcome | None:
        """The limit that is reached, or None while there is room for another call."""
        if self.tokens >= self.limits.token_budget:
            return Outcome.OVER_BUDGET
        if self.limits.cost_budget_usd is not None and self.cost_usd >= self.limits.cost_budget_usd:
            return Outcome.OVER_BUDGET
        if self.active_s >= self.limits.time_budget_s:
            return Outcome.TIMED_OUT
        return None

    def check_limits(self, *, why: str = "") -> None:
        """Raises LimitReached where there is no room for another call."""
        limit = self.exceeded()
        if limit is not None:
            raise LimitReached(limit, why=why)

    async def record(self, judgement: Judgement, *, key: str) -> Judgement:
        """The judgement as the journal keeps it: on replay the recorded one, however answers are read by then.

        Files that were produced speak against it whoever judged, and so does what was seen on them; a person alone may
        pass over them. A PASS of an attempt with a required file that was not inspected has no confidence.
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
        """The pick as the journal keeps it."""
        self.pick = await self.perform(RecordPick(key=key, pick=pick))
        return self.pick

    def uninspected(self, number: int) -> tuple[str, ...]:
        """Return which required files of attempt `number` were not inspected, one sentence each."""
        checked = self.files.get(number)
        return checked.unknown if checked else ()

    def stop_by_scores(self, *, counted: Referee | None = None) -> Outcome | None:
        """Return the outcome if the evaluators' scores, in order of the attempts, say to stop, or None.

        Three in a row that fall stop any loop. A weak evaluator's word is noisy: under one, so does the first attempt
        that does not improve on the best. That is over-correction only if the score fell. Attempts that a person judged
        do not count. With `counted`, only that evaluator's scores do: others measure something else.
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
        """Return the run's end. Only a person can let an attempt succeed whose required files were not inspected."""
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
