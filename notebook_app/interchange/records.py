"""The two records that the fourth design seed keeps by themselves: an anti-pattern, and a fix that worked."""

from typing import Any

from notebook_app.interchange.anti_patterns import key_of
from notebook_app.interchange.items import ImportItem, Unreadable
from notebook_app.kinds import EntryKind

LONGEST_NAME = 200


def is_record(value: Any) -> bool:
    """Whether this looks like one of the two."""
    return isinstance(value, dict) and "kind" not in value and bool({"pattern_name", "successful_fix"} & value.keys())


def read_record(value: dict[str, Any], *, file: str) -> ImportItem:
    """The entry that it is. Raises Unreadable, or pydantic's ValidationError."""
    return _fix_pair(value, file=file) if "successful_fix" in value else _anti_pattern(value, file=file)


def _anti_pattern(value: dict[str, Any], *, file: str) -> ImportItem:
    name = _text(value, "pattern_name")
    return ImportItem(
        file=file,
        key=key_of(name),
        kind=EntryKind.ANTI_PATTERN,
        name=name[:LONGEST_NAME],
        details={"symptoms": _list(value, "symptoms"), "prevention": _text(value, "prevention", needed=False)},
        category=_text(value, "error_type", needed=False)[:120],
    )


def _fix_pair(value: dict[str, Any], *, file: str) -> ImportItem:
    tool, fix = _text(value, "tool"), _text(value, "successful_fix")
    error_type = _text(value, "error_type", needed=False)
    pattern = _text(value, "pattern_id", needed=False)
    return ImportItem(
        file=file,
        key=f"fix:{pattern}"[:LONGEST_NAME] if pattern else "",
        kind=EntryKind.FIX_PAIR,
        name=f"{tool}: {' '.join(fix.split())}"[:LONGEST_NAME],
        description="\n".join(_list(value, "symptoms")),
        details={
            "tool": tool,
            "error_type": error_type,
            "symptoms": "\n".join(_list(value, "symptoms")),
            "fix": fix,
        },
        category=error_type[:120],
    )


def _text(value: dict[str, Any], name: str, *, needed: bool = True) -> str:
    found = value.get(name) or ""
    if not isinstance(found, str):
        raise Unreadable(f"{name} is not a text")
    if needed and not found.strip():
        raise Unreadable(f"{name} is missing")
    return found.strip()


def _list(value: dict[str, Any], name: str) -> list[str]:
    found = value.get(name) or []
    if not isinstance(found, list):
        raise Unreadable(f"{name} is not a list")
    return [str(one) for one in found]
