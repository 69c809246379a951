"""docs/reference/datasets.md and the rows are held together."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reflection_app.metrics.datasets.catalogue import DATASETS, DatasetKind
from reflection_app.metrics.datasets.columns import Column, columns_of

WRITTEN = Path(__file__).parents[2] / "docs" / "reference" / "datasets.md"


def lines_of(columns: tuple[Column, ...], above: str = "") -> Iterator[str]:
    for column in columns:
        yield f"| `{above}{column.name}` | {column.words} | "
        yield from lines_of(column.fields, f"{above}{column.name}{'[]' if column.is_list else ''}.")


@pytest.mark.parametrize("kind", DatasetKind)
def test_every_column_is_documented_in_its_order_and_no_other(kind: DatasetKind) -> None:
    dataset = DATASETS[kind]
    _, _, section = WRITTEN.read_text().partition(f"## `{kind}`, version {dataset.schema_version}\n")
    written = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    expected = list(lines_of(columns_of(dataset.row)))
    assert [line[: len(start)] for line, start in zip(written, expected, strict=True)] == expected
