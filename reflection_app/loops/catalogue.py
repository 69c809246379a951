"""The loops by name, and which one a task gets."""

from collections.abc import Awaitable, Callable, Container, Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator

from reflection_app.loops.actor_critic import actor_critic
from reflection_app.loops.after.looking_back import error_reflection, memory_reflection
from reflection_app.loops.answer_reading import Clipped, Lenient, Share
from reflection_app.loops.answer_schemas import SHARE, TEXT, closed_object, one_of
from reflection_app.loops.answers import NoUsableAnswer, ask
from reflection_app.loops.code_loop import code_loop
from reflection_app.loops.completeness.asking import check_completeness
from reflection_app.loops.completeness.checks import CheckState, CompletenessSettings
from reflection_app.loops.data_loop import data_loop
from reflection_app.loops.diagnosis.diagnoses import Source
from reflection_app.loops.diagnosis.diagnosing import diagnose
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.effects import ChooseLoop, Route
from reflection_app.loops.framing import frame_of
from reflection_app.loops.generated_tests import generated_tests_loop
from reflection_app.loops.inline_reflection import inline_reflection
from reflection_app.loops.merge_suggestion import merge_suggestion
from reflection_app.loops.planning import planning
from reflection_app.loops.progress import AnsweredByPerson, LimitReached, PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.reflection_protocol import reflection_protocol, report_crash
from reflection_app.loops.reflexion import reflexion
from reflection_app.loops.required_review import reviewed_end
from reflection_app.loops.task_spec import OF_THE_DESK, Execution, Mode, TaskKind, TaskSpec
from reflection_app.loops.texts import cut_with
from reflection_app.loops.tool_loop import tool_loop
from reflection_app.loops.values import Message, user
from reflection_app.loops.verdicts import Ended, Outcome

# Which loop a task gets: a real signal first, then a critic, and the model's own judgement last.


def can_check(spec: TaskSpec, kind: TaskKind | None) -> bool:
    """Whether the external loop can check attempts at this task: code without tests is given tests by a model."""
    brought = spec.tests is not None or spec.output_schema is not None or spec.tool_call is not None
    return brought or kind is TaskKind.CODE_GENERATION


def route_by_facts(spec: TaskSpec, *, built: Container[Mode]) -> Route | None:
    """The loop of a task by what came with it, or None where a model has to say what the task is about."""
    kind = kind_of(spec)
    task_kind = kind.value if kind else spec.kind
    hands_in_calls = bool(spec.tools) and spec.execution is Execution.EXTERNAL
    can_plan = bool(spec.tools) and Mode.PLANNING in built
    needs_files = spec.requirements is not None and not spec.requirements.of_the_answer
    is_managed = spec.execution is Execution.MANAGED
    brought = (
        (spec.tests is not None, Mode.EXTERNAL_LOOP, "Tests came with the task."),
        (spec.output_schema is not None, Mode.EXTERNAL_LOOP, "A schema of the answer came with the task."),
        (
            needs_files and can_plan and is_managed,
            Mode.PLANNING,
            "Tools came, and files must come of it.",
        ),
        (spec.requirements is not None, Mode.REFLECTION_PROTOCOL, "Minimum requirements came with the task."),
        (spec.tool_call is not None, Mode.EXTERNAL_LOOP, "A call of a tool came with the task."),
        (hands_in_calls, Mode.EXTERNAL_LOOP, "Tools came with the task; its agent hands in calls."),
        (can_plan, Mode.PLANNING, "Tools came with the task."),
    )
    for is_there, mode, why in brought:
        if is_there:
            return Route(mode=mode, task_kind=task_kind, why=why)
    return route_by_kind(spec, kind) if kind else None


def route_by_kind(spec: TaskSpec, kind: TaskKind, *, why: str = "") -> Route:
    """The loop of a task of this kind; `why` is what a classifier said of it."""
    if can_check(spec, kind):
        mode, reason = Mode.EXTERNAL_LOOP, "Running it shows whether it works."
    elif kind is TaskKind.REASONING:
        mode, reason = Mode.REFLEXION, "Reasoning is checked by thinking it through again."
    elif not spec.has_critic:
        mode, reason = Mode.REFLEXION, "Nothing can check it and there is no critic, so the model judges itself."
    elif kind is TaskKind.CREATIVE_WRITING:
        mode, reason = Mode.ACTOR_CRITIC, "A text is best judged by a critic."
    else:
        mode, reason = Mode.ACTOR_CRITIC, "Nothing can check it by running it, so a critic judges."
    return Route(mode=mode, task_kind=kind.value, why=" ".join(text for text in (why.strip(), reason) if text))


def kind_of(spec: TaskSpec) -> TaskKind | None:
    """The kind that the task was handed in with, where it is one that decides something."""
    return TaskKind(spec.kind) if spec.kind in TaskKind else None


# A completeness check of work that was done elsewhere: its history comes with the task, and nothing is carried out.


async def completeness_check(spec: TaskSpec, run: Progress) -> Outcome:
    """Succeeded once the check was made, whatever it found; unverified where it failed."""
    settings = spec.completeness or CompletenessSettings()
    found = await check_completeness(spec, run, history=spec.history, settings=settings, base="history")
    return Outcome.UNVERIFIED if found.state is CheckState.UNCHECKED else Outcome.SUCCEEDED


# The diagnosis of a failed call that an outside agent reported: nothing is called, and no attempt is made.

PLACE = "reported"


