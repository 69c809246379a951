"""Error trace reports as documents: the JSON form of the third design seed, in its order, and the same as Markdown."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from reflection_app.loops.protocol.classification import NAMES
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.markdown import line, paragraph
from reflection_app.loops.protocol.reports import Report

# Agents number what they list themselves.
OWN_NUMBER = re.compile(r"^\s*\d{1,3}[.)、．]\s*")
NOTHING = "Nothing was recorded."


def corrected(report: Report, *, to: ErrorClass, reason: str) -> Report:
    """The report with the class that a person gave it, and why."""
    return report.model_copy(update={"type": to, "description": f"{NAMES[to]}: {reason.strip()}"})


def document_of(report: Report, *, timestamp: datetime) -> dict[str, Any]:
    """The report in just the seed's form. `anti_pattern` is optional there, and left out where there is none."""
    document: dict[str, Any] = {
        "reflection_id": report.reflection_id,
        "timestamp": timestamp.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "agent": report.agent,
        "trigger": report.trigger.value,
        "rewind_ticket_id": report.ticket_id,
        "error_analysis": {
            "surface_issue": report.surface_issue,
            "occurrence_process": list(report.occurrence_process),
            "root_cause": report.root_cause,
        },
        "error_classification": {
            "type": report.type.value,
            "description": report.description,
            "remediation": report.remediation,
        },
        "repair_actions": [
            {"action": action.action, "status": action.status.value, "expected_outcome": action.expected_outcome}
            for action in report.repair_actions
        ],
        "learning_notes": report.learning_notes,
    }
    if report.anti_pattern is not None:
        document["anti_pattern"] = {
            "pattern_name": report.anti_pattern.pattern_name,
            "symptoms": list(report.anti_pattern.symptoms),
            "prevention": report.anti_pattern.prevention,
        }
    return document


def markdown_of(document: dict[str, Any]) -> str:
    """A document of `document_of` as Markdown whose structure nothing in it can change."""
    analysis, classed = document["error_analysis"], document["error_classification"]
    name = NAMES[ErrorClass(classed["type"])]
    parts = [
        f"# {line(analysis['surface_issue']) or 'Reflection report'}",
        _facts(
            ("Report", document["reflection_id"]),
            ("Time", document["timestamp"]),
            ("Agent", document["agent"]),
            ("Trigger", document["trigger"]),
            ("Rewind ticket", document["rewind_ticket_id"]),
            ("Error type", f"{classed['type']} {name}"),
        ),
        f"## What happened\n\n{_numbered(analysis['occurrence_process'])}",
        f"## Root cause\n\n{paragraph(analysis['root_cause']) or NOTHING}",
        f"## Classification\n\n{paragraph(classed['description']) or NOTHING}",
        f"## Remediation\n\n{paragraph(classed['remediation']) or NOTHING}",
        f"## Repair actions\n\n{_actions(document['repair_actions'])}",
        f"## What was learned\n\n{paragraph(document['learning_notes']) or NOTHING}",
    ]
    if pattern := document.get("anti_pattern"):
        parts.append(
            f"## Anti-pattern: {line(pattern['pattern_name'])}\n\n{_listed(pattern['symptoms'])}\n\n"
            f"Prevention: {paragraph(pattern['prevention']) or NOTHING}"
        )
    return "\n\n".join(parts) + "\n"


def without_number(text: str) -> str:
    """A step without the number that its author gave it, for lists that number their items themselves."""
    return OWN_NUMBER.sub("", text, count=1)


def _facts(*pairs: tuple[str, str]) -> str:
    return "\n".join(f"- {name}: {line(value)}" for name, value in pairs if value)


def _numbered(steps: Iterable[str]) -> str:
    told = [line(without_number(step)) for step in steps]
    return "\n".join(f"{number}. {step}" for number, step in enumerate(filter(None, told), start=1)) or NOTHING


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {line(item)}" for item in items if item.strip()) or NOTHING


def _actions(actions: Iterable[dict[str, str]]) -> str:
    return _listed(
        f"{action['status']}: {action['action']}"
        + (f" (expected: {action['expected_outcome']})" if action["expected_outcome"].strip() else "")
        for action in actions
    )
