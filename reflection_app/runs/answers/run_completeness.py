"""What the last completeness check of a run found, and the run's statistics since, as REST tells them."""

from pydantic import Field

from reflection_app.api.answer import Answer
from reflection_app.loops.completeness.checks import CheckState, Completeness, SupplementsRun
from reflection_app.loops.effects import RecordCompleteness, RecordSupplements
from reflection_app.runs.models.run import Run, Step, StepState


class ExecAnswer(Answer):
    """The steps of all plans of the run, supplements included; `used` is whether a supplement was carried out."""

    used: bool
    attempted: int
    succeeded: int
    success_rate: float


class RunCompleteness(Answer):
    state: CheckState = Field(description="unchecked: the check itself failed, which says nothing of the work")
    analysis: str
    missing_aspects: list[str]
    supplements_count: int
    steps_ok: bool = Field(description="whether all steps worked, which is apart from nothing being missing")
    exec: ExecAnswer | None = Field(description="null where no supplements were carried out")


def completeness_of(run: Run) -> RunCompleteness | None:
    """By the run's recorded steps, which a fork has from its parent, too; None where nothing was checked."""
    kinds = (RecordCompleteness.kind, RecordSupplements.kind)
    steps = Step.objects.filter(run=run, kind__in=kinds, state=StepState.DONE).order_by("seq").values("kind", "result")
    newest = {step["kind"]: step["result"] for step in steps}
    if RecordCompleteness.kind not in newest:
        return None
    found = Completeness.model_validate(newest[RecordCompleteness.kind])
    done = newest.get(RecordSupplements.kind)
    return RunCompleteness(
        state=found.state,
        analysis=found.analysis,
        missing_aspects=list(found.missing_aspects),
        supplements_count=len(found.supplements),
        steps_ok=found.steps_ok,
        exec=_exec(SupplementsRun.model_validate(done)) if done else None,
    )


def _exec(done: SupplementsRun) -> ExecAnswer:
    return ExecAnswer(
        used=done.used, attempted=done.attempted, succeeded=done.succeeded, success_rate=round(done.success_rate, 4)
    )
