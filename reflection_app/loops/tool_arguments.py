"""Arguments of a tool against its JSON Schema (draft 2020-12), checked by code before anything is called."""

from typing import Any

import jsonschema_rs

from reflection_app.loops.storable import storable
from reflection_app.loops.verdicts import Issue, IssueCategory, Severity

MOST_VIOLATIONS = 50
LONGEST_VIOLATION = 500
# The validator walks nested values on the stack of its thread; a few thousand levels would end the process.
DEEPEST = 64
BACKTRACK_LIMIT = 100_000


class SchemaUnusable(Exception):
    """The tool's own schema cannot be checked against; no arguments would help."""


def violations(arguments: dict[str, Any], *, schema: dict[str, Any]) -> tuple[Issue, ...]:
    """Every place where `arguments` do not fit `schema`, each with its path. Raises SchemaUnusable."""
    if is_too_deep(arguments):
        return (_issue(f"it is nested more than {DEEPEST} levels deep", path="$"),)
    try:
        validator = jsonschema_rs.Draft202012Validator(
            schema,
            retriever=_nothing_from_outside,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT),
        )
        found = [_issue(error.message, path=_path(error.instance_path)) for error in validator.iter_errors(arguments)]
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise SchemaUnusable(str(error).splitlines()[0][:LONGEST_VIOLATION]) from None
    return tuple(found[:MOST_VIOLATIONS])


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value is nested deeper than is bearable, told without recursion."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def _nothing_from_outside(uri: str) -> Any:
    raise ValueError(f"schemas are not fetched: {uri}")


def _issue(message: str, *, path: str) -> Issue:
    return Issue(
        category=IssueCategory.FORMAT,
        severity=Severity.HIGH,
        description=storable(message)[:LONGEST_VIOLATION] or "it does not fit",
        path=storable(path)[:LONGEST_VIOLATION],
    )


def _path(parts: list[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
