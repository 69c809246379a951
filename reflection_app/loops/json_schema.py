"""JSON Schema, drafts 04 to 2020-12: check that a schema is usable, and find every place where a value violates it.

`$schema` names the draft; without it, a schema is read as draft 2020-12.

Nothing is fetched. Patterns are matched in linear time, so look-around and back-references are not supported. `format`
is validated, not treated as an annotation only.
"""

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

from reflection_app.loops.storable import storable
from reflection_app.loops.texts import cut, word_list, word_set
from reflection_app.loops.values import Value

# Cost limit for checking a value against a JSON Schema.
#
# The validator tries every path through a schema and copies the value into every error. Recursive alternatives make
# that exponential in the depth of the value. A list of thousands of conditions on a long answer takes gigabytes. The
# cost is therefore estimated first, once per pair of subschema and value, which is fast for any schema.

# In characters that errors may have to copy. The validator uses about twelve times that in bytes, and per error about
# as much as for copying a value of the smallest size.
MOST_COPIED = 20_000_000
SMALLEST_COPY = 256
MOST_PAIRS = 300_000
DEEPEST_VALUE = 100

ASSERTIONS = word_set(
    "type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format "
    "minItems maxItems uniqueItems contains minProperties maxProperties dependentRequired additionalProperties "
    "additionalItems dependencies "
    "unevaluatedItems unevaluatedProperties propertyNames allOf anyOf oneOf not"
)
# Errors of these keywords contain all allowed values.
COPIED = ("enum", "const", "pattern")
IN_PLACE = ("not", "if", "then", "else")
IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
OF_ALL_ITEMS = ("items", "contains", "unevaluatedItems", "additionalItems")
# Up to draft 07, `dependencies` holds lists of names as well as schemas.
DEPENDENT_SCHEMAS = ("dependentSchemas", "dependencies")
OF_ALL_PROPERTIES = ("additionalProperties", "unevaluatedProperties")
TOO_LARGE = "the value is too large, or too deeply nested, to be checked against this schema"


class TooCostly(ValueError):
    """Checking this value against this schema would take too much time or memory."""


class CostOfChecking:
    """Estimates the cost of checking a value against the schema `document` or parts of it."""

    def __init__(self, document: Any, *, anchors: dict[str, list[Any]]) -> None:
        self._document = document
        self._anchors = anchors
        self._complaints: dict[int, tuple[int, int]] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._under_way: set[tuple[int, int]] = set()
        self._sizes: dict[int, int] = {}

    def check(self, value: Any, *, part: Any = None) -> None:
        """Raise TooCostly if checking the value against the document, or `part`, is too expensive.

        Costs are cached by object identity, so use one instance per value.
        """
        try:
            self._measure(value, depth=0)
            cost = self._cost(self._document if part is None else part, value)
        except RecursionError:
            raise TooCostly("the schema or the value is nested too deeply to be checked") from None
        if cost > MOST_COPIED:
            raise TooCostly(TOO_LARGE)

    def _measure(self, value: Any, *, depth: int) -> int:
        """Return the approximate length of the value as JSON; store it for each container in it."""
        if depth > DEEPEST_VALUE:
            raise TooCostly(f"the value is nested more than {DEEPEST_VALUE} levels deep")
        if isinstance(value, dict):
            size = 2 + sum(len(key) + 4 + self._measure(item, depth=depth + 1) for key, item in value.items())
        elif isinstance(value, list):
            size = 2 + sum(2 + self._measure(item, depth=depth + 1) for item in value)
        else:
            return len(value) + 2 if isinstance(value, str) else 8
        self._sizes[id(value)] = size
        return size

    def _size(self, value: Any) -> int:
        if isinstance(value, dict | list):
            return self._sizes[id(value)]
        return len(value) + 2 if isinstance(value, str) else 8

    def _cost(self, schema: Any, value: Any) -> int:
        if not isinstance(schema, dict):
            return max(self._size(value), SMALLEST_COPY)
        pair = (id(schema), id(value))
        if pair in self._known:
            return self._known[pair]
        if pair in self._under_way:  # a reference back to itself at the same value; the validator stops there too
            return 0
        if len(self._known) > MOST_PAIRS:
            raise TooCostly("the schema has too many parts for a value of this size")
        self._under_way.add(pair)
        # Errors of the schema's own assertions.
        if id(schema) not in self._complaints:
            self._complaints[id(schema)] = _complaints(schema)
        count, copied = self._complaints[id(schema)]
        cost = count * max(self._size(value), SMALLEST_COPY) + copied
        in_place = ((inner, value) for inner in self._in_place(schema))
        for inner, item in chain(in_place, _below(schema, value)):
            cost += self._cost(inner, item)
            if cost > MOST_COPIED:  # Estimating the rest could take as long as the check.
                raise TooCostly(TOO_LARGE)
        self._under_way.discard(pair)
        self._known[pair] = cost
        return cost

    def _in_place(self, schema: dict[str, Any]) -> Iterator[Any]:
        """Yield the subschemas that apply to the same value."""
        for keyword in REFERENCES:
            if isinstance(schema.get(keyword), str):
                yield from targets(schema[keyword], root=self._document, anchors=self._anchors)
        yield from (schema[keyword] for keyword in IN_PLACE if keyword in schema)
        for keyword in IN_PLACE_LISTS:
            if isinstance(schema.get(keyword), list):
                yield from schema[keyword]
        for keyword in DEPENDENT_SCHEMAS:
            if isinstance(schema.get(keyword), dict):
                yield from (inner for inner in schema[keyword].values() if not isinstance(inner, list))


