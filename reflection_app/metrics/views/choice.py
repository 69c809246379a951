"""Which runs the metrics are of, as an address says it, and the addresses of other choices."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from reflection_app.loops.storable import agent_name, storable
from reflection_app.loops.task_spec import Mode
from reflection_app.metrics.calibration import VERDICTS, Critic, CriticCalibration
from reflection_app.metrics.critics import CalibrationFigures
from reflection_app.metrics.definitions import LONGEST_DAYS, Chosen, Point
from reflection_app.metrics.views.families import kind_words
from reflection_app.metrics.views.words import mode_words

PERIODS: dict[str, tuple[int, str | Promise]] = {
    "24h": (2, gettext_lazy("Since yesterday")),
    "7d": (7, gettext_lazy("7 days")),
    "30d": (30, gettext_lazy("30 days")),
    "90d": (90, gettext_lazy("90 days")),
}
USUAL = "30d"
CUSTOM = "custom"
LONGEST_TEXT = 200
FILTERS = ("agent", "mode", "model", "kind")
OF_PERIOD = frozenset({"period", "since", "until"})


@dataclass(frozen=True)
class Asked:
    """The choice, and what of the address could not be understood, by field."""

    chosen: Chosen
    period: str
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_narrowed(self) -> bool:
        return any(getattr(self.chosen, name) for name in FILTERS) or self.chosen.scripted

    @property
    def query(self) -> str:
        """The address of the same choice; a preset goes on with the calendar, days that were named stay."""
        return urlencode(self.fields)

    @property
    def fields(self) -> dict[str, str]:
        if self.period == CUSTOM:
            return {"period": CUSTOM} | as_fields(self.chosen)
        given = {"period": self.period} if self.period != USUAL else {}
        return given | {name: value for name, value in as_fields(self.chosen).items() if name not in {"since", "until"}}

    @property
    def unfiltered(self) -> str:
        """The address of the same period with all runs."""
        return urlencode({name: value for name, value in self.fields.items() if name in OF_PERIOD})


def as_fields(chosen: Chosen) -> dict[str, str]:
    """The choice as the fields of an address, with its days."""
    given = {"since": chosen.since.isoformat(), "until": chosen.until.isoformat()}
    given |= {name: value for name in FILTERS if (value := getattr(chosen, name))}
    return given | ({"scripted": "1"} if chosen.scripted else {})


def today() -> date:
    return datetime.now(UTC).date()


def read_asked(query: Mapping[str, str]) -> Asked:
    """The choice of an address. Days that are no days leave the usual period, and are told."""
    period = query.get("period", "")
    if period not in PERIODS and (period == CUSTOM or query.get("since") or query.get("until")):
        period = CUSTOM
    elif period not in PERIODS:
        period = USUAL
    days = PERIODS.get(period, PERIODS[USUAL])[0]
    until = today()
    chosen = Chosen(since=until - timedelta(days=days - 1), until=until)
    errors: dict[str, str] = {}
    if period == CUSTOM:
        # From the day named to the day named; one alone is that day to now, or the usual period up to it.
        until, until_error = _day(query.get("until", ""), otherwise=chosen.until)
        since, since_error = _day(query.get("since", ""), otherwise=min(chosen.since, until))
        errors = {name: error for name, error in (("since", since_error), ("until", until_error)) if error}
        if not errors and since > until:
            errors["since"] = _("The start date is after the end date.")
        if not errors and (until - since).days >= LONGEST_DAYS:
            errors["since"] = _("A period has at most %(most)s days.") % {"most": LONGEST_DAYS}
        # The period before it must be in the calendar, too.
        if not errors and since.toordinal() <= LONGEST_DAYS:
            errors["since"] = _("The start date is too early.")
        period = USUAL if errors else CUSTOM
        chosen = chosen if errors else Chosen(since=since, until=until)
    agent, mode, model, kind = (storable(query.get(name, "").strip())[:LONGEST_TEXT] for name in FILTERS)
    narrowed = replace(
        chosen,
        agent=agent_name(agent),
        mode=mode if mode in {one.value for one in Mode} else "",
        model=model,
        kind=kind,
        scripted=query.get("scripted") == "1",
    )
    return Asked(chosen=narrowed, period=period, errors=errors)


def _day(text: str, *, otherwise: date) -> tuple[date, str]:
    if not text:
        return otherwise, ""
    try:
        return date.fromisoformat(text), ""
    except ValueError:
        return otherwise, _("Enter a date such as 2026-01-31.")


# The filters above the metrics, as the pages of metrics show them.


def filter_context(asked: Asked, choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What metrics/_filters.html and metrics/_head.html show."""
    in_period = {name: text for name, text in asked.fields.items() if name in OF_PERIOD}
    others = {name: text for name, text in asked.fields.items() if name not in OF_PERIOD}
    filters = (
        ("agent", _("Agent"), _("Any agent"), _options(choices, "agents", asked.chosen.agent)),
        ("mode", _("Mode"), _("Any mode"), _options(choices, "modes", asked.chosen.mode)),
        ("model", _("Model"), _("Any model"), _options(choices, "models", asked.chosen.model)),
        ("kind", _("Task type"), _("Any type"), _options(choices, "kinds", asked.chosen.kind)),
    )
    return {
        "asked": asked,
        "filters": [
            {"name": name, "label": label, "anything": anything, "value": getattr(asked.chosen, name), "options": found}
            for name, label, anything, found in filters
        ],
        "periods": [
            {"words": words, "query": urlencode({"period": name} | others), "is_chosen": asked.period == name}
            for name, (_days, words) in PERIODS.items()
        ],
        "period_fields": in_period,
        "filter_fields": others,
        "is_custom": asked.period == CUSTOM or bool(asked.errors),
    }


