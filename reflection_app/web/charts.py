"""Charts as pages show them: a Plotly figure, its twin as a table, and where each bar leads."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Cell:
    """One cell of the table beside a chart, with the address of what is behind it."""

    text: str
    href: str = ""


@dataclass(frozen=True)
class Chart:
    """`figure` is `{data, layout}` as Plotly reads it, without colours of its own: the page's theme gives them.

    A point of `data` whose `customdata` is an address leads there. Without `rows` there is nothing to draw, and `empty`
    says what would fill it.
    """

    name: str
    title: str
    hint: str = ""
    figure: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    empty: str = ""
