"""What repair steps came to, as models and agents are shown it: as data, in frames that nothing can close."""

from collections.abc import Sequence

from reflection_app.loops.protocol.listed import one_line
from reflection_app.loops.protocol.stages import Executed, Planned, RepairStatus
from reflection_app.loops.tool_frames import framed

LONGEST_OUTPUT = 6_000
LONGEST_OUTPUTS = 24_000
LONGEST_ERROR = 1_000


def told_outputs(done: Sequence[Executed]) -> str:
    """The output of each step that was done, and why the others were not; all of them bounded together."""
    most = min(LONGEST_OUTPUT, LONGEST_OUTPUTS // max(1, len(done)))
    return "\n\n".join(_told(one, most=most) for one in done) or "(none)"


def _told(one: Executed, *, most: int) -> str:
    said = f"{one.number}. {one_line(one.repair.action)} – {one.status.value}"
    if one.status is RepairStatus.COMPLETED:
        said += f"\n{framed(one.output, name='output', most=most)}"
    elif one.error:
        said += f"\n{framed(one.error, name='failure', most=LONGEST_ERROR)}"
    if one.requirements is not None and not one.requirements.all_met:
        unmet = "; ".join(result.name for result in one.requirements.unmet)
        said += f"\nChecked after this step, these minimum requirements do not hold yet: {unmet}"
    return said


def told_plan(planned: Planned, done: Sequence[Executed]) -> str:
    """The repair plan, numbered, with what is done of it already."""
    ended = {one.number: one for one in done}
    lines = [
        f"{number}. {one_line(step.action)}"
        + (f" (expected: {one_line(step.expected_outcome)})" if step.expected_outcome else "")
        + (f" – {ended[number].status.value} already" if number in ended else "")
        for number, step in enumerate(planned.repair_steps, start=1)
    ]
    return "\n".join(lines) or "Nothing has to be repaired first: do it better, by the ticket."
