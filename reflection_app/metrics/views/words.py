"""What the figures of the metrics are called, how they are defined, and how their numbers are written."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from reflection_app.core.registry import look_of
from reflection_app.metrics.calibration import Calibration, Critic, JudgementSource
from reflection_app.metrics.definitions import FIGURES, Figure, Unit
from reflection_app.metrics.statistics import Interval, difference
from reflection_app.notebook.views.lift import points as points_words
from reflection_app.web.template_filters import at_least, duration, money


def share_words(share: float) -> str:
    """`82 %`, and with a digit more where a whole percent would hide that there is some, or that there is not all."""
    percent = share * 100
    digits = 1 if 0 < percent < 1 or 99 < percent < 100 else 0
    return f"{percent:.{digits}f} %"


def span_words(seconds: float) -> str:
    """A time of people: `40 s`, `3 min`, `2 h 10 min`, `3.5 d`."""
    if seconds >= 2 * 86_400:
        return _("%(number)s d") % {"number": f"{seconds / 86_400:.1f}"}
    if 0 < seconds < 1:
        return _("%(number)s s") % {"number": "< 1"}
    return duration(seconds if seconds < 3600 else round(seconds / 60) * 60)


WRITTEN: dict[Unit, Callable[[float], str]] = {
    Unit.SHARE: share_words,
    Unit.COUNT: lambda value: f"{value:,.0f}",
    Unit.TOKENS: lambda value: f"{value:,.0f}",
    Unit.MEAN: lambda value: f"{value:,.2f}",
    Unit.MS: lambda value: duration(value / 1000),
    Unit.SECONDS: span_words,
    Unit.USD: lambda value: money(Decimal(repr(value))),
}


def number_words(value: float | None, unit: Unit) -> str:
    """The number with its unit, as short as it can be read; a dash where there is none."""
    return "–" if value is None else WRITTEN[unit](value)


def figure_words(figure: Figure) -> str:
    """The same, and of money of which not all is known that it is at least so much."""
    if not figure.is_at_least:
        return number_words(figure.value, figure.unit)
    return at_least(None if figure.value is None else Decimal(repr(figure.value)))


def interval_words(figure: Figure) -> str:
    """`78–86 %`, or nothing where there is no interval."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low * 100:.0f}–{figure.high * 100:.0f} %"


def runs_words(count: int) -> str:
    return ngettext("%(count)s run", "%(count)s runs", count) % {"count": f"{count:,}"}


def mode_words(mode: str) -> str:
    return str(look_of(mode, "mode").words)


# Figures as cards and lines of a table: the number, its interval, and the change against the period before.

# A change of a mean has no interval here: below the first it is not worth an arrow, below the second no judgement.
LEAST_RELATIVE_CHANGE = 0.005
LEAST_TO_JUDGE = 0.1
# With fewer runs (or reflections, reviews …) in either period, one more or less would turn the change around.
FEWEST_COMPARED = 10


@dataclass(frozen=True)
class Change:
    """`words` say how much and in which direction. `verdict` is good, bad or plain: plain, too, within chance.

    `sizes` are how many runs (or reflections, reviews …) each period has.
    """

    words: str
    direction: str
    verdict: str
    note: str = ""
    sizes: str = ""


@dataclass(frozen=True)
class Shown:
    """One figure. `href` leads to the runs that it was computed over."""

    name: str
    label: str | Promise
    meaning: str | Promise
    value: str
    interval: str = ""
    of: str = ""
    change: Change | None = None
    href: str = ""


def shown_figures(
    names: Iterable[str],
    figures: Mapping[str, Figure],
    before: Mapping[str, Figure],
    runs_behind: Callable[[str], str],
) -> list[Shown]:
    """Those of `names` that there are, in this order; `runs_behind` gives the address of the runs behind one."""
    return [
        Shown(
            name=name,
            label=FIGURES[name].label,
            meaning=FIGURES[name].meaning,
            value=figure_words(figure),
            interval=interval_words(figure),
            of=f"{figure.of:,}",
            change=change(figure, before.get(name), better=FIGURES[name].better),
            href=runs_behind(name) if _leads_on(figure) else "",
        )
        for name in names
        if (figure := figures.get(name))
    ]


def _leads_on(figure: Figure) -> bool:
    """Whether there are runs behind it: a share of 0 has those it is a share of, a count or cost of 0 has none."""
    counted = figure.unit in {Unit.USD, Unit.COUNT, Unit.TOKENS}
    return figure.value is not None and bool(figure.of) and not (counted and not figure.value)


def change(figure: Figure, before: Figure | None, *, better: str) -> Change | None:
    """Return the change against the period before; None without a number, or with fewer than FEWEST_COMPARED in one."""
    if before is None or figure.value is None or before.value is None or figure.is_at_least or before.is_at_least:
        return None
    if min(figure.of, before.of) < FEWEST_COMPARED:
        return None
    found = _change(figure, before, better=better)
    told = {"now": f"{figure.of:,}", "before": f"{before.of:,}"}
    return replace(found, sizes=_("n = %(now)s, previously %(before)s") % told) if found else None


