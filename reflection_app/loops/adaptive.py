"""The adaptive loop: what the task is about decides which loop it goes on with, in the same journal."""

from collections.abc import Awaitable, Callable, Mapping

from reflection_app.loops.classifier import classify
from reflection_app.loops.ends import Outcome
from reflection_app.loops.plan_effects import ChooseLoop
from reflection_app.loops.progress import Progress
from reflection_app.loops.routing import route_by_facts, route_by_kind
from reflection_app.loops.task_spec import Mode, TaskSpec

Loop = Callable[[TaskSpec, Progress], Awaitable[Outcome]]


async def adaptive(spec: TaskSpec, run: Progress, *, loops: Mapping[Mode, Loop]) -> Outcome:
    """The end of the loop that suits the task. A classifier is asked only where the task does not say it itself."""
    route = route_by_facts(spec, built=loops)
    if route is None:
        found = await classify(spec, run)
        route = route_by_kind(spec, found.task_kind, why=found.why)
    chosen = await run.perform(ChooseLoop(key="route", route=route))
    told = {"mode": chosen.mode, "kind": spec.kind or chosen.task_kind}
    return await loops[chosen.mode](spec.model_copy(update=told), run)
