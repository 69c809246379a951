"""Arguments of a tool against its JSON Schema, checked by code before anything is called."""

from typing import Any

from reflection_app.loops import json_schema
from reflection_app.loops.verdicts import Issue, IssueCategory, Severity

MOST_VIOLATIONS = 50
# Deeper values are walked on the stack by those who check, keep and show them, and mean nothing to any tool.
DEEPEST = 64


class SchemaUnusable(Exception):
    """The tool's own schema cannot be checked against; no arguments would help."""


def violations(arguments: dict[str, Any], *, schema: dict[str, Any]) -> tuple[Issue, ...]:
    """Every place where `arguments` do not fit `schema`, each with its path. Raises SchemaUnusable."""
    if is_too_deep(arguments):
        return (_issue(f"it is nested more than {DEEPEST} levels deep", path="$"),)
    # Servers describe their tools by whatever draft they know; what they use of it means the same in all of them.
    schema = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
    try:
        json_schema.check_schema(schema)
        found = json_schema.violations(schema, arguments)
    except json_schema.SchemaRefused as error:
        raise SchemaUnusable(str(error)) from None
    return tuple(_issue(one.message, path=one.path) for one in found[:MOST_VIOLATIONS])


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value is nested deeper than is bearable, told without recursion."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _issue(message: str, *, path: str) -> Issue:
    return Issue(
        category=IssueCategory.FORMAT,
        severity=Severity.HIGH,
        description=message or "it does not fit",
        path=path,
    )