def _complaints(schema: dict[str, Any]) -> tuple[int, int]:
    """Return the maximum number of errors for one value, and the size of what they copy from the schema."""
    names = [schema.get("required")]
    for keyword in ("dependentRequired", "dependencies"):
        dependent = schema.get(keyword)
        names += dependent.values() if isinstance(dependent, dict) else ()
    count = len(schema.keys() & ASSERTIONS) + sum(len(one) for one in names if isinstance(one, list))
    return max(1, count), sum(len(json.dumps(schema[keyword])) for keyword in COPIED if keyword in schema)


def _below(schema: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (subschema, inner value) pairs for everything inside of the value; may yield too many, never too few."""
    if isinstance(value, list):
        # Drafts up to 2019-09 use a list in `items` instead of `prefixItems`.
        for prefix in (schema.get("prefixItems"), schema.get("items")):
            yield from zip(prefix if isinstance(prefix, list) else (), value, strict=False)
        for keyword in OF_ALL_ITEMS:
            if keyword in schema and not isinstance(schema[keyword], list):
                yield from ((schema[keyword], item) for item in value)
    elif isinstance(value, dict):
        named = schema.get("properties")
        patterns = schema.get("patternProperties")
        every = [schema[keyword] for keyword in OF_ALL_PROPERTIES if keyword in schema]
        every += patterns.values() if isinstance(patterns, dict) else []
        for name, item in value.items():
            if isinstance(named, dict) and name in named:
                yield named[name], item
            if "propertyNames" in schema:
                yield schema["propertyNames"], name
            yield from ((inner, item) for inner in every)


def targets(reference: str, *, root: Any, anchors: dict[str, list[Any]]) -> list[Any]:
    """Return the subschemas that a reference starting with # may mean, or [] if it leads nowhere."""
    fragment = reference.removeprefix("#")
    if fragment and not fragment.startswith("/"):
        return anchors.get(fragment, [])
    found = root
    for part in [unquote(part).replace("~1", "/").replace("~0", "~") for part in fragment.split("/")[1:]]:
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isascii() and part.isdecimal() and int(part[:9]) < len(found):
            found = found[int(part[:9])]
        else:
            return []
    return [found]


type Validator = (
    jsonschema_rs.Draft4Validator
    | jsonschema_rs.Draft6Validator
    | jsonschema_rs.Draft7Validator
    | jsonschema_rs.Draft201909Validator
    | jsonschema_rs.Draft202012Validator
)
# Keys: the value of `$schema` without "http(s)://" and the trailing "#".
DRAFTS: dict[str, type[Validator]] = {
    "json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
    "json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
}
DRAFT = "https://json-schema.org/draft/2020-12/schema"
LONGEST_MESSAGE = 400
LONGEST_PATH = 300
LONGEST_SHOWN = 80
MOST_SUBSCHEMAS = 5_000
# The messages are shown with the value's path, so the value itself is masked.
THE_VALUE = "the value"
# A short pattern with large repeats takes megabytes once compiled, and each is compiled separately.
MOST_PATTERNS = 200
LARGEST_PATTERN_BYTES = 1_000_000
NO_PATTERN = (
    "is no pattern that can be matched in linear time and little memory; look-around, back-references and large "
    "repeats cannot"
)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_HOLD_SCHEMAS = ("$defs", "definitions", "properties", "patternProperties", *DEPENDENT_SCHEMAS)
_HOLD_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_HOLD_ONE = word_list(
    "not if then else items contains additionalProperties additionalItems propertyNames unevaluatedItems "
    "unevaluatedProperties contentSchema"
)
# Converted to text only when reported: a long key above a long list would otherwise take gigabytes.
type Place = tuple[str | int, ...]


class SchemaRefused(ValueError):
    """The schema cannot be used; the message says why, and where in it."""


class Violation(Value):
    """A place where a value violates its schema."""

    path: str
    message: str


def check_schema(schema: dict[str, Any]) -> None:
    """Raise SchemaRefused unless values can be checked against `schema`."""
    draft = draft_of(schema)
    if draft is None:
        raise SchemaRefused("$schema names an unknown draft; known are 04, 06, 07, 2019-09 and 2020-12")
    anchors = _anchors_of(schema)
    patterns = 0
    for _, inner in _subschemas(schema):
        held = inner.get("patternProperties")
        patterns += ("pattern" in inner) + (len(held) if isinstance(held, dict) else 0)
    if patterns > MOST_PATTERNS:
        raise SchemaRefused(f"it has more than {MOST_PATTERNS} patterns")
    for at, inner in _subschemas(schema):
        place = json_path(list(at))
        name = "id" if draft is jsonschema_rs.Draft4Validator else "$id"
        if isinstance(inner.get(name), str) and inner is not schema:
            raise SchemaRefused(f"{place}: an {name} inside of a schema is not supported; refer by #/… instead")
        for reference in (inner.get(keyword) for keyword in REFERENCES):
            if not isinstance(reference, str):
                continue
            shown = cut(storable(reference), LONGEST_PATH)
            if not reference.startswith("#"):
                raise SchemaRefused(f"{place}: refers outside of itself, to {shown!r}; nothing is fetched")
            if not targets(reference, root=schema, anchors=anchors):
                raise SchemaRefused(f"{place}: refers to {shown!r}, which is not there")
    _validator(schema)
    # A schema too costly for the smallest value is too costly for any. One cost object covers all parts, so what they
    # share is counted once.
    cost = CostOfChecking(schema, anchors=anchors)
    try:
        for _, inner in _subschemas(schema):
            cost.check(None, part=inner)
    except TooCostly:
        raise SchemaRefused("it is too entangled to be checked: its parts refer to each other too often") from None


def draft_of(schema: dict[str, Any]) -> type[Validator] | None:
    """Return the validator for the draft in `$schema` (default 2020-12), or None for an unknown draft."""
    named = schema.get("$schema", DRAFT)
    if not isinstance(named, str):
        return None
    return DRAFTS.get(named.removesuffix("#").removeprefix("https://").removeprefix("http://"))


def violations(schema: dict[str, Any], value: Any) -> tuple[Violation, ...]:
    """Return every place where `value` violates `schema`, in the order found.

    A value too costly to check yields one violation at the root. Raise SchemaRefused for an unusable schema.
    """
    try:
        CostOfChecking(schema, anchors=_anchors_of(schema)).check(value)
    except TooCostly as error:
        return (Violation(path="$", message=str(error)),)
    try:
        found = [
            one for error in _validator(schema, mask=THE_VALUE).iter_errors(value) for one in _violations_of(error)
        ]
    except ValueError as error:  # a number too large for the validator, or a lone surrogate
        return (Violation(path="$", message=f"it cannot be checked: {cut(str(error), LONGEST_MESSAGE)}"),)
    return tuple(dict.fromkeys(found))


def json_path(parts: list[str | int]) -> str:
    """Return the path as text: `$.items[2].id`, with quotes for keys that are not plain identifiers."""
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN_KEY.match(part):
            path += f".{part}"
        else:
            quoted = part.replace("\\", "\\\\").replace("'", "\\'")
            path += f"['{quoted}']"
    return cut(storable(path), LONGEST_PATH)


def _violations_of(error: jsonschema_rs.ValidationError) -> list[Violation]:
    """Return the violation, or those of the only alternative with the value's type."""
    if error.kind.name in {"anyOf", "oneOf"}:
        alternatives: list[list[jsonschema_rs.ValidationError]] = getattr(error.kind, "context", [])
        of_its_type = [
            inner
            for inner in alternatives
            if not any(one.instance_path == error.instance_path and one.kind.name == "type" for one in inner)
        ]
        if len(of_its_type) == 1 and of_its_type[0]:
            return [one for inner in of_its_type[0] for one in _violations_of(inner)]
    message = error.message
    if error.kind.name not in {"required", "additionalProperties", "unevaluatedProperties"}:
        value = error.instance
        if value is not None and not isinstance(value, dict | list):
            message += f" (found {cut(json.dumps(value, ensure_ascii=False), LONGEST_SHOWN)})"
    return [Violation(path=json_path(error.instance_path), message=cut(storable(message), LONGEST_MESSAGE))]


def _validator(schema: dict[str, Any], *, mask: str | None = None) -> Validator:
    """Return the validator. Raise SchemaRefused. `mask` hides values in errors about values only."""
    validator = draft_of(schema) or jsonschema_rs.Draft202012Validator
    try:
        return validator(
            schema,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=LARGEST_PATTERN_BYTES),
            validate_formats=True,
            offline=True,
            mask=mask,
        )
    except jsonschema_rs.ValidationError as error:
        where = json_path(error.instance_path)
        why = NO_PATTERN if where.endswith(".pattern") else error.message
        raise SchemaRefused(f"{where}: {cut(storable(why), LONGEST_MESSAGE)}") from None
    except (ValueError, RecursionError) as error:
        raise SchemaRefused(cut(str(error), LONGEST_MESSAGE)) from None


def _subschemas(schema: Any) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield all subschemas with their paths, the schema itself first. Raise SchemaRefused for too many."""
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


def _anchors_of(schema: Any) -> dict[str, list[Any]]:
    anchors: dict[str, list[Any]] = {}
    for _, inner in _subschemas(schema):
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(inner.get(keyword), str):
                anchors.setdefault(inner[keyword], []).append(inner)
    return anchors
