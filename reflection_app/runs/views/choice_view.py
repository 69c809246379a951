"""How steps that choose show in a timeline: which attempt stands, which loop a task gets, and what led there."""

from reflection_app.loops.effects import ChooseLoop, Pick, RecordPick
from reflection_app.runs.models.run import Run, Step, StepState

CHOICES = {RecordPick.kind: "pick", ChooseLoop.kind: "route"}
CHOOSING_ROLES = {"tester": "write_tests", "classifier": "classify"}


def pick_of(run: Run) -> Pick | None:
    """The newest pick of a run whose code only tests by a model could check."""
    picks = Step.objects.filter(run=run, kind=RecordPick.kind, state=StepState.DONE).order_by("-seq")
    result = picks.values_list("result", flat=True).first()
    return Pick.model_validate(result) if result else None
