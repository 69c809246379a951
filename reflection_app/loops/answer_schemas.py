"""Parts of the JSON Schemas sent with model requests.

They are for providers that constrain output, and deliberately stricter than what the application accepts. Do not
reorder the keys: requests are recorded in journals, and providers cache the compiled form of each schema.
"""

from enum import StrEnum
from typing import Any

type Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
YES_OR_NO: Schema = {"type": "boolean"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}


def one_of(kind: type[StrEnum]) -> Schema:
    return {"type": "string", "enum": [one.value for one in kind]}


def texts(most: int | None = None) -> Schema:
    return {"type": "array", "items": TEXT} | ({} if most is None else {"maxItems": most})


def list_of(items: Schema, *, most: int) -> Schema:
    return {"type": "array", "maxItems": most, "items": items}


def open_object(**properties: Schema) -> Schema:
    """Return the schema of an object that requires `properties` and allows others."""
    return {"type": "object", "required": list(properties), "properties": properties}


def closed_object(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly `properties`."""
    return {"type": "object", "additionalProperties": False} | open_object(**properties)
