"""Recorded runs replayed attempt by attempt through the real loop, referee and sandbox.

A trace is one line of JSON as Reflexion's logs give it (Shinn et al., 2023): `prompt`, `entry_point`, the `tests` that
the model wrote, its `implementations` in order, and either `attempts[].hidden` ("pass" or not) or a `hidden_test`.
What is recorded stands in for the models; nothing hidden reaches the loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from reflection_app.adapters.sandbox import run_tests
from reflection_app.loops.attempt_effects import Generate, Generation, Pick, RecordPick, RecordVerdict, RunTests
from reflection_app.loops.catalogue import run_loop
from reflection_app.loops.code_tests import CodeTests
from reflection_app.loops.effect import EffectFailed, Performed
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.task_spec import Limits, Mode, ReviewPolicy, TaskKind, TaskSpec
from reflection_app.loops.verdicts import Ended, Judgement, Outcome
from reflection_app.metrics.referees import Picked, RefereeQuality, kinds_of

REVIEWED_SHARES = (0, 5, 10, 20, 30, 100)


class RecordedAttempt(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    hidden: str = ""
    internal: tuple[bool, ...] = ()


class Trace(BaseModel):
    """One recorded run."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    prompt: str = Field(min_length=1)
    entry_point: str | None = None
    tests: tuple[str, ...] = ()
    implementations: tuple[str, ...] = Field(min_length=1)
    hidden_test: str = ""
    attempts: tuple[RecordedAttempt, ...] = ()

    def is_right(self, number: int) -> bool:
        """Whether attempt `number` passes the hidden test: as recorded, else by running it."""
        if number <= len(self.attempts) and self.attempts[number - 1].hidden:
            return self.attempts[number - 1].hidden == "pass"
        tests = CodeTests(script=self.hidden_test, entry_point=self.entry_point)
        return run_tests(self.implementations[number - 1], tests=tests).all_passed

    @cached_property
    def right(self) -> tuple[bool, ...]:
        return tuple(self.is_right(number) for number in range(1, len(self.implementations) + 1))

    @property
    def best_self_scored(self) -> int:
        """The attempt that passes most of the tests that the model wrote, ties to the earliest."""
        scores = [sum(attempt.internal) for attempt in self.attempts] or [0]
        return scores.index(max(scores)) + 1


@dataclass(frozen=True)
class Replayed:
    """What the loop made of one trace. `unsettled_first` orders runs: the least settled come first.

    `best_scored` is the attempt made that passes most of the tests that count, ties to the earliest.
    """

    trace: Trace
    kept: int
    used: int
    best_scored: int
    outcome: Outcome
    because: str
    unsettled_first: tuple[float, float]

    @property
    def kept_is_right(self) -> bool:
        return self.trace.right[self.kept - 1]

    @property
    def any_made_is_right(self) -> bool:
        return any(self.trace.right[: self.used])

    @property
    def picked(self) -> Picked:
        """Runs of one prompt are of one problem."""
        return Picked(
            problem=self.trace.prompt,
            because=self.because,
            stated=self.unsettled_first[0],
            is_right=self.kept_is_right,
            rival_is_right=self.trace.right[self.best_scored - 1],
        )


def replay(trace: Trace) -> Replayed:
    """The trace through the loop for code without tests, with as many attempts as were recorded at most."""
    spec = TaskSpec(
        objective=trace.prompt,
        mode=Mode.EXTERNAL_LOOP,
        kind=TaskKind.CODE_GENERATION.value,
        limits=Limits(
            max_iterations=min(20, len(trace.implementations)), token_budget=100_000_000, time_budget_s=86_400
        ),
        review_policy=ReviewPolicy(audit_share=0, unsettled_waits=False),
    )
    player = _Player(trace)
    ended = player.play(spec)
    kept = ended.best_attempt or 1
    scores = {judged.attempt: judged.score for judged in player.judgements}
    return Replayed(
        trace=trace,
        kept=kept,
        used=max(1, player.used),
        best_scored=min(scores, key=lambda number: (-scores[number], number), default=kept),
        outcome=ended.outcome,
        because=player.pick.reasons[0] if player.pick else "",
        unsettled_first=(player.pick.confidence if player.pick else 0.0, scores.get(kept, 0.0)),
    )


class _Player:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.used = 0
        self.pick: Pick | None = None
        self.judgements: list[Judgement] = []

    def play(self, spec: TaskSpec) -> Ended:
        loop = run_loop(spec)
        resume: Callable[[], Any] = partial(loop.send, None)
        while True:
            try:
                effect = resume()
            except StopIteration as stop:
                ended: Ended = stop.value
                return ended
            try:
                resume = partial(loop.send, Performed(value=self._answer(effect)))
            except EffectFailed as failure:
                resume = partial(loop.throw, failure)

    def _answer(self, effect: AnyEffect) -> Any:
        match effect:
            case Generate(role="tester"):
                return _said("\n".join(self.trace.tests))
            case Generate(attempt=int(number)):
                self.used = number
                return _said(self.trace.implementations[number - 1])
            case RunTests():
                return run_tests(effect.code, tests=effect.tests, deadline_s=effect.timeout_s, wanted=effect.wanted)
            case RecordVerdict(judgement=judgement):
                self.judgements.append(judgement)
                return judgement
            case RecordPick(pick=pick):
                self.pick = pick
                return pick
        raise EffectFailed(f"nothing is recorded for {effect.key}")


def _said(code: str) -> Generation:
    return Generation(text=f"````python\n{code}\n````", model="recorded")


def quality_of(runs: Sequence[Replayed]) -> RefereeQuality:
    """Counts of runs right on the hidden tests by what is kept, and what people's looking would add."""
    traces = [run.trace for run in runs]
    return RefereeQuality(
        runs=len(runs),
        first=sum(trace.right[0] for trace in traces),
        last=sum(trace.right[-1] for trace in traces),
        best_self_score=sum(trace.right[trace.best_self_scored - 1] for trace in traces),
        any=sum(any(trace.right) for trace in traces),
        kept=sum(run.kept_is_right for run in runs),
        gained=sum(run.kept_is_right and not run.trace.right[0] for run in runs),
        lost=sum(run.trace.right[0] and not run.kept_is_right for run in runs),
        succeeded=sum(run.outcome is Outcome.SUCCEEDED for run in runs),
        succeeded_right=sum(run.outcome is Outcome.SUCCEEDED and run.kept_is_right for run in runs),
        attempts_recorded=sum(len(trace.implementations) for trace in traces),
        attempts_used=sum(run.used for run in runs),
        review_curve=review_curve(runs),
        kinds=kinds_of(run.picked for run in runs if run.because),
    )


def review_curve(runs: Sequence[Replayed]) -> dict[str, float]:
    """The share right in the end, by the share (%) of least settled runs that a person looks at.

    The person picks a right attempt where one was made.
    """
    ordered = sorted(runs, key=lambda run: run.unsettled_first)
    curve = {}
    for share in REVIEWED_SHARES:
        looked_at = round(len(ordered) * share / 100)
        right = sum(run.any_made_is_right for run in ordered[:looked_at])
        right += sum(run.kept_is_right for run in ordered[looked_at:])
        curve[str(share)] = round(right / max(1, len(ordered)), 4)
    return curve
