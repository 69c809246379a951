"""Which data sets there are: what a row of each is, and of which version."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from reflection_app.metrics.datasets.critic import CRITIC
from reflection_app.metrics.datasets.pairwise import PAIRWISE
from reflection_app.metrics.datasets.preferences import PREFERENCES
from reflection_app.metrics.datasets.reading import Sources, Together
from reflection_app.metrics.datasets.rows import CriticRow, DatasetRow, PreferenceRow, RunRow
from reflection_app.metrics.datasets.runs import RUNS


class DatasetKind(StrEnum):
    RUNS = "runs"
    PREFERENCES = "preferences"
    CRITIC = "critic"


@dataclass(frozen=True)
class Dataset:
    kind: DatasetKind
    row: type[DatasetRow]
    sources: Sources[Any] | Together
    schema_version: int = 1


DATASETS: Mapping[str, Dataset] = MappingProxyType(
    {
        one.kind: one
        for one in (
            Dataset(DatasetKind.RUNS, RunRow, RUNS),
            Dataset(DatasetKind.PREFERENCES, PreferenceRow, Together((PREFERENCES, PAIRWISE)), schema_version=2),
            Dataset(DatasetKind.CRITIC, CriticRow, CRITIC),
        )
    }
)
