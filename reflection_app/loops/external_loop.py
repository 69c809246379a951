"""The external loop: a real signal decides, and no model is asked whether it went well.

What the task brought decides which signal that is: tests come before a schema, a schema before tools. Code without
tests gets tests that a model writes.
"""

from reflection_app.loops.code_loop import code_loop
from reflection_app.loops.data_loop import data_loop
from reflection_app.loops.ends import Outcome
from reflection_app.loops.generated_tests import generated_tests_loop
from reflection_app.loops.progress import Progress
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_loop import tool_loop


async def external_loop(spec: TaskSpec, run: Progress) -> Outcome:
    """The end of the loop that goes with what can check this task."""
    if spec.tests is not None:
        return await code_loop(spec, run)
    if spec.output_schema is not None:
        return await data_loop(spec, run)
    if spec.tools:
        return await tool_loop(spec, run)
    return await generated_tests_loop(spec, run)
