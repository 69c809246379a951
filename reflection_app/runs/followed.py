"""How far today's loop goes along with a journal that was written before.

Pure but for reading step rows. A fork pays nothing for what it inherits, so the loop is driven with every step costing
nothing, as the fork's own replay will drive it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from reflection_app.loops.catalogue import run_loop
from reflection_app.loops.effects import AnyEffect, EffectFailed, EffectTimedOut, Performed
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.runs.models.run import Step, StepState

FINISHED = frozenset({StepState.DONE, StepState.FAILED})


@dataclass(frozen=True)
class Followed:
    """The steps that today's loop asks for just so, what it asks for after them, and why it goes no further.

    `asks` is None where the loop has ended or broken. `why` is empty where all steps were followed.
    """

    kept: tuple[Step, ...]
    asks: AnyEffect | None
    why: str = ""


def follow(spec: TaskSpec, steps: Sequence[Step]) -> Followed:
    """The longest beginning of `steps`, in order from the first, that today's loop goes along with."""
    loop = run_loop(spec)
    resume = partial(loop.send, None)
    kept: list[Step] = []
    try:
        while True:
            try:
                effect = resume()
            except StopIteration:
                left = len(kept) < len(steps)
                return Followed(tuple(kept), None, f"the loop ends after step {len(kept)}" if left else "")
            except Exception as error:  # noqa: BLE001 - whatever it trips over, it cannot go on from there
                return Followed(tuple(kept[:-1]), None, f"the loop cannot use the result of step {len(kept)}: {error}")
            if len(kept) == len(steps):
                return Followed(tuple(kept), effect)
            step = steps[len(kept)]
            result, why = _recorded(step, effect)
            if result is None:
                return Followed(tuple(kept), effect, why)
            kept.append(step)
            resume = partial(loop.throw, result) if isinstance(result, EffectFailed) else partial(loop.send, result)
    finally:
        loop.close()


def _recorded(step: Step, effect: AnyEffect) -> tuple[Performed[Any] | EffectFailed | None, str]:
    """What the step holds as the result of `effect`, or None and why it holds none."""
    if (step.key, step.kind) != (effect.key, effect.kind):
        recorded = f"step {step.seq} is recorded as {step.key} ({step.kind})"
        return None, f"{recorded}, and the loop asks for {effect.key} ({effect.kind})"
    if step.state not in FINISHED:
        return None, f"step {step.seq} was not finished"
    if step.state == StepState.FAILED:
        return (EffectTimedOut if step.timed_out else EffectFailed)(step.error), ""
    try:
        return Performed(value=effect.results.validate_python(step.result)), ""
    except ValidationError:
        return None, f"the result of step {step.seq} is of an older form"
