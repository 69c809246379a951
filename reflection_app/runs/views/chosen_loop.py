"""Which loop an adaptive task got, and why, as the head of its run's page tells it."""

from reflection_app.loops.catalogue import LOOPS
from reflection_app.loops.effects import ChooseLoop, Route
from reflection_app.loops.routing import route_by_facts
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.runs.models.run import Run, Step


def chosen_loop(run: Run, spec: TaskSpec) -> Route | None:
    """The loop that the task's kind, or what came with it, decided on; None where it was asked for or is not known."""
    if run.task.mode != Mode.ADAPTIVE:
        return None
    if spec.mode is not Mode.ADAPTIVE:
        return route_by_facts(spec, built=LOOPS)
    step = Step.objects.filter(run=run, kind=ChooseLoop.kind).values_list("result", flat=True).first()
    return Route.model_validate(step) if step else None