def _options(choices: Mapping[str, Sequence[str]], family: str, chosen: str) -> list[tuple[str, str]]:
    """What there is to choose from with its words, and what is chosen, even if no run has had it."""
    found = [value for value in choices.get(family, ()) if value]
    if chosen and chosen not in found:
        found.append(chosen)
    if family == "modes":
        order = [mode.value for mode in Mode]
        found.sort(key=lambda one: order.index(one) if one in order else len(order))
    words = {"modes": mode_words, "kinds": kind_words}.get(family, str)
    return [(value, words(value)) for value in found]


# The addresses of the runs behind a figure or a bar.


@dataclass(frozen=True)
class Links:
    slug: str
    chosen: Chosen

    def runs(self, figure: str, key: str = "") -> str:
        """The runs behind the figure, or behind the bar `key` of a family of bars."""
        given = {"figure": figure} | ({"key": key} if key else {})
        return f"{self._page}?{urlencode(given)}&{self._chosen}"

    # A page has hundreds of links.
    @cached_property
    def _page(self) -> str:
        return reverse("runs", kwargs={"slug": self.slug})

    @cached_property
    def _chosen(self) -> str:
        return urlencode(as_fields(self.chosen))

    def of_points(self, points: Sequence[Point]) -> Iterator[tuple[Point, "Links"]]:
        """Each piece of the period with the links of its own days."""
        starts = [date.fromisoformat(point.start) for point in points]
        ends = [start - timedelta(days=1) for start in starts[1:]] + [self.chosen.until]
        for point, since, until in zip(points, starts, ends, strict=True):
            yield point, replace(self, chosen=replace(self.chosen, since=since, until=until))


# Which critic the page of calibration is about, as its address says it, and the addresses of others.


@dataclass(frozen=True)
class Choice:
    """`said` and `people` name a cell of the matrix, or are empty."""

    shown: CriticCalibration | None
    said: str
    people: str


def read_choice(query: Mapping[str, str], found: CalibrationFigures) -> Choice:
    """The critic that the address names, else the one of which most is known."""
    source, model, version = (storable(query.get(name, ""))[:LONGEST_TEXT] for name in ("source", "critic", "version"))
    named = (
        one
        for one in found.critics
        if (one.critic.source.value, one.critic.model, one.critic.version) == (source, model, version)
    )
    said, people = (verdict if (verdict := query.get(name, "")) in VERDICTS else "" for name in ("said", "people"))
    return Choice(next(named, found.critics[0] if found.critics else None), said, people)


def query_of(asked: Asked, critic: Critic, **more: str) -> str:
    """The address of the page about this critic, with the period as it is."""
    return urlencode(
        {**asked.fields, "source": critic.source.value, "critic": critic.model, "version": critic.version, **more}
    )
