"""The charts of the review desk: how long the queue is, how soon people decide, and how often they say otherwise."""

from collections.abc import Callable, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.metrics.calibration import VERDICTS, Bin, Calibration, MatrixCell
from reflection_app.metrics.definitions import Point, Unit
from reflection_app.metrics.review_figures import Overruled, ReviewFigures
from reflection_app.metrics.views.charts import (
    Cell,
    Chart,
    Mark,
    Series,
    bars,
    count_axis,
    dots,
    lines,
    plain,
    share_axis,
    titled,
)
from reflection_app.metrics.views.choice import Links
from reflection_app.metrics.views.families import AGES
from reflection_app.metrics.views.run_charts import when
from reflection_app.metrics.views.words import (
    interval_text,
    interval_words,
    number_words,
    share_words,
    span_words,
    verdict_words,
)

HOUR = 3600
MOST_NAMES = 12
LATE = {"1d": "warn", "3d": "warn", "1w": "bad", "longer": "bad"}


def ages_chart(found: ReviewFigures, links: Links) -> Chart:
    """How long what is open now has waited."""
    marks = [
        Mark(
            label=(label := str(AGES.get(bar.key, bar.key))),
            value=bar.count,
            said=f"{label}: {bar.count:,}",
            href=links.runs("ages", bar.key) if bar.count else "",
            tone=LATE.get(bar.key, "one"),
        )
        for bar in found.ages
    ]
    is_empty = not any(mark.value for mark in marks)
    return Chart(
        name="ages",
        title=_("Waiting now, by age"),
        hint=_("Open reviews as they are at this moment, whatever the period."),
        figure=bars(marks, axis=count_axis(_("reviews"), marks)),
        columns=(_("Waiting time"), _("Reviews")),
        rows=() if is_empty else tuple((Cell(mark.label, mark.href), Cell(f"{mark.value:,}")) for mark in marks),
        empty=_("No review is waiting."),
    )


def decision_time_chart(found: ReviewFigures, links: Links) -> Chart:
    """How soon people decided, piece by piece of the period."""
    names = (
        ("time_to_decision_p50_s", _("Median"), "one", "solid"),
        ("time_to_decision_p95_s", _("95th percentile"), "three", "dash"),
    )
    pieces = list(links.of_points(found.points))
    series = [
        Series(words, tone, [_time(point, at, name=name, words=words) for point, at in pieces], dash=dash)
        for name, words, tone, dash in names
    ]
    rows = tuple(
        (
            Cell(when(point)),
            *(Cell(number_words(_value(point, name), Unit.SECONDS)) for name, *_rest in names),
            Cell(number_words(_value(point, "decided"), Unit.COUNT), at.runs("decided")),
        )
        for point, at in pieces
        if _value(point, "decided")
    )
    return Chart(
        name="decision-time",
        title=_("Time to decision"),
        hint=_("From when a review was opened to when somebody decided it."),
        figure=lines(series, axis=titled(_("hours"))),
        columns=(_("From"), _("Median"), _("95th percentile"), _("Decided")),
        rows=rows,
        empty=_("Nobody has decided a review in this time."),
    )


def overrule_chart(found: ReviewFigures, links: Links) -> Chart:
    """How often people said otherwise than the verdict, over time."""
    name, words = "overrule_rate", _("Overruled")
    pieces = list(links.of_points(found.points))
    marks = [
        Mark(
            label=point.start,
            value=_value(point, name),
            said=f"{words}: {number_words(_value(point, name), Unit.SHARE)}",
            href=at.runs(name, "yes") if _value(point, name) is not None else "",
        )
        for point, at in pieces
    ]
    return Chart(
        name="overruled",
        title=_("Overrule rate over time"),
        hint=_("The share of decided reviews where people said otherwise than the verdict."),
        figure=lines([Series(words, "one", marks)], axis=share_axis()),
        columns=(_("From"), words, _("Decided")),
        rows=tuple(
            (
                Cell(when(point)),
                Cell(number_words(_value(point, name), Unit.SHARE), at.runs(name, "yes")),
                Cell(number_words(_value(point, "decided"), Unit.COUNT), at.runs("decided")),
            )
            for point, at in pieces
            if _value(point, "decided")
        ),
        empty=_("Nobody has decided a review in this time."),
    )


def by_name_chart(
    found: Sequence[Overruled], links: Links, *, name: str, title: str, hint: str, column: str, empty: str = ""
) -> Chart:
    """The share that was overruled, one line for each name, with its 95 % interval."""
    shown = sorted(found, key=lambda one: -one.decided)[:MOST_NAMES]
    marks = [
        Mark(
            label=one.name,
            value=one.share.value,
            said=f"{one.name}: {_share(one)} · {one.overruled:,}/{one.decided:,}",
            href=links.runs(name, one.name),
            low=one.share.low,
            high=one.share.high,
        )
        for one in shown
    ]
    rows = tuple(
        (
            Cell(one.name, links.runs(name, one.name)),
            Cell(f"{one.decided:,}"),
            Cell(f"{one.overruled:,}"),
            Cell(share_words(one.share.value or 0)),
            Cell(interval_words(one.share)),
        )
        for one in shown
    )
    return Chart(
        name=name,
        title=title,
        hint=hint,
        figure=dots(marks, axis={**share_axis(), "range": [-0.02, 1.02]}),
        columns=(column, _("Decided"), _("Overruled"), _("Share"), _("Interval of 95 %")),
        rows=rows,
        empty=empty or _("Nobody has decided a review in this time."),
    )


def _share(one: Overruled) -> str:
    between = interval_words(one.share)
    return share_words(one.share.value or 0) + (f" ({between})" if between else "")


def _value(point: Point, name: str) -> float | None:
    figure = point.figures.get(name)
    return figure.value if figure else None


def _time(point: Point, links: Links, *, name: str, words: str) -> Mark:
    seconds = _value(point, name)
    if seconds is None:
        return Mark(label=point.start, value=None)
    return Mark(
        label=point.start, value=seconds / HOUR, said=f"{words}: {span_words(seconds)}", href=links.runs("decided")
    )


# A critic's confusion matrix and reliability curve, as charts with their tables.

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
