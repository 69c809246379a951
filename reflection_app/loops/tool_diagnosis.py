"""The diagnosis of a failed call that an outside agent reported: nothing is called, and no attempt is made."""

from reflection_app.loops.diagnosis.diagnoses import Source
from reflection_app.loops.diagnosis.diagnosing import diagnose
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.ends import Outcome
from reflection_app.loops.progress import Progress
from reflection_app.loops.task_spec import TaskSpec

PLACE = "reported"


async def tool_diagnosis(spec: TaskSpec, run: Progress) -> Outcome:
    """Succeeds with a diagnosis; unverified where nobody could tell what was wrong."""
    if spec.failed_call is None:
        raise EffectFailed("There is no failed call to diagnose.")
    diagnosis = await diagnose(run, spec.failed_call, place=PLACE)
    return Outcome.UNVERIFIED if diagnosis.source is Source.NONE else Outcome.SUCCEEDED
