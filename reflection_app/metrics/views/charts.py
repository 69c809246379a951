"""Plotly figures as plain dicts, so that no page waits for the import of plotly. Tests hand each to plotly itself.

Plotly reads its texts as a kind of HTML, links included; whatever is shown goes through `plain`.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage
from django.template import Library
from django.templatetags.static import static
from django.utils.csp import CSP
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

LONGEST_LABEL = 28
# Of an axis of shares: the room beside the outermost value, and the fewest tenths of it that are shown.
AROUND = 0.3
FEWEST_TENTHS = 3
FEW_COUNTED = 5
# In figures alone: Plotly writes the names of months in English, whatever the page's language.
DATES = [
    {"dtickrange": [None, "M1"], "value": "%m-%d\n%Y"},
    {"dtickrange": ["M1", None], "value": "%Y-%m"},
]


@dataclass(frozen=True)
class Mark:
    """One bar or point. `said` is told where it is pointed at, `href` is where it leads."""

    label: str
    value: float | None
    said: str = ""
    href: str = ""
    tone: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """Marks of one colour under one name. `dash` sets lines apart for those who see no colours."""

    marks: Sequence[Mark]
    name: str = ""
    tone: str = "one"
    dash: str = "solid"


def plain(text: str) -> str:
    """`text` to the letter, as Plotly shows it."""
    return escape(text, quote=False)


def short(text: str) -> str:
    """`text` as the label of a bar."""
    return plain(text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…")


def bars(series: Sequence[Series], *, upright: bool = False, axis: dict[str, Any] | None = None) -> dict[str, Any]:
    """Bars in one order of labels, each made of the series' parts; of one without a name, of its mark alone.

    Upright, or lying with the first at the top, for labels that are words.
    """
    labels, values = ("x", "y") if upright else ("y", "x")
    data = [
        {
            "type": "bar",
            "orientation": "v" if upright else "h",
            "name": plain(one.name),
            labels: list(range(len(one.marks))),
            values: [mark.value for mark in one.marks],
            **_hover(one.marks),
            "meta": _tones(one.marks, tone=one.tone),
        }
        for one in series
    ]
    marks = series[0].marks if series else ()
    layout = {
        "barmode": "stack",
        "showlegend": any(one.name for one in series),
        # So wide that a bar takes at most this part of the chart: one alone would fill it.
        "bargap": round(max(0.35, 1 - (0.16 if upright else 0.12) * len(marks)), 2),
        f"{labels}axis": {**_labels(marks), **({} if upright else {"autorange": "reversed"})},
        f"{values}axis": {"rangemode": "tozero", **(axis or {})},
    }
    return {"data": data, "layout": layout}


def lines(series: Sequence[Series], *, axis: dict[str, Any] | None = None) -> Any:
    """Lines over time; a mark's label is its date. A gap stays a gap."""
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": plain(one.name),
            "x": [mark.label for mark in one.marks],
            "y": [mark.value for mark in one.marks],
            "line": {"width": 2, "dash": one.dash},
            "marker": {"size": 6},
            "connectgaps": False,
            **_hover(one.marks),
            "meta": {"tone": one.tone},
        }
        for one in series
    ]
    layout = {
        "showlegend": len(series) > 1,
        "hovermode": "x unified",
        "xaxis": {"type": "date", "tickformatstops": DATES, "hoverformat": "%Y-%m-%d"},
        "yaxis": {"rangemode": "tozero", **(axis or {})},
    }
    return {"data": data, "layout": layout}


def dots(marks: Sequence[Mark], *, axis: dict[str, Any] | None = None) -> dict[str, Any]:
    """One dot for each mark, with its interval lying across; the first at the top."""
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [mark.value or 0.0 for mark in marks],
        "y": list(range(len(marks))),
        "marker": {"size": 9},
        "error_x": whiskers([(mark.low or 0.0, mark.value or 0.0, mark.high or 0.0) for mark in marks]),
        **_hover(marks),
        "meta": _tones(marks),
    }
    labels = {**_labels(marks), "range": [len(marks) - 0.5, -0.5]}
    return {"data": [trace], "layout": {"yaxis": labels, "xaxis": {"zeroline": True, **(axis or {})}}}


def whiskers(bounds: Iterable[tuple[float, float, float]]) -> dict[str, Any]:
    """The intervals around values: of each its low end, the value, its high end."""
    reach = [(max(0.0, high - at), max(0.0, at - low)) for low, at, high in bounds]
    above, below = [up for up, _down in reach], [down for _up, down in reach]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below}


