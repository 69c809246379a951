"""Data sets as files of JSON lines or CSV, sent while they are read.

CSV is flat: the fields of an object are columns of their own, named `decision.verdict`, and lists are JSON.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse

from reflection_app.core.audit import Actor, audit
from reflection_app.core.streamed import as_file, csv_lines
from reflection_app.metrics.datasets.asking import Asked
from reflection_app.metrics.datasets.catalogue import Dataset
from reflection_app.metrics.datasets.columns import columns_of
from reflection_app.metrics.datasets.rows import DatasetRow
from reflection_app.runs.seen import mark_seen


class FileFormat(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"


MEDIA_TYPES = {FileFormat.JSONL: "application/jsonl", FileFormat.CSV: "text/csv; charset=utf-8"}
UNTIL, SCHEMA = "Dataset-Until", "Dataset-Schema"


def exported(
    request: HttpRequest, dataset: Dataset, asked: Asked, *, form: FileFormat, actor: Actor
) -> StreamingHttpResponse:
    """The file; the trail tells who took it. A pipeline that gets it is told of every run in it."""
    until = asked.until.isoformat()
    about = {"dataset": dataset.kind.value, "schema_version": str(dataset.schema_version), "until": until}
    pieces = _rows(dataset, asked, actor=actor)
    audit(
        asked.project.pk,
        actor,
        "dataset.exported",
        target=asked.project,
        after=about | {"format": form.value, "anonymous": asked.query.anonymous},
    )
    return as_file(
        request,
        as_csv(dataset, pieces) if form is FileFormat.CSV else as_jsonl(pieces),
        name=f"{dataset.kind}-{asked.project.slug}-{asked.until:%Y%m%dT%H%M%SZ}.{form}",
        media_type=MEDIA_TYPES[form],
        headers={UNTIL: until, SCHEMA: f"{dataset.kind}/{dataset.schema_version}"},
    )


def _rows(dataset: Dataset, asked: Asked, *, actor: Actor) -> Iterator[list[DatasetRow]]:
    for piece in dataset.sources.pieces(asked):
        if actor.api_key is not None:
            mark_seen(asked.project, {run_id for row in piece.rows if (run_id := row.told_of)})
        yield piece.rows


def as_jsonl(pieces: Iterable[list[DatasetRow]]) -> Iterator[bytes]:
    """Yield the rows as lines of JSON, in pieces."""
    return ("".join(f"{row.model_dump_json()}\n" for row in rows).encode() for rows in pieces if rows)


def as_csv(dataset: Dataset, pieces: Iterable[list[DatasetRow]]) -> Iterator[bytes]:
    """Yield the heading, then the rows in pieces."""
    names = csv_columns(dataset)
    yield csv_lines([names]).encode()
    for rows in pieces:
        if rows:
            yield csv_lines(_cells(row, names) for row in rows).encode()


def csv_columns(dataset: Dataset) -> list[str]:
    """The names of the columns of CSV, in their order."""
    return [flat.name for column in columns_of(dataset.row) for flat in column.flat()]


def _cells(row: DatasetRow, names: list[str]) -> Iterator[object]:
    values = row.model_dump(mode="json")
    for name in names:
        value: Any = values
        for part in name.split("."):
            value = value[part] if value is not None else None
        yield value
