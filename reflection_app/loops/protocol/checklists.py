"""The quality checklists of the third design seed, computed: of reports and of revised outputs.

That of a failed tool call is in diagnosis/diagnoses.py.
"""

from collections.abc import Sequence
from typing import Any

from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.similarity import SIMILAR_FROM, similarity
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement

# Shorter than this, a text describes nothing.
SHORTEST_DESCRIPTION = 4
CODES = frozenset(code.value for code in ErrorClass)


class CheckItem(Value):
    """One line of a checklist. `ok` is None where nothing can tell yet, or it does not apply."""

    name: str
    ok: bool | None
    why: Text = ""
    is_optional: bool = False


def report_checklist(document: dict[str, Any], *, is_fallback: bool = False) -> tuple[CheckItem, ...]:
    """The seed's "Reflection Report Quality", of a document in the seed's form (report_documents.document_of)."""
    analysis, classed = document["error_analysis"], document["error_classification"]
    actions = [action["action"] for action in document["repair_actions"]]
    return (
        _said("Has a reflection_id", document["reflection_id"]),
        _said("Has a timestamp", document["timestamp"]),
        _said("Names the agent", document["agent"], missing="the task names no agent"),
        _said("Names the trigger", document["trigger"]),
        _said("Names the rewind ticket", document["rewind_ticket_id"]),
        _analysis_item(analysis, is_fallback=is_fallback),
        CheckItem(
            name="The classification has a valid code",
            ok=classed["type"] in CODES and bool(classed["description"].strip()),
            why=f"{classed['type']}, decided by the tree over recorded facts, or by a person",
        ),
        _actions_item(actions, classed["type"]),
        _told("The learning notes can be used again", document["learning_notes"]),
        CheckItem(
            name="Has an anti-pattern",
            ok="anti_pattern" in document,
            why="" if "anti_pattern" in document else "none was named",
            is_optional=True,
        ),
    )


def _said(name: str, value: str, *, missing: str = "it is empty") -> CheckItem:
    said = bool(value.strip())
    return CheckItem(name=name, ok=said, why=value if said else missing)


def _told(name: str, value: str) -> CheckItem:
    told = len(value.strip()) >= SHORTEST_DESCRIPTION
    return CheckItem(name=name, ok=told, why="" if told else "it says nothing")


def _analysis_item(analysis: dict[str, Any], *, is_fallback: bool) -> CheckItem:
    name = "The error analysis is concrete"
    if is_fallback:
        return CheckItem(name=name, ok=False, why="written by code, since the model gave no usable answer")
    missing = [
        label
        for label, there in (
            ("the surface issue", len(analysis["surface_issue"].strip()) >= SHORTEST_DESCRIPTION),
            ("what happened", any(step.strip() for step in analysis["occurrence_process"])),
            ("the root cause", len(analysis["root_cause"].strip()) >= SHORTEST_DESCRIPTION),
        )
        if not there
    ]
    return CheckItem(name=name, ok=not missing, why=f"{', '.join(missing)} missing" if missing else "")


def _actions_item(actions: Sequence[str], type_: str) -> CheckItem:
    name = "The repair actions are concrete steps"
    if not actions and type_ == ErrorClass.NORMAL_ITERATION.value:
        return CheckItem(name=name, ok=None, why="a normal iteration needs no repair")
    empty = sum(len(action.strip()) < SHORTEST_DESCRIPTION for action in actions)
    if not actions or empty:
        return CheckItem(name=name, ok=False, why=f"{empty} say nothing" if empty else "there are none")
    return CheckItem(name=name, ok=True, why=f"{len(actions)} step{'' if len(actions) == 1 else 's'}")


def revised_output_checklist(
    *,
    issues: Sequence[Issue],
    attempt: int,
    revised_attempt: int | None,
    requirements: RequirementsReport | None,
    judgement: Judgement | None,
) -> tuple[CheckItem, ...]:
    """The seed's "Revised Output Quality". `issues` are the ticket's; `judgement` is on the revised attempt."""
    if revised_attempt is None:
        return (CheckItem(name="There is a revised output", ok=None, why="none was submitted yet"),)
    return (
        _requirements_item(requirements),
        _issues_item(issues, judgement),
        _format_item(requirements, judgement),
        CheckItem(
            name="Named as a new version",
            ok=revised_attempt > attempt,
            why=f"attempt {revised_attempt}, after attempt {attempt}, which is kept",
        ),
    )


def _requirements_item(requirements: RequirementsReport | None) -> CheckItem:
    name = "Meets the minimum requirements"
    if requirements is None or not requirements.results:
        return CheckItem(name=name, ok=None, why="the task has none")
    unmet = ", ".join(result.name for result in requirements.unmet)
    return CheckItem(name=name, ok=requirements.all_met, why=f"not met: {unmet}" if unmet else "all of them, by code")


def _issues_item(issues: Sequence[Issue], judgement: Judgement | None) -> CheckItem:
    name = "Fixes every issue of the ticket"
    if judgement is None:
        return CheckItem(name=name, ok=None, why="it was not judged yet")
    if not issues:
        return CheckItem(name=name, ok=judgement.passed, why="the ticket named none; the verdict decides")
    left = [issue for issue in issues if any(_is_still(issue, other) for other in judgement.issues)]
    if left:
        return CheckItem(name=name, ok=False, why=f"still there: {'; '.join(issue.description for issue in left)}")
    if judgement.passed:
        return CheckItem(name=name, ok=True, why=f"none of {len(issues)} is named again, and the verdict is PASS")
    return CheckItem(name=name, ok=True, why=f"none of {len(issues)} is named again; the verdict has others")


def _is_still(issue: Issue, other: Issue) -> bool:
    return issue.category is other.category and similarity(issue.description, other.description) >= SIMILAR_FROM


def _format_item(requirements: RequirementsReport | None, judgement: Judgement | None) -> CheckItem:
    name = "The format is right"
    if judgement is None:
        return CheckItem(name=name, ok=None, why="it was not judged yet")
    wrong = [issue.description for issue in judgement.issues if issue.category is IssueCategory.FORMAT]
    if wrong:
        return CheckItem(name=name, ok=False, why="; ".join(wrong))
    checked = "its requirements and its judge" if requirements and requirements.results else "its judge"
    return CheckItem(name=name, ok=True, why=f"{checked} found nothing wrong with it")
