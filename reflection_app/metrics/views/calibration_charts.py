"""A critic's confusion matrix and reliability curve, as charts with their tables."""

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.metrics.calibration import VERDICTS, Calibration, MatrixCell
from reflection_app.metrics.reliability import Bin
from reflection_app.metrics.views.calibration_words import interval_text, verdict_words
from reflection_app.metrics.views.chart_figures import plain, share_axis, titled
from reflection_app.metrics.views.charts import Cell, Chart
from reflection_app.metrics.views.metrics_words import share_words

# So that the darkest cell stays light enough for its words.
PALE = 2.2
type Address = Callable[[str, str], str]


def matrix_chart(found: Calibration, *, address: Address) -> Chart:
    """What the critic said against what people said; each cell leads to what is behind it."""
    cells = {(cell.critic, cell.people): cell for cell in found.matrix}
    return Chart(
        name="confusion",
        title=_("What the critic said, and what people said"),
        hint=_(
            "Each cell: the share of all the critic's verdicts, and how many were compared. On the diagonal they agree."
        ),
        figure=_matrix_figure(cells, address=address),
        columns=(
            _("The critic said"),
            *(_("People: %(verdict)s") % {"verdict": verdict_words(one)} for one in VERDICTS),
        ),
        rows=tuple(
            (Cell(verdict_words(said)), *(_matrix_cell(cells[said, people], address) for people in VERDICTS))
            for said in VERDICTS
        ),
    )


def _matrix_figure(cells: dict[tuple[str, str], MatrixCell], *, address: Address) -> dict[str, Any]:
    shares = [[cells[said, people].share for people in VERDICTS] for said in VERDICTS]
    told = [[_told(cells[said, people]) for people in VERDICTS] for said in VERDICTS]
    trace = {
        "type": "heatmap",
        "z": shares,
        "zmin": 0,
        "zmax": max(max(row) for row in shares) * PALE or 1,
        "text": [[f"{share_words(cell.share)}<br>{cell.seen:,}" for cell in row] for row in _rows(cells)],
        "texttemplate": "%{text}",
        "hovertext": told,
        "hoverinfo": "text",
        "customdata": [
            [address(cell.critic, cell.people) if cell.seen else "" for cell in row] for row in _rows(cells)
        ],
        "meta": {"scale": True},
    }
    ticks = {"tickmode": "array", "tickvals": [0, 1, 2], "ticktext": [verdict_words(one) for one in VERDICTS]}
    layout = {
        "xaxis": titled(_("People"), **ticks, side="top", showgrid=False, zeroline=False),
        "yaxis": titled(_("The critic"), **ticks, autorange="reversed", showgrid=False, zeroline=False),
    }
    return {"data": [trace], "layout": layout}


def _rows(cells: dict[tuple[str, str], MatrixCell]) -> list[list[MatrixCell]]:
    return [[cells[said, people] for people in VERDICTS] for said in VERDICTS]


def _told(cell: MatrixCell) -> str:
    said = _("The critic said %(critic)s, people said %(people)s")
    words = {"critic": verdict_words(cell.critic), "people": verdict_words(cell.people)}
    return plain(f"{said % words}: {share_words(cell.share)}, {_compared(cell.seen)}")


def _compared(count: int) -> str:
    return ngettext("%(count)s compared", "%(count)s compared", count) % {"count": f"{count:,}"}


def _matrix_cell(cell: MatrixCell, address: Address) -> Cell:
    return Cell(f"{share_words(cell.share)} ({cell.seen:,})", address(cell.critic, cell.people) if cell.seen else "")


def reliability_chart(found: Calibration) -> Chart:
    """How often the critic was right against how sure it was; on the diagonal it is as often right as it says."""
    bins = found.reliability.bins
    return Chart(
        name="reliability",
        title=_("Is it right as often as it says?"),
        hint=_(
            "Each dot: verdicts of about the same confidence. Below the line, the critic is surer than it should be."
        ),
        figure=_curve(bins),
        columns=(_("Confidence"), _("Compared"), _("Mean confidence"), _("People agreed"), _("Interval of 95 %")),
        rows=tuple(_bin_row(one) for one in bins),
        empty=_("The critic gave no confidence with these verdicts."),
    )


def _bin_row(one: Bin) -> tuple[Cell, ...]:
    return (
        Cell(_range_words(one)),
        Cell(f"{one.seen:,}"),
        Cell(share_words(one.confidence)),
        Cell(share_words(one.right.estimate)),
        Cell(interval_text(one.right)),
    )


def _range_words(one: Bin) -> str:
    return f"{one.low * 100:.0f}–{one.high * 100:.0f} %"


def _curve(bins: tuple[Bin, ...]) -> dict[str, Any]:
    ideal = {
        "type": "scatter",
        "mode": "lines",
        "x": [0, 1],
        "y": [0, 1],
        "line": {"width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
        "name": _("As often as it says"),
        "meta": {"tone": "plain"},
    }
    right = [one.right for one in bins]
    dots = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [one.confidence for one in bins],
        "y": [one.estimate for one in right],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [one.high - one.estimate for one in right],
            "arrayminus": [one.estimate - one.low for one in right],
        },
        "line": {"width": 2},
        "marker": {"size": 9},
        "hovertext": [
            plain(f"{share_words(one.confidence)} → {share_words(one.right.estimate)}, {_compared(one.seen)}")
            for one in bins
        ],
        "hoverinfo": "text",
        "name": _("The critic"),
        "meta": {"tone": "one"},
    }
    layout = {
        "xaxis": share_axis(_("Confidence of the critic")),
        "yaxis": share_axis(_("People agreed")),
        "showlegend": True,
    }
    return {"data": [ideal, dots], "layout": layout}
