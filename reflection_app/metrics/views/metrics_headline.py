"""Figures as cards and lines of a table: the number, its interval, and the change against the period before."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from reflection_app.metrics.intervals import Interval, difference
from reflection_app.metrics.values import Figure, Unit
from reflection_app.metrics.views.metrics_words import FIGURES, Words, figure_words, interval_words

HEADLINE = (
    "success_rate_with_reflection",
    "success_rate_without_reflection",
    "improvement_rate",
    "avg_iterations_to_success",
    "avg_latency_per_iteration_ms",
    "cost_usd_per_success",
)
COMPLETENESS = ("found_incomplete", "supplements_per_task", "exec_used", "exec_success_rate")
ALL = (
    *("runs", "success_rate", "success_on_first_try", "reflection_enabled_tasks"),
    *("success_rate_with_reflection", "success_rate_without_reflection", "improvement_rate"),
    *("reflection_effectiveness", "over_correction_rate"),
    *("avg_iterations_per_task", "avg_iterations_to_success", "total_reasoning_attempts"),
    *("avg_latency_per_iteration_ms", "avg_tokens_per_reflection", "tokens", "cost_usd", "cost_usd_per_success"),
    *("found_incomplete", "supplements_per_task", "exec_used", "exec_attempted", "exec_succeeded"),
    "exec_success_rate",
)
# A change of a mean has no interval here: below the first it is not worth an arrow, below the second no judgement.
LEAST_RELATIVE_CHANGE = 0.005
LEAST_TO_JUDGE = 0.1


@dataclass(frozen=True)
class Change:
    """`words` say how much and in which direction. `verdict` is good, bad or plain: plain, too, within chance."""

    words: str
    direction: str
    verdict: str
    note: str = ""


@dataclass(frozen=True)
class Shown:
    """One figure. `href` leads to the runs that it was computed over."""

    name: str
    label: str
    meaning: str
    value: str
    interval: str
    of: str
    change: Change | None
    href: str = ""


def shown_figures(
    names: Iterable[str], figures: Mapping[str, Figure], before: Mapping[str, Figure], *, hrefs: Mapping[str, str]
) -> list[Shown]:
    """Those of `names` that there are, in this order."""
    return [_shown(figures[name], before.get(name), href=hrefs.get(name, "")) for name in names if name in figures]


def _shown(figure: Figure, before: Figure | None, *, href: str) -> Shown:
    words = FIGURES.get(figure.name) or Words(figure.name.replace("_", " "), "")
    return Shown(
        name=figure.name,
        label=str(words.label),
        meaning=str(words.meaning),
        value=figure_words(figure),
        interval=interval_words(figure),
        of=f"{figure.of:,}",
        change=change(figure, before, better=words.better),
        href=href if _leads_on(figure) else "",
    )


def _leads_on(figure: Figure) -> bool:
    """Whether there are runs behind it: a share of 0 has those it is a share of, a count or cost of 0 has none."""
    counted = figure.unit in {Unit.USD, Unit.COUNT, Unit.TOKENS}
    return figure.value is not None and bool(figure.of) and not (counted and not figure.value)


def change(figure: Figure, before: Figure | None, *, better: str) -> Change | None:
    """Against the period before, or None where one of the two has no number."""
    if before is None or figure.value is None or before.value is None or figure.is_at_least or before.is_at_least:
        return None
    if figure.unit is Unit.SHARE:
        return _change_of_share(figure, before, better=better)
    if not before.value:
        return None
    relative = figure.value / before.value - 1
    if abs(relative) < LEAST_RELATIVE_CHANGE:
        return Change(words=_("as before"), direction="", verdict="plain")
    direction = "up" if relative > 0 else "down"
    sign = "+" if relative > 0 else "−"
    written = f"{sign}{abs(relative) * 100:,.0f} %"
    verdict = _verdict(direction, better=better) if abs(relative) >= LEAST_TO_JUDGE else "plain"
    return Change(words=written, direction=direction, verdict=verdict)


def _change_of_share(figure: Figure, before: Figure, *, better: str) -> Change:
    assert figure.value is not None
    assert before.value is not None
    points = (figure.value - before.value) * 100
    if round(abs(points), 1) == 0:
        return Change(words=_("as before"), direction="", verdict="plain")
    direction = "up" if points > 0 else "down"
    rounded = f"{abs(points):.0f}" if abs(points) >= 1 else f"{abs(points):.1f}"
    words = _("%(points)s points") % {"points": ("+" if points > 0 else "−") + rounded}
    between = _between(figure, before)
    if between is None:
        return Change(words=words, direction=direction, verdict="plain")
    note = _("95 %% interval of the change: %(low)s to %(high)s points") % {
        "low": _signed(between.low),
        "high": _signed(between.high),
    }
    if between.has_zero:
        return Change(words=words, direction=direction, verdict="plain", note=_("may be chance") + " · " + note)
    return Change(words=words, direction=direction, verdict=_verdict(direction, better=better), note=note)


def _between(figure: Figure, before: Figure) -> Interval | None:
    bounds = [
        Interval(one.value, one.low, one.high)
        for one in (figure, before)
        if one.value is not None and one.low is not None and one.high is not None
    ]
    return difference(bounds[0], bounds[1]) if len(bounds) == 2 else None


def _signed(share: float) -> str:
    points = round(share * 100)
    return f"+{points}" if points > 0 else f"−{-points}" if points < 0 else "0"


def _verdict(direction: str, *, better: str) -> str:
    if not better:
        return "plain"
    return "good" if direction == better else "bad"
