"""Rows written in one round trip: a step's commit is a handful of small statements, and each trip costs as much as
its statement.

The values go through Django's fields and are bound by the driver; only names of tables and columns are put into the
text. No signals are sent, and nothing is read back.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection, models
from django.db.models import Field, ForeignKey, Model

PLAIN = {
    models.BooleanField,
    models.CharField,
    models.FloatField,
    models.IntegerField,
    models.PositiveIntegerField,
    models.PositiveSmallIntegerField,
    models.TextField,
    models.UUIDField,
}


class Batch:
    def __init__(self) -> None:
        self._statements: list[_Statement] = []
        # Where further rows of a table can still join those before them.
        self._inserts: dict[type[Model], _Statement] = {}

    def insert(self, row: Model) -> None:
        """Adds a new row; rows of one table go in one statement, as long as nothing between them could meet them."""
        values = _values(row, tuple(_fields(type(row))), add=True)
        known = self._inserts.get(type(row))
        if known is None:
            known = self._inserts[type(row)] = self._add(_insert_into(type(row)))
        else:
            known.text += ", "
        known.text += _places(len(values))
        known.values += values
        # As after `save`: whoever saves the row later changes it.
        row._state.adding, row._state.db = False, connection.alias  # noqa: SLF001 - Django's documented API

    def update(self, row: Model, *, fields: tuple[str, ...]) -> None:
        """Adds the present values of these fields of a row that is there."""
        self._inserts.pop(type(row), None)
        self._add(_update(type(row), fields), *_values(row, fields, add=False), row.pk)

    def add(self, statement: str, *values: Any) -> None:
        """Adds a statement of the caller's."""
        self._inserts.clear()
        self._add(statement, *values)

    def _add(self, text: str, *values: Any) -> "_Statement":
        statement = _Statement(text, list(values))
        self._statements.append(statement)
        return statement

    def write(self) -> None:
        """Writes what was added, in that order; call it inside a transaction."""
        statements, self._statements, self._inserts = self._statements, [], {}
        if statements:
            with connection.cursor() as cursor:
                text = "; ".join(statement.text for statement in statements)
                cursor.execute(text, [value for statement in statements for value in statement.values])


@dataclass
class _Statement:
    text: str
    values: list[Any]


@cache
def _fields(model: type[Model]) -> dict[str, "Field[Any, Any]"]:
    return {field.name: field for field in model._meta.concrete_fields}  # noqa: SLF001 - Django's documented API


@cache
def _insert_into(model: type[Model]) -> str:
    columns = [_column(field) for field in _fields(model).values()]
    return f"INSERT INTO {_table(model)} ({', '.join(columns)}) VALUES "  # noqa: S608 - names of ours


@cache
def _places(count: int) -> str:
    return f"({', '.join(['%s'] * count)})"


@cache
def _update(model: type[Model], names: tuple[str, ...]) -> str:
    columns = ", ".join(f"{_column(_fields(model)[name])} = %s" for name in names)
    return f"UPDATE {_table(model)} SET {columns} WHERE id = %s"  # noqa: S608 - names of ours


def _table(model: type[Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001 - Django's documented API


def _column(field: "Field[Any, Any]") -> str:
    assert field.column is not None
    return connection.ops.quote_name(field.column)


def _values(row: Model, names: tuple[str, ...], *, add: bool) -> list[Any]:
    return [
        getattr(row, attname) if is_plain else field.get_db_prep_save(field.pre_save(row, add), connection=connection)
        for attname, field, is_plain in _ways(type(row), names)
    ]


@cache
def _ways(model: type[Model], names: tuple[str, ...]) -> list[tuple[str, "Field[Any, Any]", bool]]:
    of_model = _fields(model)
    return [(of_model[name].attname, of_model[name], _is_plain(of_model[name])) for name in names]


def _is_plain(field: "Field[Any, Any]") -> bool:
    """Whether Django would hand the field's value to the driver as it is: a run writes hundreds of such."""
    while isinstance(field, ForeignKey):
        field = field.target_field
    return type(field) in PLAIN
