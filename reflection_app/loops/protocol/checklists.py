"""Quality checklists of the third design seed, computed for reports and for revised outputs.

The checklist of a failed tool call is in diagnosis/diagnoses.py.
"""

from collections.abc import Sequence
from typing import Any

from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.similarity import Vectors, is_same
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement

# A shorter text describes nothing.
SHORTEST_DESCRIPTION = 4
CODES = frozenset(code.value for code in ErrorClass)


class CheckItem(Value):
    """One checklist item. `ok` is None if it is not yet known or does not apply."""

    name: str
    ok: bool | None
    why: Text = ""
    is_optional: bool = False


def report_checklist(document: dict[str, Any], *, is_fallback: bool = False) -> tuple[CheckItem, ...]:
    """Return the seed's "Reflection Report Quality" for a document in its form (reports.document_of)."""
    analysis, classed = document["error_analysis"], document["error_classification"]
    notes_say_something = len(document["learning_notes"].strip()) >= SHORTEST_DESCRIPTION
    missing = [
        label
        for label, there in (
            ("the surface issue", len(analysis["surface_issue"].strip()) >= SHORTEST_DESCRIPTION),
            ("what happened", any(step.strip() for step in analysis["occurrence_process"])),
            ("the root cause", len(analysis["root_cause"].strip()) >= SHORTEST_DESCRIPTION),
        )
        if not there
    ]
    gap = f"{', '.join(missing)} missing" if missing else ""
    if is_fallback:
        gap = "written by code, since the model gave no usable answer"
    actions = [action["action"] for action in document["repair_actions"]]
    empty = sum(len(action.strip()) < SHORTEST_DESCRIPTION for action in actions)
    are_concrete: bool | None = bool(actions) and not empty
    if not actions and classed["type"] == ErrorClass.NORMAL_ITERATION.value:
        are_concrete, why_concrete = None, "a normal iteration needs no repair"
    elif are_concrete:
        why_concrete = f"{len(actions)} step{'' if len(actions) == 1 else 's'}"
    else:
        why_concrete = f"{empty} say nothing" if empty else "there are none"
    return (
        _filled_in("Has a reflection_id", document["reflection_id"]),
        _filled_in("Has a timestamp", document["timestamp"]),
        _filled_in("Names the agent", document["agent"], missing="the task names no agent"),
        _filled_in("Names the trigger", document["trigger"]),
        _filled_in("Names the rewind ticket", document["rewind_ticket_id"]),
        CheckItem(name="The error analysis is concrete", ok=not gap, why=gap),
        CheckItem(
            name="The classification has a valid code",
            ok=classed["type"] in CODES and bool(classed["description"].strip()),
            why=f"{classed['type']}, decided by the tree over recorded facts, or by a person",
        ),
        CheckItem(name="The repair actions are concrete steps", ok=are_concrete, why=why_concrete),
        CheckItem(
            name="The learning notes can be used again",
            ok=notes_say_something,
            why="" if notes_say_something else "it says nothing",
        ),
        CheckItem(
            name="Has an anti-pattern",
            ok="anti_pattern" in document,
            why="" if "anti_pattern" in document else "none was named",
            is_optional=True,
        ),
    )


def _filled_in(name: str, value: str, *, missing: str = "it is empty") -> CheckItem:
    return CheckItem(name=name, ok=bool(value.strip()), why=value if value.strip() else missing)


def revised_output_checklist(
    *,
    issues: Sequence[Issue],
    attempt: int,
    revised_attempt: int | None,
    requirements: RequirementsReport | None,
    judgement: Judgement | None,
    vectors: Vectors | None = None,
) -> tuple[CheckItem, ...]:
    """Return the seed's "Revised Output Quality".

    `issues` are the ticket's; `judgement` is on the revised attempt. With `vectors`, repeated issues are detected by
    meaning, else by words.
    """
    if revised_attempt is None:
        return (CheckItem(name="There is a revised output", ok=None, why="none was submitted yet"),)
    if requirements is None or not requirements.results:
        all_met, why = None, "the task has none"
    else:
        unmet = ", ".join(result.name for result in requirements.unmet)
        met = "all of them, against a lowered expectation" if requirements.is_lowered else "all of them, by code"
        all_met, why = requirements.all_met, f"not met: {unmet}" if unmet else met
    of_judged = judgement.issues if judgement else ()
    wrong = [issue.description for issue in of_judged if issue.category is IssueCategory.FORMAT]
    checked = "its requirements and its judge" if requirements and requirements.results else "its judge"
    if judgement is None:
        form = CheckItem(name="The format is right", ok=None, why="it was not judged yet")
    elif wrong:
        form = CheckItem(name="The format is right", ok=False, why="; ".join(wrong))
    else:
        form = CheckItem(name="The format is right", ok=True, why=f"{checked} found nothing wrong with it")
    return (
        CheckItem(name="Meets the minimum requirements", ok=all_met, why=why),
        _issues_item(issues, judgement, vectors),
        form,
        CheckItem(
            name="Named as a new version",
            ok=revised_attempt > attempt,
            why=f"attempt {revised_attempt}, after attempt {attempt}, which is kept",
        ),
    )


def _issues_item(issues: Sequence[Issue], judgement: Judgement | None, vectors: Vectors | None) -> CheckItem:
    name = "Fixes every issue of the ticket"
    if judgement is None:
        return CheckItem(name=name, ok=None, why="it was not judged yet")
    if not issues:
        return CheckItem(name=name, ok=judgement.passed, why="the ticket named none; the verdict decides")
    named, many = judgement.issues, len(judgement.issues)
    left = [issue for issue in issues if any(is_same(issue, one, vectors=vectors, among=many) for one in named)]
    by_meaning = vectors and {issue.description for issue in (*issues, *named)} <= vectors.keys()
    way = "compared by meaning" if by_meaning else "compared by words"
    if left:
        still = "; ".join(issue.description for issue in left)
        return CheckItem(name=name, ok=False, why=f"still there ({way}): {still}")
    if judgement.passed:
        why = f"none of {len(issues)} is named again ({way}), and the verdict is PASS"
    else:
        why = f"none of {len(issues)} is named again ({way}); the verdict has others"
    return CheckItem(name=name, ok=True, why=why)