def share_axis(values: Iterable[float | None], title: str = "") -> dict[str, Any]:
    """An axis of shares in percent, in tenths around these values; where it leaves something out, its title says so."""
    known = [value for value in values if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    tenths = [max(0, math.floor(low * 10 - AROUND)), min(10, math.ceil(high * 10 + AROUND))]
    # Few tenths would make much of little.
    while tenths[1] - tenths[0] < FEWEST_TENTHS:
        tenths[0], tenths[1] = max(0, tenths[0] - 1), min(10, tenths[1] + 1)
    first, last = (tenth / 10 for tenth in tenths)
    if tenths != [0, 10]:
        told = _("%(first)s–%(last)s %% shown") % {"first": tenths[0] * 10, "last": tenths[1] * 10}
        title = f"{title} ({told})" if title else told
    edge = (last - first) / 50
    return {
        "range": [first - (edge if first else 0), last + edge],
        "tickformat": ".0%",
        **({"title": {"text": plain(title)}} if title else {}),
    }


def count_axis(title: str, marks: Sequence[Mark]) -> dict[str, Any]:
    """An axis of whole things. Of few it names each: Plotly else puts marks between them, which read 0, 1, 1, 2, 2."""
    is_few = all((mark.value or 0) <= FEW_COUNTED for mark in marks)
    return titled(title, tickformat=",d", **({"dtick": 1} if is_few else {}))


def titled(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": plain(title)}, **more}


def _hover(marks: Sequence[Mark]) -> dict[str, Any]:
    return {
        "hovertext": [plain(mark.said or mark.label) for mark in marks],
        "hoverinfo": "text",
        "customdata": [mark.href for mark in marks],
    }


def _tones(marks: Sequence[Mark], *, tone: str = "one") -> dict[str, Any]:
    if any(mark.tone for mark in marks):
        return {"tones": [mark.tone or tone for mark in marks]}
    return {"tone": tone}


def _labels(marks: Sequence[Mark]) -> dict[str, Any]:
    """Labels by place: two that read alike stay two bars, and none is taken for a number or a date."""
    return ticks([short(mark.label) for mark in marks])


def ticks(words: Sequence[str]) -> dict[str, Any]:
    """An axis with these words at its places 0, 1, 2 …"""
    places = list(range(len(words)))
    return {"tickmode": "array", "tickvals": places, "ticktext": words, "showgrid": False, "zeroline": False}


# Charts as pages show them: a Plotly figure, a table of the same figures, and where each bar leads.

# For `csp_override` of a page with charts: Plotly writes style attributes. Scripts stay as strict as everywhere.
CHARTS_POLICY: dict[str, Any] = {**settings.SECURE_CSP, "style-src": [CSP.SELF, CSP.UNSAFE_INLINE]}


# As JSON escapes: as HTML ones, each quotation mark of the JSON would take six characters.
ATTRIBUTE_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "'&<>"}


@dataclass(frozen=True)
class Cell:
    """One cell of the table beside a chart, with the address of what is behind it."""

    text: str
    href: str = ""


@dataclass(frozen=True)
class Chart:
    """`figure` is `{data, layout}` as Plotly reads it, without colours of its own: the page's theme gives them.

    A trace names its colour in `meta` (see static/js/charts.js): `tone` for all of it, `tones` for each point, `scale`
    for a heat map. A point of `data` whose `customdata` is an address leads there, as a cell of the table does. Without
    `rows` there is nothing to draw, and `empty` says what would fill it. The first `words` columns of the table are
    words, the others numbers.
    """

    name: str
    title: str
    hint: str = ""
    figure: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    empty: str = ""
    words: int = 1
    is_wide: bool = False

    @property
    def lone(self) -> list[tuple[str, Cell]]:
        """What one row says, by its columns, where that is all there is: a single point is no chart."""
        return list(zip(self.columns, self.rows[0], strict=True)) if len(self.rows) == 1 else []

    @property
    def figure_json(self) -> SafeString:
        """The figure for an attribute in single quotes. `customdata` are places among the links of the table."""
        links = [cell.href for row in self.rows for cell in row if cell.href]
        places = {href: place for place, href in enumerate(links)}

        def placed(leads: Any) -> Any:
            return [placed(one) for one in leads] if isinstance(leads, list) else places.get(leads)

        data = [
            trace | {"customdata": placed(trace["customdata"])} if "customdata" in trace else trace
            for trace in self.figure["data"]
        ]
        text = json.dumps(self.figure | {"data": data}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return mark_safe(text.translate(ATTRIBUTE_ESCAPES))  # noqa: S308 - nothing in it ends the attribute


# Plotly's script as a static file: that of the installed package, at an address that changes with its version.

register = Library()
FILE = "plotly.min.js"


@cache
def folder() -> str:
    return f"plotly-{version('plotly')}"


@cache
def _storage() -> FileSystemStorage:
    # The package is found and not imported: its import takes seconds, and nothing of it is needed here.
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package plotly, which has the script of the charts, is not installed")
    storage = FileSystemStorage(location=Path(spec.origin).parent / "package_data")
    storage.prefix = folder()  # type: ignore[attr-defined]  # read by Django and whitenoise
    return storage


class PlotlyFinder(BaseFinder):
    """Finds the one file and nothing else of the package's folder."""

    def find(self, path: str, find_all: bool = False) -> Any:
        if path != f"{folder()}/{FILE}":
            return []
        found = _storage().path(FILE)
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        yield FILE, _storage()


@register.simple_tag
def plotly_script() -> str:
    """The address of the script."""
    return static(f"{folder()}/{FILE}")
