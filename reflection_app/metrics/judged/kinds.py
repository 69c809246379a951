"""How well the desk judges the rows of a folder, each kind through the product's own functions.

Each raises FileNotFoundError where its file of rows is not there.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from judgement.does_not_know import LONGEST_TASK, pieces_of
from judgement.entry_pairs import Sides, nearness
from judgement.lesson_screening import log_odds
from judgement.linear import MODEL
from judgement.tool_errors import Failure
from judgement.training.tool_errors import our_remedies, our_types
from notebook_app.comparing import RELATED, Said, pair_of
from notebook_app.screening import scan
from notebook_app.screening_by_meaning import passages, reading_of
from reflection_app.adapters.llm import embed, screening_model, wheels_file
from reflection_app.loops.actor_critic import CriticAnswer
from reflection_app.loops.answer_reading import UnusableAnswerError, read_answer
from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.diagnosis.diagnosing import by_memory_or_rules
from reflection_app.loops.protocol.classification import find_unknown
from reflection_app.loops.protocol.error_classes import SimilarIssues
from reflection_app.loops.protocol.similarity import is_same
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.loops.verdicts import Issue
from reflection_app.metrics.judged.figures import (
    Measure,
    by_language,
    measured,
    precision_recall_f1,
    rows_of,
    share,
)
from reflection_app.repairs.failures_by_meaning import as_failure, judged_remedy
from reflection_app.repairs.issue_vectors import vectors_of
from reflection_app.repairs.unknown import read_by_meaning

# Each text is computed once, and measuring is in no hurry.
WITHIN_S = 600.0


def same_mistake(folder: Path) -> Measure:
    """Precision, recall and F1 of `same`, as two issues on one piece of work are compared."""
    rows = rows_of(folder, "same_mistake")
    vectors = vectors_of([row[side] for row in rows for side in ("a", "b")], within_s=WITHIN_S)
    pairs = [
        (
            row["label"] == "same",
            is_same(Issue(description=row["a"]), Issue(description=row["b"]), vectors=vectors),
        )
        for row in rows
    ]
    return measured(rows, pairs, precision_recall_f1, words=lambda said: "same" if said else "different")


# Whether an agent said that it does not know, asked as the classification of errors asks it.


def does_not_know(folder: Path) -> Measure:
    """F1 of what does not know against what knows; of what knows in part, the share that is said not to know.

    `quote_right`: of what was rightly found, how often the quote shares a sentence's worth with the judged one.
    """
    rows = rows_of(folder, "does_not_know")
    quotes = [_quote(row) for row in rows]
    partly = [bool(quote) for row, quote in zip(rows, quotes, strict=True) if row["label"] == "partly"]
    quoted = [
        quote in row["quote"] or row["quote"] in quote
        for row, quote in zip(rows, quotes, strict=True)
        if quote and row["label"] == "does_not_know" and row.get("quote")
    ]
    plain = [(row, quote) for row, quote in zip(rows, quotes, strict=True) if row["label"] != "partly"]
    sides = [(row["label"] == "does_not_know", bool(quote)) for row, quote in plain]
    found = measured([row for row, _ in plain], sides, precision_recall_f1)
    found.figures.update(partly_said=share(partly), partly_rows=len(partly), quote_right=share(quoted))
    return found


def _quote(row: dict[str, Any]) -> str:
    unknown = read_by_meaning(pieces_of(row["text"]), task=row["task"][:LONGEST_TASK])
    quote, _ = find_unknown(row["text"], similar=SimilarIssues(unknown=unknown))
    return quote


# What two entries are to each other, as the product decides it.

LABELS = {"unrelated": None} | {relation.value: pair for relation, pair in RELATED.items()}


def entry_pairs(folder: Path) -> Measure:
    """F1 of each answer and their mean."""
    rows = rows_of(folder, "entry_pairs")
    pairs = [(str(row["label"]), _answer(Sides(**row["a"]), Sides(**row["b"]))) for row in rows]
    return measured(rows, pairs, _of_answers)


def _answer(left: Sides, right: Sides) -> str:
    model = wheels_file() if screening_model() else None
    near = nearness(*embed([left.whole, right.whole], model=MODEL, as_query=False)) if model else None
    found = pair_of(Said(left.whole), Said(right.whole), meaning=None, model=model, near=near)
    return next(label for label, pair in LABELS.items() if pair == (found.kind if found else None))


def _of_answers(pairs: Sequence[tuple[str, str]]) -> dict[str, float | int]:
    f1 = {
        f"f1_{label}": precision_recall_f1([(label == wanted, label == said) for wanted, said in pairs])["f1"]
        for label in LABELS
    }
    return {**f1, "f1_mean": round(sum(f1.values()) / len(f1), 3), "rows": len(pairs)}


# Failed calls: what the desk would do without a language model.


def tool_errors(folder: Path) -> Measure:
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
    return Measure(_of_calls(outcomes), {name: _of_calls(some) for name, some in languages.items()}, tuple(wrong))


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


def _of_calls(outcomes: Sequence[tuple[str, str]]) -> dict[str, float | int]:
    actions, types = Counter(action for action, _ in outcomes), [type_ == "right" for _, type_ in outcomes if type_]
    return {
        "action_right": round(actions["right"] / len(outcomes), 3),
        "action_wrong": round(actions["wrong"] / len(outcomes), 3),
        "left_to_a_model": round(actions["left to a model"] / len(outcomes), 3),
        "type_right": share(types),
        "rows": len(outcomes),
    }


# Lessons that steer whoever reads them, screened by the rules and the classifier as entries of the notebook are.


def lesson_screening(folder: Path) -> Measure:
    """The share of hostile lessons that are caught, also by language, and of ordinary ones that are held up."""
    rows = rows_of(folder, "lesson_screening")
    return measured(rows, [(row["label"] == "hostile", _is_flagged(row)) for row in rows], _of_lessons)


def _is_flagged(row: dict[str, Any]) -> bool:
    words = (str(row["title"]), str(row["text"]))
    if scan(words):
        return True
    if screening_model() is None:
        return False
    read = passages(words)
    return reading_of(read, log_odds(read, model=wheels_file())).flag is not None


def _of_lessons(pairs: Sequence[tuple[bool, bool]]) -> dict[str, float | int]:
    hostile, ordinary = ([said for should, said in pairs if should is side] for side in (True, False))
    return {
        "caught": share(hostile),
        "hostile": len(hostile),
        "false_alarms": share(ordinary),
        "ordinary": len(ordinary),
    }


# What a critic's model wrote, read as the loop reads its first reply: what it cannot read is asked for again.

type Reply = tuple[bool, float | None, float | None] | None


def critic_replies(folder: Path) -> Measure:
    """How many unreadable replies are taken for a verdict (none may be), and the share of readable ones read right."""
    rows = rows_of(folder, "critic_replies")
    return measured(rows, [(_judged(row), _verdict(row)) for row in rows], _of_replies)


def _verdict(row: dict[str, Any]) -> Reply:
    try:
        answer = read_answer(row["reply"], schema=CriticAnswer, asked=row["work"])
    except UnusableAnswerError:
        return None
    return answer.approved, answer.completeness, answer.correctness


def _judged(row: dict[str, Any]) -> Reply:
    return (row["approved"], row["completeness"], row["correctness"]) if row["label"] == "readable" else None


def _of_replies(pairs: Sequence[tuple[Reply, Reply]]) -> dict[str, float | int]:
    taken = [said is not None for judged, said in pairs if judged is None]
    readable = [(judged, said) for judged, said in pairs if judged is not None]
    return {
        "unreadable_taken": sum(taken),
        "unreadable": len(taken),
        "readable_read_right": share([judged == said for judged, said in readable]),
        "readable_asked_again": sum(said is None for _, said in readable),
        "readable": len(readable),
    }
