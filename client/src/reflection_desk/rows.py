"""Convert dataset rows to pandas and Hugging Face tables. The libraries are imported on demand."""

import json
from collections.abc import Sequence
from typing import Any

from reflection_desk.answers import DatasetColumn, DatasetKinds

type Row = dict[str, Any]


class LibraryMissing(ImportError):
    """`to_pandas` or `to_hf` needs a library that is not installed."""


def columns_of(dataset: str, known: DatasetKinds) -> list[DatasetColumn]:
    """Return the columns of a dataset. Raises LookupError if the server does not have it."""
    found = next((one.columns for one in known.results if one.kind == dataset), None)
    if found is None:
        raise LookupError(f"the server has no dataset {dataset!r}")
    return found


def as_pandas(rows: Sequence[Row], columns: Sequence[DatasetColumn]) -> Any:
    """Return a `pandas.DataFrame` with all columns of the dataset, even without rows.

    Timestamps become datetimes in UTC. Lists and objects stay Python lists and dicts. Raises LibraryMissing.
    """
    try:
        import pandas as pd
    except ImportError:
        raise LibraryMissing("to_pandas needs pandas: pip install pandas") from None
    frame = pd.DataFrame(list(rows), columns=[column.name for column in columns])
    for column in columns:
        if column.type == "timestamp" and not column.is_list:
            frame[column.name] = pd.to_datetime(frame[column.name], utc=True, format="ISO8601")
    return frame


def as_hugging_face(rows: Sequence[Row], columns: Sequence[DatasetColumn]) -> Any:
    """Return a `datasets.Dataset` with the dataset's columns as features. Raises LibraryMissing.

    Columns of type `json`, such as `metadata`, become JSON strings.
    """
    try:
        import datasets
        import pyarrow as pa
    except ImportError:
        raise LibraryMissing("to_hf needs Hugging Face datasets: pip install datasets") from None
    schema = pa.schema([_arrow_field(column) for column in columns])
    values = [{column.name: _arrow_value(row[column.name], column) for column in columns} for row in rows]
    return datasets.Dataset(pa.Table.from_pylist(values, schema=schema))


def _arrow_field(column: DatasetColumn) -> Any:
    import pyarrow as pa

    plain = {"boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64(), "timestamp": pa.string()}
    kind = plain.get(column.type, pa.string())
    if column.type == "object":
        kind = pa.struct([_arrow_field(field) for field in column.fields])
    return pa.field(column.name, pa.list_(kind) if column.is_list else kind, nullable=column.may_be_null)


def _arrow_value(value: Any, column: DatasetColumn, *, is_item: bool = False) -> Any:
    if value is None:
        return None
    if column.is_list and not is_item:
        return [_arrow_value(one, column, is_item=True) for one in value]
    if column.type == "object":
        return {field.name: _arrow_value(value.get(field.name), field) for field in column.fields}
    return json.dumps(value, ensure_ascii=False) if column.type == "json" else value
