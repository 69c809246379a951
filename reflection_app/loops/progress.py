"""What a loop has done so far: spending against its limits, attempts and judgements.

Loops perform every effect through `Progress`, so that nothing they spend goes uncounted. All of it is computed from
results, never from a clock, and so comes out the same when a run is replayed from its journal.
"""

from decimal import Decimal

from reflection_app.loops.attempt_effects import HandedIn, Pick, RecordPick, RecordVerdict
from reflection_app.loops.best_attempt import best_attempt
from reflection_app.loops.effect import Effect, EffectFailed, EffectTimedOut, Spent
from reflection_app.loops.ends import Ended, Outcome
from reflection_app.loops.lessons import Lessons
from reflection_app.loops.over_correction import is_over_corrected
from reflection_app.loops.questions import Choice, PersonsAnswer
from reflection_app.loops.task_spec import Limits
from reflection_app.loops.tickets import Ticket
from reflection_app.loops.verdicts import Judgement, Referee
from reflection_app.loops.waiting_effects import AskPerson, Wait

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


class PriceUnknown(EffectFailed):
    """The cost budget cannot be kept, since the model has no known price: no further call may be made.

    `value` is what the call came to.
    """

    def __init__(self, message: str, *, value: object = None) -> None:
        super().__init__(message)
        self.value = value


class Progress:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.tokens = 0
        self.cost_usd = Decimal(0)
        self.active_s = 0.0
        self.attempts: list[int] = []
        self.judgements: list[Judgement] = []
        self.pick: Pick | None = None
        self.tickets: dict[int, Ticket] = {}
        self.handed_in: dict[int, HandedIn] = {}
        # Attempts that are the beginning of an answer: nobody judges them.
        self.unfinished: set[int] = set()
        # Those that were cut off and stand as whole ones, in journals that do not tell such answers apart.
        self.cut_off: set[int] = set()
        self.lessons: Lessons | None = None
        self.waited_s = 0.0
        # Told with the run's end where that is unverified.
        self.why_unverified = ""
        self._questions = 0

    async def perform[R](self, effect: Effect[R]) -> R:
        """The effect's result, its spending counted.

        Raises EffectFailed (counted too); PriceUnknown where a money budget cannot be kept for want of a price.
        """
        try:
            performed = await effect
        except EffectFailed as failure:
            self._charge(failure.spent)
            raise
        self._charge(performed.spent)
        if self.limits.cost_budget_usd is not None and not performed.spent.cost_known:
            raise PriceUnknown(
                "the cost budget cannot be kept: the price of this model is not known. "
                "Use a model with a known price, or leave cost_budget_usd out.",
                value=performed.value,
            )
        return performed.value

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

    def check_limits(self) -> None:
        """Raises LimitReached where there is no room for another call."""
        limit = self.exceeded()
        if limit is not None:
            raise LimitReached(limit)

    async def record(self, judgement: Judgement, *, key: str) -> Judgement:
        """The judgement as the journal keeps it: on replay the recorded one, however answers are read by then."""
        recorded = await self.perform(RecordVerdict(key=key, judgement=judgement))
        self.judgements.append(recorded)
        return recorded

    async def record_pick(self, pick: Pick, *, key: str) -> Pick:
        """The pick as the journal keeps it."""
        self.pick = await self.perform(RecordPick(key=key, pick=pick))
        return self.pick

    def over_corrected(self, *, counted: Referee | None = None) -> bool:
        """Whether the referees' scores say to stop; what a person judged otherwise says nothing about them.

        Where only one referee's scores are `counted`, those of the others measure something else.
        """
        by_people = {judged.attempt for judged in self.judgements if judged.referee is Referee.PERSON}
        return is_over_corrected(
            [
                judged
                for judged in self.judgements
                if judged.attempt not in by_people and not judged.is_void and counted in (None, judged.referee)
            ]
        )

    def ended(self, outcome: Outcome, *, error: str = "") -> Ended:
        pick = self.pick.attempt if self.pick else None
        whole = [number for number in self.attempts if number not in self.unfinished]
        best = best_attempt(whole or self.attempts, self.judgements, pick=pick)
        why = self.why_unverified if outcome is Outcome.UNVERIFIED else ""
        return Ended(outcome=outcome, best_attempt=best, error=error or why)
