"""Where a run comes from: its parent, its forks, and the versions of loop and prompts that it began with."""

from dataclasses import dataclass

from reflection_app.loops.catalogue import VERSIONS, version_of
from reflection_app.loops.ends import Outcome
from reflection_app.loops.prompt_changes import changed_since
from reflection_app.loops.prompts import versions
from reflection_app.loops.task_spec import Mode
from reflection_app.runs.models.run import Run, Step, StepState

MOST_FORKS = 50
# A run that ended so may be wanted to go on.
UNFINISHED = frozenset({Outcome.FAILED, Outcome.OVER_BUDGET, Outcome.TIMED_OUT, Outcome.EXHAUSTED, Outcome.CANCELLED})


@dataclass(frozen=True)
class PromptVersion:
    name: str
    recorded: str
    today: str

    @property
    def is_changed(self) -> bool:
        return self.recorded != self.today


@dataclass(frozen=True)
class Lineage:
    run: Run
    forks: tuple[Run, ...]
    loop_today: int | None
    prompts: tuple[PromptVersion, ...]

    @property
    def loop_changed(self) -> bool:
        return self.loop_today != self.run.loop_version

    @property
    def changed(self) -> list[str]:
        return changed_since(self.run.prompt_versions)


def lineage_of(run: Run) -> Lineage:
    """The run's forks, oldest first, and its versions, what was changed since first."""
    today, mode = versions(), Mode(run.spec["mode"])
    prompts = [PromptVersion(name, recorded, today.get(name, "")) for name, recorded in run.prompt_versions.items()]
    return Lineage(
        run=run,
        forks=tuple(Run.objects.filter(parent=run).defer("spec").order_by("created_at", "id")[:MOST_FORKS]),
        loop_today=version_of(mode) if mode in VERSIONS else None,
        prompts=tuple(sorted(prompts, key=lambda prompt: (not prompt.is_changed, prompt.name))),
    )


def go_on_from(run: Run) -> int | None:
    """The step from which a fork goes on where an unfinished `run` stopped; None where it did not stop short."""
    if run.outcome not in UNFINISHED or run.mode == Mode.INLINE_REFLECTION:
        return None
    last = Step.objects.filter(run=run).only("seq", "state").last()
    if last is None:
        return 1
    return last.seq + 1 if last.state == StepState.DONE else last.seq
