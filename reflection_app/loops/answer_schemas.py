"""Parts of the JSON Schemas that answers are asked for in.

They are for providers that constrain an answer, and stricter than what is accepted, on purpose. The order of keys is
kept as it is: what is sent is kept in journals, and providers keep what each schema compiles to.
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
    """An object with all of these, and others where a model wants them."""
    return {"type": "object", "required": list(properties), "properties": properties}


def closed_object(**properties: Schema) -> Schema:
    """An object with all of these and nothing else."""
    return {"type": "object", "additionalProperties": False} | open_object(**properties)
