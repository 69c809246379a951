"""Data sets: what happened on the desk as rows to train and evaluate on."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict, Unpack

from reflection_desk.answers import DatasetKinds, Page
from reflection_desk.call import Call, get

# Rows of a request: the most that the desk gives.
MOST_ROWS = 200


class DatasetFilters(TypedDict, total=False):
    """Which rows: of a period, an agent, a kind of task; with people by made-up names, where `anonymous`."""

    since: datetime | str
    until: datetime | str
    agent: str
    kind: str
    mode: str
    outcome: str
    metadata: Mapping[str, Any]
    scripted: bool
    anonymous: bool
    cursor: str


def list_datasets() -> Call[DatasetKinds]:
    """Which data sets there are, with their columns."""
    return get("datasets", DatasetKinds)


def read_dataset(
    dataset: str, *, limit: int = MOST_ROWS, **filters: Unpack[DatasetFilters]
) -> Call[Page[dict[str, Any]]]:
    """A page of rows of `runs`, `preferences` or `critic`, oldest first."""
    return get(f"datasets/{dataset}", Page[dict[str, Any]], limit=limit, **filters)
