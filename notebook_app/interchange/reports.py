"""Error trace reports of the fourth design seed, `reflection_<id>.json`: their anti-pattern and what was learned."""

import hashlib
from typing import Any

from notebook_app.interchange.items import ImportItem, Unreadable, first_sentence
from notebook_app.kinds import EntryKind


def is_report(value: Any) -> bool:
    """Whether this looks like such a report."""
    return isinstance(value, dict) and "reflection_id" in value and "error_analysis" in value


def read_report(value: dict[str, Any], *, file: str) -> list[ImportItem]:
    """The entries that the report gives rise to. Raises Unreadable, or pydantic's ValidationError."""
    name = value.get("reflection_id")
    if not isinstance(name, str) or not name:
        raise Unreadable("reflection_id is missing")
    agent = value.get("agent") if isinstance(value.get("agent"), str) else ""
    found = [_anti_pattern(value, file=file, agent=str(agent)), _lesson(value, file=file, agent=str(agent), name=name)]
    items = [item for item in found if item is not None]
    if not items:
        raise Unreadable("the report has neither an anti-pattern nor learning notes")
    return items


def _anti_pattern(value: dict[str, Any], *, file: str, agent: str) -> ImportItem | None:
    pattern = value.get("anti_pattern")
    if not isinstance(pattern, dict) or not str(pattern.get("pattern_name") or "").strip():
        return None
    symptoms = pattern.get("symptoms")
    return ImportItem(
        file=file,
        key=f"report:{_name_of(value)}:anti-pattern",
        kind=EntryKind.ANTI_PATTERN,
        name=str(pattern["pattern_name"]).strip(),
        description=_surface(value),
        details={
            "symptoms": [str(one) for one in symptoms] if isinstance(symptoms, list) else [],
            "prevention": str(pattern.get("prevention") or ""),
        },
        agent=agent,
        category=_class(value),
    )


def _lesson(value: dict[str, Any], *, file: str, agent: str, name: str) -> ImportItem | None:
    notes = value.get("learning_notes")
    if not isinstance(notes, str) or not notes.strip():
        return None
    return ImportItem(
        file=file,
        key=f"report:{_name_of(value)}:lesson",
        kind=EntryKind.LESSON,
        name=first_sentence(notes),
        description=_surface(value),
        content=notes,
        agent=agent,
        category=_class(value),
    )


def _surface(value: dict[str, Any]) -> str:
    analysis = value.get("error_analysis")
    return str(analysis.get("surface_issue") or "") if isinstance(analysis, dict) else ""


def _class(value: dict[str, Any]) -> str:
    classed = value.get("error_classification")
    return str(classed.get("type") or "")[:120] if isinstance(classed, dict) else ""


def _name_of(value: dict[str, Any]) -> str:
    """What tells the report from others: pipelines number theirs anew, so that its id alone does not."""
    told = "\0".join(str(value.get(name) or "") for name in ("reflection_id", "timestamp", "agent", "rewind_ticket_id"))
    return f"{value['reflection_id'][:100]}:{hashlib.sha256(told.encode(errors='surrogatepass')).hexdigest()[:16]}"
