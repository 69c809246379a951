"""Prints how often the attempt that the loop picks is right, by replaying recorded runs of code without tests.

Each trace goes through the real loop, its referee and the sandbox; recorded answers replace the model, and the hidden
test never reaches the loop. A trace is one line of JSON as Reflexion's logs give it (Shinn et al., 2023): `prompt`,
`entry_point`, the `tests` that the model wrote, its `implementations` in order, and either `attempts[].hidden` ("pass"
or not) or a `hidden_test`.

.venv/bin/python -m tests.load.replay_traces FILE
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from os import cpu_count
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from desk_sandbox import run_tests
from desk_sandbox.code_tests import CodeTests
from reflection_app.loops.attempt_effects import Generate, Generation, Pick, RecordPick, RecordVerdict, RunTests
from reflection_app.loops.catalogue import run_loop
from reflection_app.loops.effect import EffectFailed, Performed
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.task_spec import Limits, Mode, ReviewPolicy, TaskKind, TaskSpec
from reflection_app.loops.verdicts import Ended, Judgement, Outcome
from reflection_app.metrics.statistics import wilson

REVIEWED_PERCENT = (0, 5, 10, 20, 30, 100)
# Draws the figure of a kind with few problems towards one half: what was found on few did not hold on others.
PRIOR_PROBLEMS = 30


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
        """Return the recorded result of the hidden test on attempt `number`, or run it."""
        if number <= len(self.attempts) and self.attempts[number - 1].hidden:
            return self.attempts[number - 1].hidden == "pass"
        tests = CodeTests(script=self.hidden_test, entry_point=self.entry_point)
        return run_tests(self.implementations[number - 1], tests=tests).all_passed

    @cached_property
    def right(self) -> tuple[bool, ...]:
        return tuple(self.is_right(number) for number in range(1, len(self.implementations) + 1))

    @property
    def best_self_scored(self) -> int:
        """The number of the attempt that passes most of the model's tests, ties to the earliest."""
        scores = [sum(attempt.internal) for attempt in self.attempts] or [0]
        return scores.index(max(scores)) + 1


@dataclass(frozen=True)
class Replayed:
    """The end of one trace in the loop. `rival` is the attempt made that passes most tests, ties to the earliest."""

    trace: Trace
    kept: int
    used: int
    rival: int
    outcome: Outcome
    because: str
    confidence: float
    score: float

    @property
    def pick_is_right(self) -> bool:
        return self.trace.right[self.kept - 1]

    @property
    def any_made_is_right(self) -> bool:
        return any(self.trace.right[: self.used])


def replay(trace: Trace) -> Replayed:
    """Run the loop on `trace` with at most as many attempts as were recorded."""
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
        rival=min(scores, key=lambda number: (-scores[number], number), default=kept),
        outcome=ended.outcome,
        because=player.pick.reasons[0] if player.pick else "",
        confidence=player.pick.confidence if player.pick else 0.0,
        score=scores.get(kept, 0.0),
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
                return _generated("\n".join(self.trace.tests))
            case Generate(attempt=int(number)):
                self.used = number
                return _generated(self.trace.implementations[number - 1])
            case RunTests():
                return run_tests(effect.code, tests=effect.tests, deadline_s=effect.timeout_s, wanted=effect.wanted)
            case RecordVerdict(judgement=judgement):
                self.judgements.append(judgement)
                return judgement
            case RecordPick(pick=pick):
                self.pick = pick
                return pick
        raise EffectFailed(f"nothing is recorded for {effect.key}")


def _generated(code: str) -> Generation:
    return Generation(text=f"````python\n{code}\n````", model="recorded")


def figures_of(runs: Sequence[Replayed]) -> dict[str, Any]:
    """Count the runs that are right by the attempt that is picked, and the share right after reviews."""
    traces = [run.trace for run in runs]
    return {
        "runs": len(runs),
        "first": sum(trace.right[0] for trace in traces),
        "last": sum(trace.right[-1] for trace in traces),
        "best_self_score": sum(trace.right[trace.best_self_scored - 1] for trace in traces),
        "kept": sum(run.pick_is_right for run in runs),
        "any": sum(any(trace.right) for trace in traces),
        "gained": sum(run.pick_is_right and not run.trace.right[0] for run in runs),
        "lost": sum(run.trace.right[0] and not run.pick_is_right for run in runs),
        "succeeded": sum(run.outcome is Outcome.SUCCEEDED for run in runs),
        "succeeded_right": sum(run.outcome is Outcome.SUCCEEDED and run.pick_is_right for run in runs),
        "attempts_recorded": sum(len(trace.implementations) for trace in traces),
        "attempts_used": sum(run.used for run in runs),
        "review_curve": review_curve(runs),
        "kinds": kinds_of(run for run in runs if run.because),
    }


