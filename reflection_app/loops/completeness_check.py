"""A completeness check of work that was done elsewhere: its history comes with the task, and nothing is carried out."""

from reflection_app.loops.completeness.asking import check_completeness
from reflection_app.loops.completeness.checks import CheckState, CompletenessSettings
from reflection_app.loops.ends import Outcome
from reflection_app.loops.progress import Progress
from reflection_app.loops.task_spec import TaskSpec


async def completeness_check(spec: TaskSpec, run: Progress) -> Outcome:
    """Succeeded once the check was made, whatever it found; unverified where it failed."""
    settings = spec.completeness or CompletenessSettings()
    found = await check_completeness(spec, run, history=spec.history, settings=settings, base="history")
    return Outcome.UNVERIFIED if found.state is CheckState.UNCHECKED else Outcome.SUCCEEDED
