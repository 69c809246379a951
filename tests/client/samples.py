"""Values that a schema of docs/openapi.yaml allows: one with all that it names, and one for each other thing."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from django.conf import settings

OF_FORMAT = {
    "uuid": "01a203a7-9f22-70ed-a6c6-7cc37409ca31",
    "date-time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "uri": "http://127.0.0.1:8000/",
}
DEEPEST = 8


class Described:
    """The description of REST, as it is committed."""

    def __init__(self) -> None:
        with (settings.BASE_DIR / "docs" / "openapi.yaml").open() as file:
            self.whole: dict[str, Any] = yaml.load(file, Loader=yaml.CSafeLoader)

    def operation(self, method: str, path: str) -> dict[str, Any]:
        """The operation that a request to `path` (without /api/v1/) is. Raises KeyError where there is none."""
        asked = path.split("/")
        fitting = []
        for template, operations in self.whole["paths"].items():
            parts = template.removeprefix("/api/v1/").split("/")
            is_one = len(parts) == len(asked) and all(
                part == one or part.startswith("{") for part, one in zip(parts, asked, strict=True)
            )
            if is_one and method.lower() in operations:
                fitting.append((template.count("{"), operations[method.lower()]))
        if not fitting:
            raise KeyError(f"{method} {path}")
        found: dict[str, Any] = min(fitting, key=lambda one: one[0])[1]
        return found

    def resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            found: Any = self.whole
            for name in schema["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            schema = found
        return schema

    def samples(self, schema: Mapping[str, Any], *, depth: int = 0) -> Iterator[Any]:
        """The first has all that is named; each further one differs in a single thing."""
        schema = self.resolved(schema)
        for alternatives in ("anyOf", "oneOf", "allOf"):
            if alternatives in schema:
                for one in schema[alternatives]:
                    yield from self.samples(one, depth=depth)
                return
        if "const" in schema or "enum" in schema:
            yield from schema.get("enum") or [schema["const"]]
        elif "properties" in schema:
            yield from self._objects(schema, depth=depth)
        else:
            yield from self._plain(schema, depth=depth)

    def _objects(self, schema: Mapping[str, Any], *, depth: int) -> Iterator[dict[str, Any]]:
        kinds: dict[str, list[Any]] = {}
        for name, value in schema["properties"].items():
            kinds[name] = list(self.samples(value, depth=depth + 1)) if depth < DEEPEST else []
        whole = {name: of_name[0] for name, of_name in kinds.items() if of_name}
        yield whole
        for name, of_name in kinds.items():
            yield from ({**whole, name: value} for value in of_name[1:])
            if name not in schema.get("required", ()):
                yield {other: value for other, value in whole.items() if other != name}

    def _plain(self, schema: Mapping[str, Any], *, depth: int) -> Iterator[Any]:
        match schema.get("type"):
            case "array":
                # What holds its like ends in an empty list, not in a half one.
                is_deep = depth + 1 >= DEEPEST
                items = [] if is_deep else list(self.samples(schema.get("items", {}), depth=depth + 1))
                yield items
                yield []
            case "object":
                of_any = schema.get("additionalProperties")
                values = list(self.samples(of_any, depth=depth + 1)) if isinstance(of_any, dict) else [1]
                yield {str(place): value for place, value in enumerate(values)}
                yield {}
            case "string":
                yield OF_FORMAT.get(schema.get("format", ""), "0.5" if "pattern" in schema else "a")
            case "integer":
                yield 1
            case "number":
                yield 0.5
                yield 1
            case "boolean":
                yield True
            case "null":
                yield None
            case _:
                yield {"a": [None, 1, "b"]}
