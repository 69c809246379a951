"""Charts as pages show them: a Plotly figure, its twin as a table, and where each bar leads."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from django.conf import settings
from django.utils.csp import CSP

# For `csp_override` of a page with charts: Plotly writes style attributes. Scripts stay as strict as everywhere.
CHARTS_POLICY: dict[str, Any] = {**settings.SECURE_CSP, "style-src": [CSP.SELF, CSP.UNSAFE_INLINE]}


@dataclass(frozen=True)
class Cell:
    """One cell of the table beside a chart, with the address of what is behind it."""

    text: str
    href: str = ""


@dataclass(frozen=True)
class Chart:
    """`figure` is `{data, layout}` as Plotly reads it, without colours of its own: the page's theme gives them.

    A trace names its colour in `meta` (see static/js/charts.js): `tone` for all of it, `tones` for each point, `scale`
    for a heat map. A point of `data` whose `customdata` is an address leads there. Without `rows` there is nothing to
    draw, and `empty` says what would fill it. The first `words` columns of the table are words, the others numbers.
    """

    name: str
    title: str
    hint: str = ""
    figure: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    empty: str = ""
    words: int = 1
    size: Literal["low", "", "tall"] = ""
    is_wide: bool = False

    @property
    def figure_json(self) -> str:
        return json.dumps(self.figure, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
