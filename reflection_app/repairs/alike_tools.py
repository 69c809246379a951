"""How alike tools are, by the vectors of what they say of themselves."""

import math
import time

from reflection_app.adapters.llm.embedding import screening_model
from reflection_app.adapters.llm.question_vectors import asked, computed, remembered, serving
from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.diagnosis.fallback_tools import described, stand_ins
from reflection_app.loops.texts import cut
from reflection_app.loops.tool_calls import ToolSpec

MOST_COMPARED = 20
LONGEST_DESCRIPTION = 600
WITHIN_S = 3.0


def likeness_of_tools(failed: FailedCall) -> dict[str, float]:
    """The cosine of each tool that could be called instead, by its name.

    Empty where there is none to choose from, where the wheel's model is not there, or gives no vectors in time: words
    alone decide then. What is alike was measured with that model; another one's vectors say something else.
    """
    model = screening_model()
    others = [one.tool for one in stand_ins(failed)][:MOST_COMPARED] if model else []
    if model is None or not others:
        return {}
    give = computed if serving.is_on else asked
    until = time.monotonic() + WITHIN_S
    own = next((tool for tool in failed.tools if tool.name == failed.tool), None) or ToolSpec(name=failed.tool[:64])
    vectors = []
    for text in (cut(described(tool), LONGEST_DESCRIPTION) for tool in (own, *others)):
        left_s = max(until - time.monotonic(), 0.001)
        vector = remembered(text, model=model) or give(text, model=model, timeout_s=left_s)
        if vector is None:
            return {}
        vectors.append(vector)
    mine, *theirs = vectors
    return {tool.name: _cosine(mine, vector) for tool, vector in zip(others, theirs, strict=True)}


def _cosine(one: list[float], other: list[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return math.sumprod(one, other) / length if length else 0.0
