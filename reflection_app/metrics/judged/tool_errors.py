"""Failed calls: what the desk would do without a language model, and how often that is right."""

from collections import Counter
from pathlib import Path
from typing import Any

from judgement.tool_errors import Failure
from judgement.training.tool_errors import our_remedies, our_types
from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.diagnosis.diagnosing import by_memory_or_rules
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.metrics.judged.figures import Measure, by_language, rows_of
from reflection_app.repairs.failures_by_meaning import as_failure, judged_remedy


def measure(folder: Path) -> Measure:
    """Shares of all failures: action right, wrong and left to a model; type right is of those not left to a model."""
    rows = rows_of(folder, "tool_errors")
    outcomes, wrong = [], []
    for row in rows:
        failed = call_of(row)
        found = by_memory_or_rules(failed, None, judged_remedy(failed))
        if found is None:
            outcomes.append(("left to a model", ""))
            continue
        is_right = found.action.remedy.value in our_remedies(row)
        is_type_right = found.error_type.value in our_types(row)
        outcomes.append(("right" if is_right else "wrong", "right" if is_type_right else "wrong"))
        if not is_right:
            wrong.append(row | {"found": found.action.remedy.value, "source": found.source.value, "rule": found.rule})
    languages = by_language(rows, outcomes)
    return Measure(_figures(outcomes), {name: _figures(some) for name, some in languages.items()}, tuple(wrong))


def call_of(row: dict[str, Any]) -> FailedCall:
    """The row as the desk has it of a failed call. What stands for a status and is none of HTTP is left out."""
    status, params = row.get("status"), row.get("params")
    return FailedCall(
        tool=row["tool"],
        params=params if isinstance(params, dict) else {},
        error=row["error"],
        status=status if isinstance(status, int) and 100 <= status < 600 else None,
        tools=tuple(ToolSpec(name=tool["name"], description=tool.get("purpose", "")) for tool in row.get("tools", [])),
    )


def failure_of(row: dict[str, Any]) -> Failure:
    """The facts of the row that the classifier is learned from."""
    return as_failure(call_of(row))


def _figures(outcomes: list[tuple[str, str]]) -> dict[str, float | int]:
    actions, types = Counter(action for action, _ in outcomes), Counter(type_ for _, type_ in outcomes if type_)
    answered = sum(types.values())
    return {
        "action_right": round(actions["right"] / len(outcomes), 3),
        "action_wrong": round(actions["wrong"] / len(outcomes), 3),
        "left_to_a_model": round(actions["left to a model"] / len(outcomes), 3),
        "type_right": round(types["right"] / answered, 3) if answered else 0.0,
        "rows": len(outcomes),
    }
