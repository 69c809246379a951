"""What a scripted critic says in tests."""

import json
from typing import Any


def critique(score: float, *, approved: bool = False, confidence: float | None = 0.9, **more: Any) -> str:
    """A critic's answer with both parts at `score`."""
    return json.dumps(
        {"completeness": score, "correctness": score, "approved": approved, "confidence": confidence, **more}
    )
