"""Registry of the loops, and the choice of a loop for a task."""

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

# Routing: prefer a real signal, then a critic; the model's own judgement comes last.


def can_check(spec: TaskSpec, kind: TaskKind | None) -> bool:
    """Return True if the external loop can check the task. For code without tests, a model writes tests."""
    brought = spec.tests is not None or spec.output_schema is not None or spec.tool_call is not None
    return brought or kind is TaskKind.CODE_GENERATION


def route_by_facts(spec: TaskSpec, *, built: Container[Mode]) -> Route | None:
    """Return the route that the task's own data determines, or None if a classifier must decide."""
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
    """Return the route for a task of `kind`; `why` is the classifier's reason."""
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
    """Return the kind submitted with the task, if it is a known TaskKind."""
    return TaskKind(spec.kind) if spec.kind in TaskKind else None


# Completeness check of work done elsewhere: the task contains its history, and nothing is executed.


async def completeness_check(spec: TaskSpec, run: Progress) -> Outcome:
    """Return SUCCEEDED once the check is made, regardless of its result; UNVERIFIED if it failed."""
    settings = spec.completeness or CompletenessSettings()
    found = await check_completeness(spec, run, history=spec.history, settings=settings, base="history")
    return Outcome.UNVERIFIED if found.state is CheckState.UNCHECKED else Outcome.SUCCEEDED


# Diagnosis of a failed call that an external agent reported: no tool is called and no attempt is made.

PLACE = "reported"


async def tool_diagnosis(spec: TaskSpec, run: Progress) -> Outcome:
    """Return SUCCEEDED with a diagnosis, or UNVERIFIED if no cause was found.

    Raise EffectFailed if the task contains no failed call.
    """
    if spec.failed_call is None:
        raise EffectFailed("There is no failed call to diagnose.")
    diagnosis = await diagnose(run, spec.failed_call, place=PLACE)
    return Outcome.UNVERIFIED if diagnosis.source is Source.NONE else Outcome.SUCCEEDED


# Classification by a model, for tasks submitted without a kind

TEMPERATURE = 0.0
# The beginning of a task shows its kind; long tasks are long because of attached material.
LONGEST_SHOWN = 6_000


def _kind(value: Any) -> TaskKind:
    """Return the task kind for `value`, in any spelling. Unknown kinds become OTHER."""
    name = "_".join(str(value).lower().replace("-", " ").replace("_", " ").split())
    return TaskKind(name) if name in TaskKind else TaskKind.OTHER


class Classification(Lenient):
    task_kind: Annotated[TaskKind, BeforeValidator(_kind)]
    confidence: Share | None = None
    why: Clipped = ""


ANSWER_SCHEMA = closed_object(task_kind=one_of(TaskKind), confidence=SHARE, why=TEXT)


async def classify(spec: TaskSpec, run: Progress) -> Classification:
    """Return the task's classification, or `other` without a usable answer. A task never fails for this reason."""
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
    """Return the classifier's messages. The task cannot close its frame."""
    shown = cut_with(objective, LONGEST_SHOWN, note="[The rest is not shown.]")
    return (user(prompt("classify", objective=shown, frame=frame_of(objective))),)


# Adaptive loop: choose a loop for the task and continue with it in the same journal

Loop = Callable[[TaskSpec, Progress], Awaitable[Outcome]]


async def adaptive(spec: TaskSpec, run: Progress, *, loops: Mapping[Mode, Loop]) -> Outcome:
    """Run the loop that suits the task and return its outcome. Call a classifier only if needed."""
    route = route_by_facts(spec, built=loops)
    if route is None:
        found = await classify(spec, run)
        route = route_by_kind(spec, found.task_kind, why=found.why)
    chosen = await run.perform(ChooseLoop(key="route", route=route))
    changed = {"mode": chosen.mode, "kind": spec.kind or chosen.task_kind}
    return await loops[chosen.mode](spec.model_copy(update=changed), run)


# External loop: a real signal decides; no model evaluates the result.
#
# The task's data selects the signal: tests before a schema, a schema before tools. For code without tests, a model
# writes tests.


async def external_loop(spec: TaskSpec, run: Progress) -> Outcome:
    """Run the loop for the signal that can check this task, and return its outcome."""
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

# Raise a version by hand when a loop performs other effects, or in another order. A run suspended under another version
# cannot be replayed.
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
# Modes that check, diagnose or reflect make no attempt that could be sent back.
WITHOUT_ATTEMPTS = OF_THE_DESK | {Mode.COMPLETENESS_CHECK, Mode.INLINE_REFLECTION, Mode.TOOL_DIAGNOSIS}


def version_of(mode: Mode) -> int:
    """Return the version of a loop. An adaptive run may enter any other loop, so its version is their sum."""
    if mode is not Mode.ADAPTIVE:
        return VERSIONS[mode]
    return sum(version for one, version in VERSIONS.items() if one not in OF_THE_DESK)


def mode_for(spec: TaskSpec) -> Mode:
    """Return the task's first loop. If the mode was left open, the task's data decides."""
    route = route_by_facts(spec, built=LOOPS) if spec.mode is Mode.ADAPTIVE else None
    return route.mode if route else spec.mode


async def run_loop(spec: TaskSpec) -> Ended:
    """Run the loop of `spec` to its end, including a required review."""
    run = Progress(spec.limits)
    run.gate = spec.gate()
    return await reviewed_end(spec, run, await _run_to_end(spec, run))


async def _run_to_end(spec: TaskSpec, run: Progress) -> Ended:
    """Run the loop. An effect that failed for good ends the run as failed, with the error.

    For a failed model call, a rewind ticket and a report are stored. If only the judge failed, there is no verdict, and
    the run ends as unverified with the attempt retained.
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
