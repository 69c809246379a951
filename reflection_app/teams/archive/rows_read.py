"""One row of a file as it is to be written: checked column by column, with new ids and this desk's own people."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models

from notebook_app.public import Row, TakenTable
from reflection_app.core.models import Project
from reflection_app.teams.archive.identities import UUIDS, Identities
from reflection_app.teams.archive.reading import refuse
from reflection_app.teams.archive.tables import TABLES, Column, columns_of, is_of_person, key_in_file

FILE_OF = {table.model: table.name for table in TABLES}


@dataclass(frozen=True)
class Renewal:
    """What rows are made new with. `people` are this desk's users that count as those of the file, by name."""

    project: Project
    identities: Identities
    people: dict[str, int]

    def row(self, table: TakenTable, given: Row, *, where: str) -> Row | None:
        """The row by columns of the database; None where it is about a person who is not here.

        Raises InvalidInput where it is no row of the table, or refers to something that is not in the file.
        """
        columns = columns_of(table)
        strange = given.keys() - {key_in_file(column) for column in columns}
        if strange:
            raise refuse(where, f"there is no column {min(strange)!r}; is the file of a newer desk?")
        row = {column.attname: self._value(column, given, where=where) for column in columns}
        if any(is_of_person(column) and not column.null and row[column.attname] is None for column in columns):
            return None
        row |= _left_behind(table) | self._of_project(table)
        return table.mended(row) if table.mended else row

    def _value(self, column: Column, given: Row, *, where: str) -> Any:
        key = key_in_file(column)
        value = given.get(key, _default(column))
        place = f"{where}, {key}"
        if value is None:
            return None
        if is_of_person(column):
            return self.people.get(value) if isinstance(value, str) else None
        if column.related_model is not None:
            return self._reference(column, value, place=place)
        return self._plain(column, value, place=place)

    def _plain(self, column: Column, value: Any, *, place: str) -> Any:
        if isinstance(column, models.UUIDField):
            return str(self.identities.new(_uuid(value, place=place)))
        if isinstance(column, models.JSONField):
            return self.identities.in_json(value)
        if isinstance(column, models.CharField | models.TextField | ArrayField):
            return self._text(column, value, place=place)
        return value

    def _reference(self, column: Column, value: Any, *, place: str) -> str:
        old, table = _uuid(value, place=place), FILE_OF.get(column.related_model)  # type: ignore[arg-type]
        if table is None or not self.identities.is_in(table, old):
            raise refuse(place, "it refers to a row that is not in the file")
        return str(self.identities.new(old))

    def _text(self, column: Column, value: Any, *, place: str) -> Any:
        texts = value if isinstance(column, ArrayField) else [value]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise refuse(place, "it is no text")
        if column.choices and value not in {choice for choice, _ in column.flatchoices} | (
            {""} if column.blank else set()
        ):
            raise refuse(place, f"{value[:60]!r} is none of the things that it can be")
        if any("\0" in text for text in texts):
            raise refuse(place, "there is a NUL in it, which cannot be stored")
        # Names and sources are made of ids; in whatever people and models said, ids stay as they were said.
        return self.identities.in_text(value) if type(column) is models.CharField else value

    def _of_project(self, table: TakenTable) -> Row:
        names = {column.attname for column in table.model._meta.concrete_fields}  # noqa: SLF001 - Django's documented API
        return {"project_id": str(self.project.pk)} if "project_id" in names else {}


def _left_behind(table: TakenTable) -> Row:
    """Columns that the file does not bring: each is what a new row would have there."""
    return {
        column.attname: _default(column)
        for column in table.model._meta.concrete_fields  # noqa: SLF001 - Django's documented API
        if column.name in table.without
    }


def _default(column: Column) -> Any:
    if column.has_default():
        value = column.get_default()
        return str(value) if isinstance(value, UUID) else value
    return None if column.null else ""


def _uuid(value: Any, *, place: str) -> UUID:
    if not isinstance(value, str) or not UUIDS.fullmatch(value):
        raise refuse(place, "it is no id")
    return UUID(value)
