"""The charts of the review desk: how long the queue is, how soon people decide, and how often they say otherwise."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from reflection_app.metrics.review_figures import Overruled, ReviewFigures
from reflection_app.metrics.values import Point, Unit
from reflection_app.metrics.views.chart_figures import Mark, Series, bars, count_axis, dots, lines, share_axis, titled
from reflection_app.metrics.views.charts import Cell, Chart
from reflection_app.metrics.views.metrics_charts import when
from reflection_app.metrics.views.metrics_families import AGES
from reflection_app.metrics.views.metrics_links import Links
from reflection_app.metrics.views.metrics_words import interval_words, number_words, share_words, span_words

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
        columns=(_("Has waited"), _("Reviews")),
        rows=() if is_empty else tuple((Cell(mark.label, mark.href), Cell(f"{mark.value:,}")) for mark in marks),
        empty=_("No review is waiting."),
    )


def decision_time_chart(found: ReviewFigures, links: Links) -> Chart:
    """How soon people decided, piece by piece of the period."""
    names = (
        ("time_to_decision_p50_s", _("Half within"), "one", "solid"),
        ("time_to_decision_p95_s", _("95 % within"), "three", "dash"),
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
        columns=(_("From"), _("Half within"), _("95 % within"), _("Decided")),
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
        title=_("Overruled over time"),
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
