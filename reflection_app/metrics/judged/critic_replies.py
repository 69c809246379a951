"""What a critic's model wrote, read as the loop reads its first reply: what it cannot read is asked for again."""

from pathlib import Path
from typing import Any

from reflection_app.loops.actor_critic import CriticAnswer
from reflection_app.loops.answer_reading import UnusableAnswerError, read_answer
from reflection_app.metrics.judged.figures import Measure, rows_of

KIND = "critic_replies"


def measure(folder: Path) -> Measure:
    """How many unreadable replies are taken for a verdict (none may be), and the share of readable ones read right."""
    rows = rows_of(folder, KIND)
    read = [_verdict(row) for row in rows]
    taken = [one is not None for row, one in zip(rows, read, strict=True) if row["label"] == "unreadable"]
    right = [one == _judged(row) for row, one in zip(rows, read, strict=True) if row["label"] == "readable"]
    asked_again = [one is None for row, one in zip(rows, read, strict=True) if row["label"] == "readable"]
    return Measure(
        figures={
            "unreadable_taken": sum(taken),
            "unreadable": len(taken),
            "readable_read_right": round(sum(right) / len(right), 3) if right else 0.0,
            "readable_asked_again": sum(asked_again),
            "readable": len(right),
        },
        wrong=tuple(
            row | {"said": one}
            for row, one in zip(rows, read, strict=True)
            if one != (_judged(row) if row["label"] == "readable" else None)
        ),
    )


def _verdict(row: dict[str, Any]) -> tuple[bool, float | None, float | None] | None:
    try:
        answer = read_answer(row["reply"], schema=CriticAnswer, asked=row["work"])
    except UnusableAnswerError:
        return None
    return answer.approved, answer.completeness, answer.correctness


def _judged(row: dict[str, Any]) -> tuple[bool, float | None, float | None]:
    return row["approved"], row["completeness"], row["correctness"]
