"""Why a person looks at the next judgement where a mistake came again."""

from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.rounds import Analysis

MOST_NAMED = 3


def checkpoint_for(analysis: Analysis) -> tuple[str, ...]:
    """What that person is told: the repeated mistake and the lowered expectation. Empty where none was repeated."""
    if analysis.classified.type is not ErrorClass.MODEL_CAPABILITY:
        return ()
    found = analysis.classified.facts.similar.found[:MOST_NAMED]
    named = tuple(
        f"The same mistake came again: “{similar.now[:300]}”, like “{similar.description[:300]}”"
        + (f" in {similar.reflection_id}." if similar.reflection_id else ".")
        for similar in found
    )
    named = named or (f"The same mistake came again: {analysis.reflected.surface_issue[:300]}",)
    expected = analysis.planned.expected_score
    lowered = (f"The expectation was lowered to a score of {expected:g}.",) if expected is not None else ()
    return (*named, *lowered)
