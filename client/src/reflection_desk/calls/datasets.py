"""Datasets of runs, preferences and critic verdicts, for training and evaluation."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict, Unpack

from reflection_desk.answers import DatasetKinds, Page
from reflection_desk.call import Call, get

# Maximum of the server for one request.
MOST_ROWS = 200


class DatasetFilters(TypedDict, total=False):
    """Filters of a dataset's rows. A `str` in `since` and `until` is an ISO 8601 time or a day in UTC.

    `metadata` is an object that the task's metadata must contain. `scripted` selects the runs of the scripted model,
    which are otherwise excluded. `anonymous` replaces people's names with pseudonyms and removes email addresses.
    """

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
    """List the datasets with their columns."""
    return get("datasets", DatasetKinds)


def read_dataset(
    dataset: str, *, limit: int = MOST_ROWS, **filters: Unpack[DatasetFilters]
) -> Call[Page[dict[str, Any]]]:
    """Return a page of rows of the dataset `runs`, `preferences` or `critic`, oldest first.

    `Desk.dataset` reads all pages.
    """
    return get(f"datasets/{dataset}", Page[dict[str, Any]], limit=limit, **filters)
