"""JSON Schema, draft 2020-12: whether a schema can be used here, and every place where a value breaks it.

Nothing is fetched. Patterns are matched in linear time, so they know no look-around and no back-references. `format`
is checked, not only noted.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from reflection_app.loops.schema_cost import CostOfChecking, TooCostly, targets
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value

DRAFT = "https://json-schema.org/draft/2020-12/schema"
LONGEST_MESSAGE = 400
LONGEST_PATH = 300
LONGEST_SHOWN = 80
MOST_SUBSCHEMAS = 5_000
# Whoever reads the messages knows the value's path, not where in a sentence its text would begin and end.
THE_VALUE = "the value"
# Compiled, a short pattern with large repeats takes megabytes, and each is compiled for itself.
MOST_PATTERNS = 200
LARGEST_PATTERN_BYTES = 1_000_000
NO_PATTERN = (
    "is no pattern that can be matched in linear time and little memory; look-around, back-references and large "
    "repeats cannot"
)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_HOLD_SCHEMAS = ("$defs", "definitions", "properties", "patternProperties", "dependentSchemas")
_HOLD_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_HOLD_ONE = (
    "not",
    "if",
    "then",
    "else",
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
)
# Written out only where it is told: as text for each part, a long key above a long list would take gigabytes.
type Place = tuple[str | int, ...]


class SchemaRefused(ValueError):
    """The schema cannot be used; the message says why, and where in it."""


class Violation(Value):
    """One place where a value breaks its schema."""

    path: str
    message: str


def check_schema(schema: dict[str, Any]) -> None:
    """Raises SchemaRefused unless values can be checked against `schema`."""
    draft = schema.get("$schema", DRAFT)
    if not isinstance(draft, str) or draft.rstrip("#") != DRAFT:
        raise SchemaRefused(f"$schema names another draft; schemas are read as {DRAFT}")
    anchors = _anchors_of(schema)
    if sum(_patterns_in(inner) for _, inner in _subschemas(schema)) > MOST_PATTERNS:
        raise SchemaRefused(f"it has more than {MOST_PATTERNS} patterns")
    for place, inner in _subschemas(schema):
        _check_references(place, inner, root=schema, anchors=anchors)
    _validator(schema)
    # What is too much even for the smallest value is too much for every answer. One cost for all parts: what they
    # refer to in common is added up once.
    cost = CostOfChecking(schema, anchors=anchors)
    try:
        for _, inner in _subschemas(schema):
            cost.check(None, part=inner)
    except TooCostly:
        raise SchemaRefused("it is too entangled to be checked: its parts refer to each other too often") from None


def violations(schema: dict[str, Any], value: Any) -> tuple[Violation, ...]:
    """Every place where `value` breaks `schema`, in the order in which they are found.

    A value that would be too costly to check is told as one violation of the whole. Raises SchemaRefused.
    """
    try:
        CostOfChecking(schema, anchors=_anchors_of(schema)).check(value)
    except TooCostly as error:
        return (Violation(path="$", message=str(error)),)
    try:
        found = [one for error in _validator(schema, mask=THE_VALUE).iter_errors(value) for one in _told(error)]
    except ValueError as error:  # a number that no JSON reader of the validator's kind can hold, or half a character
        return (Violation(path="$", message=f"it cannot be checked: {_shortened(str(error), LONGEST_MESSAGE)}"),)
    return tuple(dict.fromkeys(found))


def json_path(parts: list[str | int]) -> str:
    """The path as people write it: `$.items[2].id`, with quotes where a key is no plain word."""
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN_KEY.match(part):
            path += f".{part}"
        else:
            quoted = part.replace("\\", "\\\\").replace("'", "\\'")
            path += f"['{quoted}']"
    return _shortened(storable(path), LONGEST_PATH)


def _told(error: jsonschema_rs.ValidationError) -> list[Violation]:
    """The violation, or those of the one alternative that the value comes near to."""
    near = _nearest(error) if error.kind.name in {"anyOf", "oneOf"} else []
    if near:
        return [one for inner in near for one in _told(inner)]
    message = error.message
    if error.kind.name not in {"required", "additionalProperties", "unevaluatedProperties"}:
        message += _found(error.instance)
    return [Violation(path=json_path(error.instance_path), message=_shortened(storable(message), LONGEST_MESSAGE))]


def _nearest(error: jsonschema_rs.ValidationError) -> list[jsonschema_rs.ValidationError]:
    """The complaints of the only alternative that is of the value's type; none where several or none are."""
    alternatives: list[list[jsonschema_rs.ValidationError]] = getattr(error.kind, "context", [])
    fitting = [
        complaints
        for complaints in alternatives
        if not any(one.instance_path == error.instance_path and one.kind.name == "type" for one in complaints)
    ]
    return fitting[0] if len(fitting) == 1 else []


