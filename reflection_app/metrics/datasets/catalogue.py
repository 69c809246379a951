"""Which data sets there are: what a row of each is, of which version, and what is needed to read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from reflection_app.core.permissions import Permission
from reflection_app.metrics.datasets.critic import CRITIC
from reflection_app.metrics.datasets.findings import FINDINGS
from reflection_app.metrics.datasets.pairwise import PAIRWISE
from reflection_app.metrics.datasets.preferences import PREFERENCES
from reflection_app.metrics.datasets.reading import Sources, Together
from reflection_app.metrics.datasets.rows import CriticRow, DatasetRow, FindingRow, PreferenceRow, RunRow
from reflection_app.metrics.datasets.runs import RUNS


class DatasetKind(StrEnum):
    RUNS = "runs"
    PREFERENCES = "preferences"
    CRITIC = "critic"
    FINDINGS = "findings"


@dataclass(frozen=True)
class Dataset:
    """`needs` is what it takes to read one beside Permission.READ, which all need."""

    kind: DatasetKind
    row: type[DatasetRow]
    sources: Sources[Any] | Together
    schema_version: int = 1
    needs: Permission = Permission.READ


DATASETS: Mapping[DatasetKind, Dataset] = MappingProxyType(
    {
        one.kind: one
        for one in (
            Dataset(DatasetKind.RUNS, RunRow, RUNS),
            Dataset(DatasetKind.PREFERENCES, PreferenceRow, Together((PREFERENCES, PAIRWISE)), schema_version=2),
            Dataset(DatasetKind.CRITIC, CriticRow, CRITIC),
            # It tells what entries of the notebook say, and what became of them.
            Dataset(DatasetKind.FINDINGS, FindingRow, FINDINGS, needs=Permission.READ_NOTEBOOK),
        )
    }
)