def review_curve(runs: Sequence[Replayed]) -> dict[str, float]:
    """Map the percentage of runs reviewed, least confident first, to the share right after that.

    The reviewer picks a right attempt where one was made.
    """
    ordered = sorted(runs, key=lambda run: (run.confidence, run.score))
    curve = {}
    for percent in REVIEWED_PERCENT:
        reviewed = round(len(ordered) * percent / 100)
        right = sum(run.any_made_is_right for run in ordered[:reviewed])
        right += sum(run.pick_is_right for run in ordered[reviewed:])
        curve[str(percent)] = round(right / max(1, len(ordered)), 4)
    return curve


def kinds_of(runs: Iterable[Replayed]) -> list[dict[str, Any]]:
    """For each reason of a pick: its stated confidence, and how often such picks are right, counted by problem.

    `gained` and `lost` are the problems on which keeping the rival would be better or worse.
    """
    found: dict[tuple[float, str], list[Replayed]] = defaultdict(list)
    stated: dict[float, list[Replayed]] = defaultdict(list)
    for run in runs:
        found[run.confidence, run.because].append(run)
        stated[run.confidence].append(run)
    kinds = []
    for (confidence, because), of_kind in sorted(found.items(), key=lambda item: (-item[0][0], item[0][1])):
        shares = _by_problem((run, float(run.pick_is_right)) for run in of_kind)
        nets = _by_problem((run, float(run.trace.right[run.rival - 1]) - run.pick_is_right) for run in of_kind)
        interval = wilson(sum(shares.values()), len(shares))
        assert interval is not None
        others = held_out(stated[confidence])
        kinds.append(
            {
                "because": because,
                "stated": confidence,
                "runs": len(of_kind),
                "problems": len(shares),
                "right": sum(run.pick_is_right for run in of_kind),
                "low": round(interval.low, 4),
                "high": round(interval.high, 4),
                "held_out": round(fmean(others[run.trace.prompt] for run in of_kind), 4),
                "gained": sum(net > 0 for net in nets.values()),
                "lost": sum(net < 0 for net in nets.values()),
            }
        )
    return kinds


def held_out(runs: Iterable[Replayed]) -> dict[str, float]:
    """Map each problem to the confidence that the other problems give to these picks."""
    shares = _by_problem((run, float(run.pick_is_right)) for run in runs)
    total, others = sum(shares.values()), len(shares) - 1
    return {
        problem: (total - share + PRIOR_PROBLEMS / 2) / (others + PRIOR_PROBLEMS) for problem, share in shares.items()
    }


def _by_problem(values: Iterable[tuple[Replayed, float]]) -> dict[str, float]:
    """Map each problem to its mean value; runs of one prompt are of one problem."""
    found = defaultdict[str, list[float]](list)
    for run, value in values:
        found[run.trace.prompt].append(value)
    return {problem: fmean(each) for problem, each in found.items()}


def replay_file(path: Path) -> dict[str, Any]:
    """The figures of the traces in `path`, one a line."""
    lines = path.read_text(encoding="utf-8").split("\n")
    traces = [Trace.model_validate_json(line) for line in lines if line.strip()]
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        return figures_of(list(pool.map(replay, traces)))


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    figures = replay_file(Path(sys.argv[1]))
    kinds = figures.pop("kinds")
    print(json.dumps(figures, indent=1))
    print("stated  held out   right of runs   95 % interval (problems)   rival better/worse  because")
    for kind in kinds:
        right = f"{kind['right']} of {kind['runs']}"
        interval = f"{kind['low']:.2f} to {kind['high']:.2f} ({kind['problems']})"
        rival = f"{kind['gained']} / {kind['lost']}"
        print(
            f"{kind['stated']:6.2f}  {kind['held_out']:8.3f}   {right:>13}   {interval:>24}   {rival:>18}  "
            f"{kind['because']}"
        )


if __name__ == "__main__":
    main()
