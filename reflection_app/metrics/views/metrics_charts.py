"""The charts of runs: whether reflection helps, how the desk works, and what that takes."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from reflection_app.metrics.values import Bar, Figure, Metrics, Point
from reflection_app.metrics.views.chart_figures import Mark, Series, bars, count_axis, lines, lying_bars, share_axis
from reflection_app.metrics.views.charts import Cell, Chart
from reflection_app.metrics.views.metrics_families import Family
from reflection_app.metrics.views.metrics_links import Links
from reflection_app.metrics.views.metrics_words import figure_words, interval_words, runs_words, share_words

MOST_BARS = 12


def success_chart(metrics: Metrics, links: Links) -> Chart:
    """Success with and without reflection, piece by piece of the period."""
    return _shares_chart(
        metrics,
        links,
        names=(
            ("success_rate_with_reflection", _("With reflection"), "one", "solid"),
            ("success_rate_without_reflection", _("Without it"), "three", "dash"),
        ),
        name="success",
        title=_("Success, with reflection and without"),
        hint=_(
            "Of the runs that allowed a second attempt: those that succeeded in the end, and those whose first did."
        ),
        empty=_("No run that allowed a second attempt has ended in this time."),
    )


def completeness_chart(metrics: Metrics, links: Links) -> Chart:
    """How often checks found something missing, and how often what was done about it worked."""
    return _shares_chart(
        metrics,
        links,
        names=(
            ("found_incomplete", _("Found incomplete"), "three", "solid"),
            ("exec_success_rate", _("Steps that worked"), "two", "dash"),
        ),
        name="completeness",
        title=_("Found incomplete, and what supplements did"),
        hint=_("Of the checks that could tell; and of the steps of plans that carried supplements out."),
        empty=_("No completeness check was made in this time."),
    )


def _shares_chart(
    metrics: Metrics,
    links: Links,
    *,
    names: tuple[tuple[str, str, str, str], ...],
    name: str,
    title: str,
    hint: str,
    empty: str,
) -> Chart:
    """Shares over time: for each its figure, its words, its tone and its dash."""
    pieces = list(links.of_points(metrics.points))
    series = [
        Series(words, tone, [_point(point, at, name=figure, words=words) for point, at in pieces], dash=dash)
        for figure, words, tone, dash in names
    ]
    rows = tuple(
        (
            Cell(when(point)),
            *(_share_cell(point.figures.get(figure), at.runs(figure)) for figure, *_rest in names),
            _of(point, names[0][0]),
        )
        for point, at in pieces
        if any(_value(point, figure) is not None for figure, *_rest in names)
    )
    return Chart(
        name=name,
        title=title,
        hint=hint,
        figure=lines(series, axis=share_axis()),
        columns=(_("From"), *(words for _figure, words, *_rest in names), _("Counted over")),
        rows=rows,
        empty=empty,
        is_wide=True,
    )


def bar_chart(
    family: Family, found: Sequence[Bar], links: Links, *, upright: bool = False, of: float | None = None
) -> Chart:
    """One bar for each key; of many, the most common. `of` is what all bars are shares of, where they overlap."""
    total = of or sum(bar.count for bar in found)
    counted = family.counted or _("runs")
    shown = list(found) if upright else sorted(found, key=lambda bar: -bar.count)[:MOST_BARS]
    marks = [
        Mark(
            label=(label := family.words(bar.key)),
            value=bar.count,
            said=f"{label}: {bar.count:,} {counted} ({share_words(bar.count / total)})" if total else label,
            href=links.runs(family.name, bar.key) if bar.count else "",
            tone=family.tone(bar.key),
        )
        for bar in shown
    ]
    rows = tuple(
        (Cell(mark.label, mark.href), Cell(f"{bar.count:,}"), Cell(share_words(bar.count / total)))
        for mark, bar in zip(marks, shown, strict=True)
        if total
    )
    draw = bars if upright else lying_bars
    return Chart(
        name=family.name.replace("_", "-"),
        title=family.title,
        hint=family.hint,
        figure=draw(marks, axis=count_axis(counted, marks)),
        columns=(family.column, _("Number"), _("Share")),
        rows=rows,
        empty=family.empty or _("Nothing to show in this time."),
    )


def when(point: Point) -> str:
    """`2026-11-22`, or with its hour `2026-11-22 13:00`."""
    return point.start[:16].replace("T", " ")


def _value(point: Point, name: str) -> float | None:
    figure = point.figures.get(name)
    return figure.value if figure else None


def _of(point: Point, name: str) -> Cell:
    figure = point.figures.get(name)
    return Cell(f"{figure.of:,}" if figure else "–")


def _share_cell(figure: Figure | None, href: str) -> Cell:
    if figure is None or figure.value is None:
        return Cell("–")
    return Cell(figure_words(figure), href)


def _point(point: Point, links: Links, *, name: str, words: str) -> Mark:
    figure = point.figures.get(name)
    if figure is None or figure.value is None:
        return Mark(label=point.start, value=None)
    between = f" ({interval_words(figure)})" if figure.low is not None else ""
    return Mark(
        label=point.start,
        value=figure.value,
        said=f"{words}: {figure_words(figure)}{between} · {runs_words(figure.of)}",
        href=links.runs(name),
    )