async def tool_diagnosis(spec: TaskSpec, run: Progress) -> Outcome:
    """Succeeds with a diagnosis; unverified where nobody could tell what was wrong."""
    if spec.failed_call is None:
        raise EffectFailed("There is no failed call to diagnose.")
    diagnosis = await diagnose(run, spec.failed_call, place=PLACE)
    return Outcome.UNVERIFIED if diagnosis.source is Source.NONE else Outcome.SUCCEEDED


# What a task is about, asked of a model where nobody said it.

TEMPERATURE = 0.0
# What a task is about shows in its beginning; long tasks are long because of what they bring along.
LONGEST_SHOWN = 6_000


def _kind(value: Any) -> TaskKind:
    """Classifiers invent kinds, and write them as they like; an unknown one is `other`."""
    name = "_".join(str(value).lower().replace("-", " ").replace("_", " ").split())
    return TaskKind(name) if name in TaskKind else TaskKind.OTHER


class Classification(Lenient):
    task_kind: Annotated[TaskKind, BeforeValidator(_kind)]
    confidence: Share | None = None
    why: Clipped = ""


ANSWER_SCHEMA = closed_object(task_kind=one_of(TaskKind), confidence=SHARE, why=TEXT)


async def classify(spec: TaskSpec, run: Progress) -> Classification:
    """What the task is about. `other` where no usable answer comes: a task never fails for want of a class."""
    run.check_limits()
    request = run.model_call(
        key="classify",
        role="classifier",
        messages=question(spec.objective),
        temperature=TEMPERATURE,
        json_schema=ANSWER_SCHEMA,
    )
    try:
        return await ask(run, request, schema=Classification)
    except (EffectTimedOut, PriceUnknown):
        raise
    except EffectFailed as failure:
        return Classification(task_kind=TaskKind.OTHER, why=f"The task could not be classified. {failure}")


def question(objective: str) -> tuple[Message, ...]:
    """What the classifier is asked. The task cannot close its frame."""
    shown = cut_with(objective, LONGEST_SHOWN, note="[The rest is not shown.]")
    return (user(prompt("classify", objective=shown, frame=frame_of(objective))),)


# The adaptive loop: what the task is about decides which loop it goes on with, in the same journal.

Loop = Callable[[TaskSpec, Progress], Awaitable[Outcome]]


async def adaptive(spec: TaskSpec, run: Progress, *, loops: Mapping[Mode, Loop]) -> Outcome:
    """The end of the loop that suits the task. A classifier is asked only where the task does not say it itself."""
    route = route_by_facts(spec, built=loops)
    if route is None:
        found = await classify(spec, run)
        route = route_by_kind(spec, found.task_kind, why=found.why)
    chosen = await run.perform(ChooseLoop(key="route", route=route))
    changed = {"mode": chosen.mode, "kind": spec.kind or chosen.task_kind}
    return await loops[chosen.mode](spec.model_copy(update=changed), run)


# The external loop: a real signal decides, and no model is asked whether it went well.
#
# What the task brought decides which signal that is: tests come before a schema, a schema before tools. Code without
# tests gets tests that a model writes.


async def external_loop(spec: TaskSpec, run: Progress) -> Outcome:
    """The end of the loop that goes with what can check this task."""
    if spec.tests is not None:
        return await code_loop(spec, run)
    if spec.output_schema is not None:
        return await data_loop(spec, run)
    if spec.tools:
        return await tool_loop(spec, run)
    return await generated_tests_loop(spec, run)


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
    Mode.COMPLETENESS_CHECK: 3,
    Mode.ERROR_REFLECTION: 1,
    Mode.MEMORY_REFLECTION: 1,
    Mode.MERGE_SUGGESTION: 1,
    Mode.INLINE_REFLECTION: 1,
    Mode.PLANNING: 4,
    Mode.REFLECTION_PROTOCOL: 2,
    Mode.REFLEXION: 2,
    Mode.TOOL_DIAGNOSIS: 1,
    Mode.ADAPTIVE: 1,
}

JUDGES = frozenset({"critic", "self"})
# What checks, diagnoses or reflects makes no attempt that could be sent back.
WITHOUT_ATTEMPTS = OF_THE_DESK | {Mode.COMPLETENESS_CHECK, Mode.INLINE_REFLECTION, Mode.TOOL_DIAGNOSIS}


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
    """Runs the loop of `spec` to its end, which waits for a reviewer where the task requires one."""
    run = Progress(spec.limits)
    run.gate = spec.gate()
    return await reviewed_end(spec, run, await _run_to_end(spec, run))


async def _run_to_end(spec: TaskSpec, run: Progress) -> Ended:
    """Runs the loop. An effect that failed for good ends it as failed, with the error.

    Of a model call a rewind ticket and a report are stored. Where only the judge failed, its words made no verdict and
    the attempt is kept as unverified.
    """
    try:
        outcome = await LOOPS[spec.mode](spec, run)
    except AnsweredByPerson as answered:
        run.reviewed = len(run.attempts)
        return Ended(outcome=Outcome.SUCCEEDED, best_attempt=answered.attempt)
    except LimitReached as limit:
        return run.ended(limit.outcome, error=limit.why)
    except EffectTimedOut:
        outcome = Outcome.TIMED_OUT
    except NoUsableAnswer as failure:
        only_unjudged = failure.role in JUDGES and bool(run.attempts)
        return run.ended(Outcome.UNVERIFIED if only_unjudged else Outcome.FAILED, error=str(failure))
    except EffectFailed as failure:
        if spec.mode not in WITHOUT_ATTEMPTS:
            # A fork may have edited a step of the report into another.
            with suppress(EffectFailed):
                await report_crash(spec, run, failure)
        return run.ended(Outcome.FAILED, error=str(failure))
    return run.ended(outcome)
