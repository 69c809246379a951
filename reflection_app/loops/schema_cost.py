"""Whether checking a value against a JSON Schema stays affordable.

The validator tries every way through a schema and copies the value into every complaint. Alternatives that lead back to
themselves make that exponential in the depth of the value, and a list of thousands of conditions on a long answer takes
gigabytes. So the work is added up first, each pair of subschema and value once, which is quick for any of them.
"""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any
from urllib.parse import unquote

# In characters of the values that complaints may have to copy; the validator takes about twelve times that in bytes,
# and about as much for a complaint itself as for copying a value of the smallest size.
MOST_COPIED = 20_000_000
SMALLEST_COPY = 256
MOST_PAIRS = 300_000
DEEPEST_VALUE = 100

ASSERTIONS = frozenset(
    "type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format "  # noqa: SIM905
    "minItems maxItems uniqueItems contains minProperties maxProperties dependentRequired additionalProperties "
    "unevaluatedItems unevaluatedProperties propertyNames allOf anyOf oneOf not".split()
)
# A complaint of one of these carries all that would have been allowed.
COPIED = ("enum", "const", "pattern")
IN_PLACE = ("not", "if", "then", "else")
IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
REFERENCES = ("$ref", "$dynamicRef")
OF_ALL_ITEMS = ("items", "contains", "unevaluatedItems")
OF_ALL_PROPERTIES = ("additionalProperties", "unevaluatedProperties")
TOO_LARGE = "the value is too large, or too deeply nested, to be checked against this schema"


class TooCostly(ValueError):
    """Checking this value against this schema would take too much time or memory."""


class CostOfChecking:
    """Adds up the work of checking a value against the schema `document` or parts of it."""

    def __init__(self, document: Any, *, anchors: dict[str, list[Any]]) -> None:
        self._document = document
        self._anchors = anchors
        self._complaints: dict[int, tuple[int, int]] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._under_way: set[tuple[int, int]] = set()
        self._sizes: dict[int, int] = {}

    def check(self, value: Any, *, part: Any = None) -> None:
        """Raises TooCostly where the value had better not be checked against the document, or the `part` of it.

        What was added up is kept by identity: one instance is for one value.
        """
        try:
            self._measure(value, depth=0)
            cost = self._cost(self._document if part is None else part, value)
        except RecursionError:
            raise TooCostly("the schema or the value is nested too deeply to be checked") from None
        if cost > MOST_COPIED:
            raise TooCostly(TOO_LARGE)

    def _measure(self, value: Any, *, depth: int) -> int:
        """About the length of the value as JSON; kept for every container inside of it."""
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
        if pair in self._under_way:  # a reference that leads back to itself at the same value; the validator stops, too
            return 0
        if len(self._known) > MOST_PAIRS:
            raise TooCostly("the schema has too many parts for a value of this size")
        self._under_way.add(pair)
        cost = self._own_cost(schema, value)
        in_place = ((inner, value) for inner in self._in_place(schema))
        for inner, item in chain(in_place, _below(schema, value)):
            cost += self._cost(inner, item)
            if cost > MOST_COPIED:  # adding up the rest could take as long as the checking
                raise TooCostly(TOO_LARGE)
        self._under_way.discard(pair)
        self._known[pair] = cost
        return cost

    def _own_cost(self, schema: dict[str, Any], value: Any) -> int:
        """What the assertions of `schema` may complain of at `value`, subschemas aside."""
        if id(schema) not in self._complaints:
            self._complaints[id(schema)] = _complaints(schema)
        count, copied = self._complaints[id(schema)]
        return count * max(self._size(value), SMALLEST_COPY) + copied

    def _in_place(self, schema: dict[str, Any]) -> Iterator[Any]:
        """The subschemas that see the same value."""
        for keyword in REFERENCES:
            if isinstance(schema.get(keyword), str):
                yield from targets(schema[keyword], root=self._document, anchors=self._anchors)
        yield from (schema[keyword] for keyword in IN_PLACE if keyword in schema)
        for keyword in IN_PLACE_LISTS:
            if isinstance(schema.get(keyword), list):
                yield from schema[keyword]
        if isinstance(schema.get("dependentSchemas"), dict):
            yield from schema["dependentSchemas"].values()


def _complaints(schema: dict[str, Any]) -> tuple[int, int]:
    """How many complaints one value may get, and the size of what they copy of the schema itself."""
    dependent = schema.get("dependentRequired")
    names = [schema.get("required"), *(dependent.values() if isinstance(dependent, dict) else ())]
    count = len(schema.keys() & ASSERTIONS) + sum(len(one) for one in names if isinstance(one, list))
    return max(1, count), sum(len(json.dumps(schema[keyword])) for keyword in COPIED if keyword in schema)


def _below(schema: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """The subschemas that see something inside of the value, each with that; rather one too many than one too few."""
    if isinstance(value, list):
        prefix = schema.get("prefixItems")
        yield from zip(prefix if isinstance(prefix, list) else (), value, strict=False)
        for keyword in OF_ALL_ITEMS:
            if keyword in schema:
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
    """The subschemas that a reference beginning with # may mean; none where it leads nowhere."""
    fragment = reference.removeprefix("#")
    if fragment and not fragment.startswith("/"):
        return anchors.get(fragment, [])
    found = root
    for part in _pointer(fragment):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isascii() and part.isdecimal() and int(part[:9]) < len(found):
            found = found[int(part[:9])]
        else:
            return []
    return [found]


def _pointer(fragment: str) -> list[str]:
    return [unquote(part).replace("~1", "/").replace("~0", "~") for part in fragment.split("/")[1:]]
