"""Data sets as files: JSON lines, CSV and Parquet, made while they are sent.

CSV is flat: the fields of an object are columns of their own, named `decision.verdict`, and lists are JSON. In Parquet
they are what they are, but for objects of any shape, such as metadata, which are JSON there as well.
"""

import io
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from reflection_app.core.errors import ActionError
from reflection_app.core.streamed import csv_lines
from reflection_app.metrics.datasets.catalogue import Dataset
from reflection_app.metrics.datasets.columns import Column, ColumnType, columns_of
from reflection_app.metrics.datasets.rows import DatasetRow

if TYPE_CHECKING:
    import pyarrow as pa


class FileFormat(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


MEDIA_TYPES = {
    FileFormat.JSONL: "application/jsonl",
    FileFormat.CSV: "text/csv; charset=utf-8",
    FileFormat.PARQUET: "application/vnd.apache.parquet",
}
# A row group is read whole by whoever reads any of it, and held here until it is written.
ROW_GROUP_BYTES = 16_000_000
MOST_IN_ROW_GROUP = 5_000


class ParquetMissing(ActionError):
    """This desk writes no Parquet: pyarrow is not installed. Ask for jsonl or csv, or install the extra `parquet`."""

    status = 501
    title = "Not installed"


def formats() -> list[FileFormat]:
    """The formats that this desk can write."""
    return [form for form in FileFormat if form is not FileFormat.PARQUET or find_spec("pyarrow")]


def written(
    dataset: Dataset, pieces: Iterable[list[DatasetRow]], *, form: FileFormat, about: dict[str, str]
) -> Iterator[bytes]:
    """The file, in pieces; in Parquet with what `about` tells. Raises ParquetMissing before the first."""
    if form not in formats():
        raise ParquetMissing(ParquetMissing.__doc__)
    match form:
        case FileFormat.JSONL:
            return ("".join(f"{row.model_dump_json()}\n" for row in rows).encode() for rows in pieces if rows)
        case FileFormat.CSV:
            return _as_csv(dataset, pieces)
        case FileFormat.PARQUET:
            return _as_parquet(dataset, pieces, about=about)


def csv_columns(dataset: Dataset) -> list[str]:
    """The names of the columns of CSV, in their order."""
    return [flat.name for column in columns_of(dataset.row) for flat in column.flat()]


def _as_csv(dataset: Dataset, pieces: Iterable[list[DatasetRow]]) -> Iterator[bytes]:
    names = csv_columns(dataset)
    yield csv_lines([names]).encode()
    for rows in pieces:
        if rows:
            yield csv_lines(_cells(row, names) for row in rows).encode()


def _cells(row: DatasetRow, names: list[str]) -> Iterator[object]:
    values = row.model_dump(mode="json")
    for name in names:
        value: Any = values
        for part in name.split("."):
            value = value[part] if value is not None else None
        yield value


# Parquet.


def arrow_schema(dataset: Dataset) -> "pa.Schema":
    """The columns as Arrow has them."""
    import pyarrow as pa

    return pa.schema([_arrow_field(column) for column in columns_of(dataset.row)])


def _arrow_field(column: Column) -> "pa.Field[Any]":
    import pyarrow as pa

    plain = {
        ColumnType.BOOLEAN: pa.bool_(),
        ColumnType.INTEGER: pa.int64(),
        ColumnType.NUMBER: pa.float64(),
        ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    }
    kind: Any = plain.get(column.type, pa.string())
    if column.type is ColumnType.OBJECT:
        kind = pa.struct([_arrow_field(field) for field in column.fields])
    return pa.field(column.name, pa.list_(kind) if column.is_list else kind, nullable=column.may_be_null)


def _arrow_value(column: Column, value: Any, *, is_item: bool = False) -> Any:
    if value is None:
        return None
    if column.is_list and not is_item:
        return [_arrow_value(column, one, is_item=True) for one in value]
    match column.type:
        case ColumnType.OBJECT:
            return {field.name: _arrow_value(field, getattr(value, field.name)) for field in column.fields}
        case ColumnType.JSON:
            return json.dumps(value, ensure_ascii=False)
        case ColumnType.STRING:
            return str(value)
    return value


def _as_parquet(dataset: Dataset, pieces: Iterable[list[DatasetRow]], *, about: dict[str, str]) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = columns_of(dataset.row)
    schema = arrow_schema(dataset).with_metadata({"reflection_desk": json.dumps(about)})
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        waiting: list[Any] = []
        for rows in pieces:
            if not rows:
                continue
            values = [
                {column.name: _arrow_value(column, getattr(row, column.name)) for column in columns} for row in rows
            ]
            waiting.append(pa.RecordBatch.from_pylist(values, schema=schema))
            is_enough = sum(batch.nbytes for batch in waiting) >= ROW_GROUP_BYTES
            if is_enough or sum(batch.num_rows for batch in waiting) >= MOST_IN_ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting.clear()
                yield sink.taken()
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
    yield sink.taken()


class _Sink(io.RawIOBase):
    """What was written since it was last taken."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        self._length += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        return self._length

    def taken(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
