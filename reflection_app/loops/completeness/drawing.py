"""Drawing whether a run is checked for completeness: once for the run, before its first check would be made."""

from reflection_app.loops.completeness.sampling import CheckArm, When
from reflection_app.loops.effects import DrawCheck
from reflection_app.loops.plan_steps import Work
from reflection_app.loops.progress import Progress
from reflection_app.loops.task_spec import TaskSpec

KEY = "completeness/draw"


async def is_to_be_checked(spec: TaskSpec, run: Progress, work: Work) -> bool:
    """Whether the run is checked. Where all runs are, nothing is drawn, and the journal is as it was without lots."""
    settings = spec.completeness
    if settings is None or not spec.tools or settings.when is When.OFF:
        return False
    if settings.when is When.ON:
        return True
    if work.check_arm is None:
        effect = DrawCheck(key=KEY, share=settings.share)
        work.check_arm = (await run.perform(effect)).arm
    return work.check_arm is CheckArm.CHECKED
