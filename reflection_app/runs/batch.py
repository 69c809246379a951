"""Rows written in one round trip: a step's commit is a handful of small statements, and each trip costs as much as
its statement.

The values go through Django's fields and are quoted by the driver, as its client-side cursors do. No signals are sent,
and nothing is read back.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import connection, connections, models
from django.db.models import Field, ForeignKey, Model
from psycopg.adapt import Transformer

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


class RowGone(Exception):
    """A row that was to be changed is not there."""


class Batch:
    def __init__(self) -> None:
        # Each in pieces: a text to which every further row is added would be copied whole for each.
        self._statements: list[list[str]] = []
        # Where the last statement that takes rows of a table is: further ones join them.
        self._inserts: dict[type[Model], int] = {}
        # Which statements have to meet their row.
        self._must_meet: set[int] = set()
        # Not Django's proxy of the thread's connection: each attribute read through it costs a lookup.
        self._connection = connections[connection.alias]
        self._connection.ensure_connection()
        # The driver's own cursors look for the places of values in each text anew, and a step's commit has two hundred.
        self._quoting = Transformer(self._connection.connection)

    def insert(self, row: Model) -> None:
        """Adds a new row; rows of one table go in one statement, as long as nothing between them could meet them."""
        model = type(row)
        values = f"({', '.join(self._literals(self._values(row, _names(model), add=True)))})"
        if model in self._inserts:
            self._statements[self._inserts[model]] += (", ", values)
        else:
            self._inserts[model] = len(self._statements)
            self._statements.append([_insert_into(model), values])
        # As after `save`: whoever saves the row later changes it.
        row._state.adding, row._state.db = False, self._connection.alias  # noqa: SLF001 - Django's documented API

    def update(self, row: Model, *, fields: tuple[str, ...], must_be_there: bool = False) -> None:
        """Adds the present values of these fields of a row. Where it `must_be_there` and is not, `write` raises."""
        self._inserts.pop(type(row), None)
        if must_be_there:
            self._must_meet.add(len(self._statements))
        values = (*self._literals(self._values(row, fields, add=False)), *self._literals([row.pk]))
        self._statements.append([_update(type(row), fields) % values])

    def add(self, statement: str, *values: Any) -> None:
        """Adds a statement of the caller's, which has `%s` for each value."""
        self._inserts.clear()
        self._statements.append([statement % tuple(self._literals(values))])

    def _literals(self, values: Sequence[Any]) -> list[str]:
        """The values as the driver quotes them."""
        with self._connection.wrap_database_errors:
            return [self._quoting.as_literal(value).decode() for value in values]

    def _values(self, row: Model, names: tuple[str, ...], *, add: bool) -> list[Any]:
        return [
            getattr(row, attname)
            if is_plain
            else field.get_db_prep_save(field.pre_save(row, add), connection=self._connection)
            for attname, field, is_plain in _ways(type(row), names)
        ]

    def write(self) -> None:
        """Writes what was added, in that order; call it inside a transaction. Raises RowGone."""
        statements, self._statements, self._inserts = self._statements, [], {}
        must_meet, self._must_meet = self._must_meet, set()
        if statements:
            with self._connection.cursor() as cursor:
                cursor.execute("; ".join("".join(pieces) for pieces in statements))
                for number in range(max(must_meet, default=-1) + 1):
                    if number in must_meet and cursor.rowcount != 1:
                        raise RowGone
                    cursor.nextset()


@cache
def _fields(model: type[Model]) -> dict[str, "Field[Any, Any]"]:
    return {field.name: field for field in model._meta.concrete_fields}  # noqa: SLF001 - Django's documented API


@cache
def _names(model: type[Model]) -> tuple[str, ...]:
    return tuple(_fields(model))


@cache
def _insert_into(model: type[Model]) -> str:
    columns = [_column(field) for field in _fields(model).values()]
    return f"INSERT INTO {_table(model)} ({', '.join(columns)}) VALUES "  # noqa: S608 - names of ours


@cache
def _update(model: type[Model], names: tuple[str, ...]) -> str:
    columns = ", ".join(f"{_column(_fields(model)[name])} = %s" for name in names)
    return f"UPDATE {_table(model)} SET {columns} WHERE id = %s"  # noqa: S608 - names of ours


def _table(model: type[Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001 - Django's documented API


def _column(field: "Field[Any, Any]") -> str:
    assert field.column is not None
    return connection.ops.quote_name(field.column)


@cache
def _ways(model: type[Model], names: tuple[str, ...]) -> list[tuple[str, "Field[Any, Any]", bool]]:
    ways = []
    for field in (_fields(model)[name] for name in names):
        target = field
        while isinstance(target, ForeignKey):
            target = target.target_field
        # Django would hand the value to the driver as it is: a run writes hundreds of such.
        ways.append((field.attname, field, type(target) in PLAIN))
    return ways