def _found(value: Any) -> str:
    if isinstance(value, dict | list) or value is None:
        return ""
    return f" (found {_shortened(json.dumps(value, ensure_ascii=False), LONGEST_SHOWN)})"


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _validator(schema: dict[str, Any], *, mask: str | None = None) -> jsonschema_rs.Draft202012Validator:
    """The validator. Raises SchemaRefused; only complaints about values are masked, not those about the schema."""
    try:
        return jsonschema_rs.Draft202012Validator(
            schema,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=LARGEST_PATTERN_BYTES),
            validate_formats=True,
            offline=True,
            mask=mask,
        )
    except jsonschema_rs.ValidationError as error:
        where = json_path(error.instance_path)
        why = NO_PATTERN if where.endswith(".pattern") else error.message
        raise SchemaRefused(f"{where}: {_shortened(storable(why), LONGEST_MESSAGE)}") from None
    except (ValueError, RecursionError) as error:
        raise SchemaRefused(_shortened(str(error), LONGEST_MESSAGE)) from None


def _subschemas(schema: Any) -> Iterator[tuple[Place, dict[str, Any]]]:
    """All subschemas with their paths, the schema itself first. Raises SchemaRefused where they are too many."""
    waiting: list[tuple[Place, Any]] = [((), schema)]
    count = 0
    while waiting:
        place, one = waiting.pop()
        if not isinstance(one, dict):
            continue
        count += 1
        if count > MOST_SUBSCHEMAS:
            raise SchemaRefused(f"it has more than {MOST_SUBSCHEMAS:,} parts")
        yield place, one
        for keyword in _HOLD_SCHEMAS:
            held = one.get(keyword)
            waiting += [((*place, keyword, key), held[key]) for key in held] if isinstance(held, dict) else []
        for keyword in _HOLD_LISTS:
            held = one.get(keyword)
            listed = enumerate(held) if isinstance(held, list) else ()
            waiting += [((*place, keyword, index), inner) for index, inner in listed]
        waiting += [((*place, keyword), one[keyword]) for keyword in _HOLD_ONE if keyword in one]


def _patterns_in(schema: dict[str, Any]) -> int:
    held = schema.get("patternProperties")
    return ("pattern" in schema) + (len(held) if isinstance(held, dict) else 0)


def _check_references(at: Place, schema: dict[str, Any], *, root: Any, anchors: dict[str, list[Any]]) -> None:
    place = json_path(list(at))
    if "$id" in schema and schema is not root:
        raise SchemaRefused(f"{place}: an $id inside of a schema is not supported; refer by #/… instead")
    for keyword in ("$ref", "$dynamicRef"):
        reference = schema.get(keyword)
        if not isinstance(reference, str):
            continue
        shown = _shortened(storable(reference), LONGEST_PATH)
        if not reference.startswith("#"):
            raise SchemaRefused(f"{place}: refers outside of itself, to {shown!r}; nothing is fetched")
        if not targets(reference, root=root, anchors=anchors):
            raise SchemaRefused(f"{place}: refers to {shown!r}, which is not there")


def _anchors_of(schema: Any) -> dict[str, list[Any]]:
    anchors: dict[str, list[Any]] = {}
    for _, inner in _subschemas(schema):
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(inner.get(keyword), str):
                anchors.setdefault(inner[keyword], []).append(inner)
    return anchors
