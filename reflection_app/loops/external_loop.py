"""The external loop: a real signal decides, and no model is asked whether it went well.

What the task brought decides which signal that is.
"""

from reflection_app.loops.code_loop import code_loop
from reflection_app.loops.ends import Outcome
from reflection_app.loops.progress import Progress
from reflection_app.loops.task_spec import TaskSpec


async def external_loop(spec: TaskSpec, run: Progress) -> Outcome:
    """The end of the loop that goes with what can check this task."""
    return await code_loop(spec, run)
