"""Very many rows out of one real one, made by the database itself. Django has to be set up."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import Model
from uuid_utils.compat import uuid7


def copy_row(row: Model, columns: Mapping[str, str], *, for_each: str) -> None:
    """Inserts a copy of `row` for each row `n` of the table `for_each`; `columns` are expressions of what differs.

    What is not named is as in the row itself, so a column that is new to the model needs no word here.
    """
    named = [field.column for field in row._meta.concrete_fields if field.column]
    assert columns.keys() <= set(named), columns.keys() - set(named)
    values = ", ".join(columns.get(name, f'alike."{name}"') for name in named)
    table = row._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(f'"{name}"' for name in named)}) "
            f"SELECT {values} FROM {table} alike CROSS JOIN {for_each} n WHERE alike.id = '{row.pk}' ORDER BY n.number"
        )


@contextmanager
def indexes_built_afterwards(*tables: str) -> Iterator[None]:
    """Drops the tables' indexes, but for unique ones, until the rows are there: row by row takes far longer."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
            "WHERE indrelid = ANY(%s::text[]::regclass[]) AND NOT indisunique ORDER BY indexrelid",
            [list(tables)],
        )
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {name}")
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '1GB'")
        for _, definition in indexes:
            cursor.execute(definition)
        cursor.execute("RESET maintenance_work_mem")


def copy_vectors(space_id: UUID, project_id: UUID, entry_ids: Sequence[UUID], vectors: np.ndarray[Any, Any]) -> None:
    """Embeddings of the entries, in PostgreSQL's binary form: as text, as many would take minutes."""
    columns = "id, entry_id, space_id, project_id, text_hash, vector, updated_at"
    halves = vectors.astype(">f2")
    head = struct.pack("!hh", halves.shape[1], 0)
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY notebook_app_embedding ({columns}) FROM STDIN (FORMAT binary)") as copy,
    ):
        copy.write(b"PGCOPY\n\xff\r\n\x00" + struct.pack("!ii", 0, 0))
        for entry_id, half in zip(entry_ids, halves, strict=True):
            own, vector = uuid7().bytes, head + half.tobytes()
            fields = (own, entry_id.bytes, space_id.bytes, project_id.bytes, b"-", vector, struct.pack("!q", 0))
            copy.write(struct.pack("!h", len(fields)) + b"".join(struct.pack("!i", len(f)) + f for f in fields))
        copy.write(struct.pack("!h", -1))
