"""A data set as a file for whoever asked for it, sent while it is read."""

from collections.abc import Iterator

from django.http import HttpRequest, StreamingHttpResponse

from reflection_app.core.audit import Actor, audit
from reflection_app.core.streamed import as_file
from reflection_app.metrics.datasets.catalogue import Dataset
from reflection_app.metrics.datasets.files import MEDIA_TYPES, FileFormat, written
from reflection_app.metrics.datasets.reading import Asked
from reflection_app.metrics.datasets.rows import DatasetRow
from reflection_app.runs.seen import mark_seen

UNTIL, SCHEMA = "Dataset-Until", "Dataset-Schema"


def exported(
    request: HttpRequest, dataset: Dataset, asked: Asked, *, form: FileFormat, actor: Actor
) -> StreamingHttpResponse:
    """The file; the trail tells who took it. A pipeline that gets it is told of every run in it."""
    until = asked.until.isoformat()
    about = {"dataset": dataset.kind.value, "schema_version": str(dataset.schema_version), "until": until}
    pieces = written(dataset, _rows(dataset, asked, actor=actor), form=form, about=about)
    audit(
        asked.project.pk,
        actor,
        "dataset.exported",
        target=asked.project,
        after=about | {"format": form.value, "anonymous": asked.anonymous},
    )
    return as_file(
        request,
        pieces,
        name=f"{dataset.kind}-{asked.project.slug}-{asked.until:%Y%m%dT%H%M%SZ}.{form}",
        media_type=MEDIA_TYPES[form],
        headers={UNTIL: until, SCHEMA: f"{dataset.kind}/{dataset.schema_version}"},
    )


def _rows(dataset: Dataset, asked: Asked, *, actor: Actor) -> Iterator[list[DatasetRow]]:
    for piece in dataset.sources.pieces(asked):
        if actor.api_key is not None:
            mark_seen(asked.project, {run_id for row in piece.rows if (run_id := row.told_of)})
        yield piece.rows
