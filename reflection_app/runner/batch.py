"""Rows written in one round trip: a step's commit is a handful of small statements, and each trip costs as much as
its statement.

The values go through Django's fields and are bound by the driver; only names of tables and columns are put into the
text. No signals are sent, and nothing is read back.
"""

from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Field, Model


class Batch:
    def __init__(self) -> None:
        self._statements: list[str] = []
        self._values: list[Any] = []

    def insert(self, row: Model) -> None:
        """Adds a new row."""
        self._statements.append(_insert_into(type(row)))
        self._values += [_value(field, row, add=True) for field in _fields(type(row)).values()]

    def update(self, row: Model, *, fields: tuple[str, ...]) -> None:
        """Adds the present values of these fields of a row that is there."""
        of_model = _fields(type(row))
        self._statements.append(_update(type(row), fields))
        self._values += [*(_value(of_model[name], row, add=False) for name in fields), row.pk]

    def add(self, statement: str, *values: Any) -> None:
        """Adds a statement of the caller's."""
        self._statements.append(statement)
        self._values += values

    def write(self) -> None:
        """Writes what was added, in that order; call it inside a transaction."""
        if self._statements:
            with connection.cursor() as cursor:
                cursor.execute("; ".join(self._statements), self._values)
        self._statements, self._values = [], []


@cache
def _fields(model: type[Model]) -> dict[str, "Field[Any, Any]"]:
    return {field.name: field for field in model._meta.concrete_fields}  # noqa: SLF001 - Django's documented API


@cache
def _insert_into(model: type[Model]) -> str:
    columns = [_column(field) for field in _fields(model).values()]
    places = ", ".join(["%s"] * len(columns))
    return f"INSERT INTO {_table(model)} ({', '.join(columns)}) VALUES ({places})"  # noqa: S608 - names of ours


@cache
def _update(model: type[Model], names: tuple[str, ...]) -> str:
    columns = ", ".join(f"{_column(_fields(model)[name])} = %s" for name in names)
    return f"UPDATE {_table(model)} SET {columns} WHERE id = %s"  # noqa: S608 - names of ours


def _table(model: type[Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001 - Django's documented API


def _column(field: "Field[Any, Any]") -> str:
    assert field.column is not None
    return connection.ops.quote_name(field.column)


def _value(field: "Field[Any, Any]", row: Model, *, add: bool) -> Any:
    return field.get_db_prep_save(field.pre_save(row, add), connection=connection)
