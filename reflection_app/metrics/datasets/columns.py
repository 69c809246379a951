"""What columns a row has, told by the pydantic model that it is: for files, for REST and for the documentation."""

from collections.abc import Iterator
from datetime import datetime
from enum import Enum, StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, Field

from reflection_app.api.reading import Answer


class ColumnType(StrEnum):
    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    # RFC 3339 where the format has no type of its own for it, in UTC.
    TIMESTAMP = "timestamp"
    OBJECT = "object"
    # An object of any shape.
    JSON = "json"


PLAIN: dict[Any, ColumnType] = {
    bool: ColumnType.BOOLEAN,
    int: ColumnType.INTEGER,
    float: ColumnType.NUMBER,
    str: ColumnType.STRING,
    UUID: ColumnType.STRING,
    AwareDatetime: ColumnType.TIMESTAMP,
    datetime: ColumnType.TIMESTAMP,
}


class ColumnAnswer(Answer):
    name: str
    type: ColumnType
    is_list: bool
    may_be_null: bool
    description: str
    fields: list["ColumnAnswer"] = Field(description="fields of an object, or of each object in a list")

    @property
    def words(self) -> str:
        """The type as the documentation has it."""
        return f"{f'list of {self.type}s' if self.is_list else self.type}{' or null' if self.may_be_null else ''}"

    def flat(self, above: str = "") -> "Iterator[ColumnAnswer]":
        """The column, or instead of an object those of its fields; each by its whole name with dots."""
        if self.type is ColumnType.OBJECT and not self.is_list:
            for field in self.fields:
                yield from field.flat(f"{above}{self.name}.")
        else:
            yield self.model_copy(update={"name": f"{above}{self.name}"})


@cache
def columns_of(model: type[BaseModel]) -> tuple[ColumnAnswer, ...]:
    """The columns in their order."""
    return tuple(
        _column(name, field.annotation, description=field.description or "")
        for name, field in model.model_fields.items()
    )


def _column(name: str, annotation: Any, *, description: str) -> ColumnAnswer:
    kind, may_be_null = _without_null(annotation)
    is_list = get_origin(kind) in (list, tuple)
    if is_list:
        kind, _ = _without_null(get_args(kind)[0])
    fields: tuple[ColumnAnswer, ...] = ()
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        named, fields = ColumnType.OBJECT, columns_of(kind)
    elif get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        named = ColumnType.STRING
    else:
        named = ColumnType.JSON if get_origin(kind) is dict else PLAIN[kind]
    return ColumnAnswer(
        name=name, type=named, is_list=is_list, may_be_null=may_be_null, description=description, fields=list(fields)
    )


def _without_null(annotation: Any) -> tuple[Any, bool]:
    """The kind of value, and whether it may be missing."""
    if get_origin(annotation) is Annotated:
        return _without_null(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        if len(kinds) == 1:
            return _without_null(kinds[0])[0], True
    return annotation, False
