"""Data sets: page by page, and as files that are sent while they are read."""

from django.http import StreamingHttpResponse
from pydantic import AwareDatetime, ConfigDict, Field
from rest_framework.utils.urls import replace_query_param

from reflection_app.api.actions import read
from reflection_app.api.reading import Answer
from reflection_app.api.view import DeskView
from reflection_app.core.errors import NotFound
from reflection_app.core.permissions import GRANTS, Permission
from reflection_app.metrics.datasets.asking import DatasetQuery, asked_of
from reflection_app.metrics.datasets.catalogue import DATASETS, Dataset, DatasetKind
from reflection_app.metrics.datasets.columns import ColumnAnswer, columns_of
from reflection_app.metrics.datasets.files import MEDIA_TYPES, FileFormat, exported
from reflection_app.metrics.datasets.reading import read_some
from reflection_app.metrics.datasets.rows import CriticRow, PreferenceRow, RunRow


class DatasetPageQuery(DatasetQuery):
    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(
        default=50, ge=1, le=200, description="maximum number of rows; fewer if matching rows are sparse"
    )


class ExportQuery(DatasetQuery):
    model_config = ConfigDict(extra="forbid", frozen=True)

    format: FileFormat = FileFormat.JSONL


class DatasetPage(Answer):
    """One page of rows, oldest first: follow `next` until it is null."""

    next: str | None = Field(description="URL of the next page, with rows as of the same time, or null")
    until: AwareDatetime = Field(
        description="snapshot time: rows are from before it and as of then; send it again to read the same rows"
    )
    schema_version: int


class RunsPage(DatasetPage):
    results: list[RunRow]


class PreferencesPage(DatasetPage):
    results: list[PreferenceRow]


class CriticPage(DatasetPage):
    results: list[CriticRow]


class DatasetAnswer(Answer):
    kind: DatasetKind
    schema_version: int
    scopes: str = Field(description="scopes that an API key needs to read it")
    columns: list[ColumnAnswer]
    formats: list[FileFormat] = Field(description="file formats that this server can write")


class DatasetList(Answer):
    results: list[DatasetAnswer]


class Datasets(DeskView):
    def get_object(self, kind: str) -> Dataset:
        """The data set of that name."""
        if kind not in list(DatasetKind):
            raise NotFound(f"There is no data set {kind[:40]!r}; there are {', '.join(DatasetKind)}.")
        return DATASETS[DatasetKind(kind)]

    @read("list_datasets", "List datasets and their columns", may=Permission.READ)
    def list(self) -> DatasetList:
        return DatasetList(
            results=[
                DatasetAnswer(
                    kind=one.kind,
                    schema_version=one.schema_version,
                    scopes=GRANTS[Permission.READ].scope_words(),
                    columns=list(columns_of(one.row)),
                    formats=list(FileFormat),
                )
                for one in DATASETS.values()
            ]
        )

    @read("read_runs_dataset", "List rows of the runs dataset, oldest first", may=Permission.READ)
    def runs(self, query: DatasetPageQuery) -> RunsPage:
        return self._page(RunsPage, DatasetKind.RUNS, query)

    @read("read_preferences_dataset", "List rows of the preferences dataset", may=Permission.READ)
    def preferences(self, query: DatasetPageQuery) -> PreferencesPage:
        """The columns `prompt`, `chosen` and `rejected` have the names that DPO trainers expect."""
        return self._page(PreferencesPage, DatasetKind.PREFERENCES, query)

    @read("read_critic_dataset", "List rows of the critic dataset", may=Permission.READ)
    def critic(self, query: DatasetPageQuery) -> CriticPage:
        return self._page(CriticPage, DatasetKind.CRITIC, query)

    @read(
        "export_dataset",
        "Export a dataset as a file",
        may=Permission.READ,
        answer=str,
        media_type=MEDIA_TYPES[FileFormat.JSONL],
        also=(MEDIA_TYPES[FileFormat.CSV].partition(";")[0],),
    )
    def export(self, dataset: Dataset, query: ExportQuery) -> StreamingHttpResponse:
        """Streams the file. The header `Dataset-Until` is the snapshot time. `cursor` resumes an interrupted file."""
        request = self.request._request  # noqa: SLF001 - the documented way to Django's own request
        return exported(request, dataset, asked_of(self.project, query), form=query.format, actor=self.actor)

    def _page[P: DatasetPage](self, answer: type[P], kind: DatasetKind, query: DatasetPageQuery) -> P:
        dataset, asked = DATASETS[kind], asked_of(self.project, query)
        found = read_some(dataset.sources, asked, limit=query.limit)
        until = asked.until.isoformat().replace("+00:00", "Z")
        address = None
        if found.next is not None:
            address = replace_query_param(self.request.build_absolute_uri(), "until", until)
            address = replace_query_param(address, "cursor", str(found.next))
        return answer.model_validate(
            {
                "results": found.rows,
                "next": address,
                "until": asked.until,
                "schema_version": dataset.schema_version,
            }
        )
