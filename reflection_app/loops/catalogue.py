"""The loops by name, and which one a task gets."""

from functools import partial

from reflection_app.loops.actor_critic import actor_critic
from reflection_app.loops.adaptive import Loop, adaptive
from reflection_app.loops.after.error_reflection import error_reflection
from reflection_app.loops.after.memory_reflection import memory_reflection
from reflection_app.loops.completeness_check import completeness_check
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.ends import Ended, Outcome
from reflection_app.loops.external_loop import external_loop
from reflection_app.loops.inline_reflection import inline_reflection
from reflection_app.loops.merge_suggestion import merge_suggestion
from reflection_app.loops.planning import planning
from reflection_app.loops.progress import LimitReached, Progress
from reflection_app.loops.reflection_protocol import reflection_protocol
from reflection_app.loops.reflexion import reflexion
from reflection_app.loops.routing import route_by_facts
from reflection_app.loops.structured_answers import NoUsableAnswer
from reflection_app.loops.task_spec import OF_THE_DESK, Mode, TaskSpec
from reflection_app.loops.tool_diagnosis import tool_diagnosis

LOOPS: dict[Mode, Loop] = {
    Mode.EXTERNAL_LOOP: external_loop,
    Mode.ACTOR_CRITIC: actor_critic,
    Mode.COMPLETENESS_CHECK: completeness_check,
    Mode.ERROR_REFLECTION: error_reflection,
    Mode.MEMORY_REFLECTION: memory_reflection,
    Mode.MERGE_SUGGESTION: merge_suggestion,
    Mode.INLINE_REFLECTION: inline_reflection,
    Mode.PLANNING: planning,
    Mode.REFLECTION_PROTOCOL: reflection_protocol,
    Mode.REFLEXION: reflexion,
    Mode.TOOL_DIAGNOSIS: tool_diagnosis,
}
LOOPS[Mode.ADAPTIVE] = partial(adaptive, loops=LOOPS)

# Raised by hand when a loop performs other effects, or in another order, than before: a run that was suspended under
# another version cannot be replayed.
VERSIONS: dict[Mode, int] = {
    Mode.EXTERNAL_LOOP: 2,
    Mode.ACTOR_CRITIC: 2,
    Mode.COMPLETENESS_CHECK: 1,
    Mode.ERROR_REFLECTION: 1,
    Mode.MEMORY_REFLECTION: 1,
    Mode.MERGE_SUGGESTION: 1,
    Mode.INLINE_REFLECTION: 1,
    Mode.PLANNING: 2,
    Mode.REFLECTION_PROTOCOL: 1,
    Mode.REFLEXION: 2,
    Mode.TOOL_DIAGNOSIS: 1,
    Mode.ADAPTIVE: 1,
}

JUDGES = frozenset({"critic", "self"})


def version_of(mode: Mode) -> int:
    """The version of a loop. Adaptive runs may become any of the others, so theirs changes with each of them."""
    if mode is not Mode.ADAPTIVE:
        return VERSIONS[mode]
    return sum(version for one, version in VERSIONS.items() if one not in OF_THE_DESK)


def mode_for(spec: TaskSpec) -> Mode:
    """The loop that a task begins with: where it was left open, the one that what came with the task decides on."""
    route = route_by_facts(spec, built=LOOPS) if spec.mode is Mode.ADAPTIVE else None
    return route.mode if route else spec.mode


async def run_loop(spec: TaskSpec) -> Ended:
    """Runs the loop of `spec` to its end. An effect that failed for good ends it as failed, with the error.

    Where only the judge failed, its words made no verdict and the attempt is kept as unverified.
    """
    run = Progress(spec.limits)
    try:
        outcome = await LOOPS[spec.mode](spec, run)
    except LimitReached as limit:
        return run.ended(limit.outcome, error=limit.why)
    except EffectTimedOut:
        outcome = Outcome.TIMED_OUT
    except NoUsableAnswer as failure:
        only_unjudged = failure.role in JUDGES and bool(run.attempts)
        return run.ended(Outcome.UNVERIFIED if only_unjudged else Outcome.FAILED, error=str(failure))
    except EffectFailed as failure:
        return run.ended(Outcome.FAILED, error=str(failure))
    return run.ended(outcome)
