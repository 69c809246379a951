"""Keeping a step of the protocol: the loop goes on with what is recorded, which a person may have edited in a fork."""

from pydantic import JsonValue

from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol.rounds import SentBack
from reflection_app.loops.protocol.stages import Output, StageRecord
from reflection_app.loops.protocol_effects import RecordStage

LONGEST_INPUT = 1_000


async def keep_stage[O: Output](run: Progress, back: SentBack, *, key: str, output: O, **given: JsonValue) -> O:
    """`output` as the journal keeps it. `given` is what the step was told, in short.

    Raises EffectFailed where it was edited into another step.
    """
    record = StageRecord(attempt=back.number, ticket_id=back.ticket.ticket_id, input=_short(given), output=output)
    kept = (await run.perform(RecordStage(key=f"attempt-{back.number}/{key}", record=record))).output
    if not isinstance(kept, type(output)):
        raise EffectFailed(f"The step {key!r} of attempt {back.number} was edited into a step {kept.step!r}.")
    return kept


def _short(given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value[:LONGEST_INPUT] if isinstance(value, str) else value for name, value in given.items()}
