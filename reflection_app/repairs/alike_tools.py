"""How alike tools are, by the vectors of what they say of themselves."""

import math
import time

from reflection_app.adapters.llm.question_vectors import query_vector
from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.diagnosis.fallback_tools import described, stand_ins
from reflection_app.loops.tool_calls import ToolSpec

MOST_COMPARED = 20
WITHIN_S = 4.0


def likeness_of_tools(failed: FailedCall) -> dict[str, float]:
    """The cosine of each tool that could be called instead, by its name.

    Empty where there is none to choose from, where no model gives vectors, or not in time: words alone decide then.
    """
    others = [one.tool for one in stand_ins(failed)][:MOST_COMPARED]
    if not others:
        return {}
    until = time.monotonic() + WITHIN_S
    own = next((tool for tool in failed.tools if tool.name == failed.tool), None) or ToolSpec(name=failed.tool[:64])
    vectors = []
    for tool in (own, *others):
        left_s = until - time.monotonic()
        vector = query_vector(described(tool), timeout_s=left_s) if left_s > 0 else None
        if vector is None:
            return {}
        vectors.append(vector)
    mine, *theirs = vectors
    return {tool.name: _cosine(mine, vector) for tool, vector in zip(others, theirs, strict=True)}


def _cosine(one: list[float], other: list[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return math.sumprod(one, other) / length if length else 0.0