def _change(figure: Figure, before: Figure, *, better: str) -> Change | None:
    assert figure.value is not None
    if figure.unit is Unit.SHARE:
        return _change_of_share(figure, before, better=better)
    if not before.value:
        return None
    relative = figure.value / before.value - 1
    if abs(relative) < LEAST_RELATIVE_CHANGE:
        return Change(words=_("no change"), direction="", verdict="plain")
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
        return Change(words=_("no change"), direction="", verdict="plain")
    direction = "up" if points > 0 else "down"
    rounded = f"{abs(points):.0f}" if abs(points) >= 1 else f"{abs(points):.1f}"
    words = _("%(points)s points") % {"points": ("+" if points > 0 else "−") + rounded}
    now, then = (
        Interval(one.value or 0.0, one.low, one.high) if one.low is not None and one.high is not None else None
        for one in (figure, before)
    )
    if now is None or then is None:
        return Change(words=words, direction=direction, verdict="plain")
    between = difference(now, then)
    note = _("95 %% interval of the change: %(low)s to %(high)s points") % {
        "low": points_words(between.low),
        "high": points_words(between.high),
    }
    if between.has_zero:
        return Change(words=words, direction=direction, verdict="plain", note=_("not significant yet") + " · " + note)
    return Change(words=words, direction=direction, verdict=_verdict(direction, better=better), note=note)


def _verdict(direction: str, *, better: str) -> str:
    return "plain" if not better else "good" if direction == better else "bad"


# How the figures of calibration are named and written.


SOURCES = {JudgementSource.DESK: gettext_lazy("Reflection Desk"), JudgementSource.IMPORTED: gettext_lazy("Imported")}


def verdict_words(verdict: str) -> str:
    return str(look_of(verdict, "verdict").words)


def critic_words(critic: Critic) -> str:
    """The critic's name; its model is not always known."""
    return critic.model or _("unknown model")


def prompt_words(critic: Critic, seen: Mapping[str, datetime]) -> str:
    """`v2, 2026-11-03`: which of the desk's prompts it was, and since when; of one from elsewhere what was told."""
    if critic.source is JudgementSource.IMPORTED or critic.version not in seen:
        return critic.version
    return f"v{list(seen).index(critic.version) + 1}, {seen[critic.version]:%Y-%m-%d}"


def interval_text(interval: Interval | None) -> str:
    """`78–86 %`, with a digit more where it is narrow."""
    if interval is None:
        return ""
    digits = 1 if interval.high - interval.low < 0.02 else 0
    return f"{interval.low * 100:.{digits}f}–{interval.high * 100:.{digits}f} %"


type Written = tuple[str, str]


def share_text(interval: Interval | None) -> Written:
    return ("–", "") if interval is None else (share_words(interval.estimate), interval_text(interval))


def kappa_text(interval: Interval | None) -> Written:
    return _with_bounds(interval, "{:.2f}")


def points_text(interval: Interval | None) -> Written:
    """A difference of shares in points of a percent, with its sign."""
    return _with_bounds(interval, "{:+.0f} %", times=100)


def _with_bounds(interval: Interval | None, form: str, *, times: int = 1) -> Written:
    if interval is None:
        return "–", ""
    at, low, high = (
        form.format(bound * times).replace("-", "−") for bound in (interval.estimate, interval.low, interval.high)
    )
    return at, _("%(low)s to %(high)s") % {"low": low, "high": high}


# By where a critic's calibration has them, the most telling first; each with what writes it and its interval.
CRITIC_FIGURES: Mapping[str, tuple[str | Promise, str | Promise, Callable[[Any], Written]]] = {
    "agreed": (
        gettext_lazy("Agreement"),
        gettext_lazy("Share of critic verdicts that match the human verdict."),
        share_text,
    ),
    "kappa": (
        gettext_lazy("Cohen's κ"),
        gettext_lazy("Agreement beyond chance: 1 is full agreement, 0 equals chance."),
        kappa_text,
    ),
    "precision": (
        gettext_lazy("Pass precision"),
        gettext_lazy("Share of critic passes that people also passed."),
        share_text,
    ),
    "recall": (
        gettext_lazy("Pass recall"),
        gettext_lazy("Share of human passes that the critic also passed."),
        share_text,
    ),
    "false_pass": (
        gettext_lazy("False pass"),
        gettext_lazy("Share of items sent back by people that the critic passed."),
        share_text,
    ),
    "false_fail": (
        gettext_lazy("False reject"),
        gettext_lazy("Share of items passed by people that the critic sent back."),
        share_text,
    ),
    "reliability.error": (
        gettext_lazy("Calibration error"),
        gettext_lazy("Mean gap between confidence and accuracy. Chance alone makes it slightly above 0."),
        lambda error: ("–" if error is None else share_words(error), ""),
    ),
    "reliability.overconfidence": (
        gettext_lazy("Overconfidence"),
        gettext_lazy("Mean confidence minus accuracy. Above 0, the critic is overconfident."),
        points_text,
    ),
}


def written(name: str, found: Calibration) -> Written:
    """One of them of this critic."""
    return CRITIC_FIGURES[name][2](attrgetter(name)(found))


def headline(found: Calibration) -> list[Shown]:
    """The figures of one critic as cards; without those of confidence where it gave none."""
    return [
        Shown(name, label, meaning, *written(name, found))
        for name, (label, meaning, _write) in CRITIC_FIGURES.items()
        if found.reliability.error is not None or not name.startswith("reliability")
    ]
