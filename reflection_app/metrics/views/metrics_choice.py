"""Which runs the metrics are of, as an address says it, and the addresses of other choices."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Mode
from reflection_app.metrics.values import LONGEST_DAYS, Chosen, ChosenHour

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
        kept = {"period", "since", "until"}
        return urlencode({name: value for name, value in self.fields.items() if name in kept})


def as_fields(chosen: Chosen) -> dict[str, str]:
    """The choice as the fields of an address, with its days."""
    given = {"since": chosen.since.isoformat(), "until": chosen.until.isoformat()}
    given |= {name: value for name in FILTERS if (value := getattr(chosen, name))}
    hour = {"hour": str(chosen.hour)} if isinstance(chosen, ChosenHour) else {}
    return given | ({"scripted": "1"} if chosen.scripted else {}) | hour


def of_hour(asked: Asked, hour: str) -> Asked:
    """The choice of that hour alone where the address names one of a single day, else as it is."""
    is_hour = hour.isascii() and hour.isdigit() and len(hour) <= 2 and int(hour) < 24
    if not is_hour or asked.chosen.days != 1 or asked.errors:
        return asked
    return replace(asked, chosen=ChosenHour(**vars(asked.chosen), hour=int(hour)))


def today() -> date:
    return datetime.now(UTC).date()


def read_asked(query: Mapping[str, str]) -> Asked:
    """The choice of an address. Days that are no days leave the usual period, and are told."""
    period = query.get("period", "")
    if period not in PERIODS and (period == CUSTOM or query.get("since") or query.get("until")):
        period = CUSTOM
    elif period not in PERIODS:
        period = USUAL
    chosen = _of_days(PERIODS.get(period, PERIODS[USUAL])[0])
    errors: dict[str, str] = {}
    if period == CUSTOM:
        named, errors = _named_days(query, otherwise=chosen)
        period = USUAL if errors else CUSTOM
        chosen = chosen if errors else named
    return Asked(chosen=_narrowed(chosen, query), period=period, errors=errors)


def _of_days(days: int) -> Chosen:
    until = today()
    return Chosen(since=until - timedelta(days=days - 1), until=until)


def _narrowed(chosen: Chosen, query: Mapping[str, str]) -> Chosen:
    agent, mode, model, kind = (storable(query.get(name, "").strip())[:LONGEST_TEXT] for name in FILTERS)
    known = mode if mode in {one.value for one in Mode} else ""
    scripted = query.get("scripted") == "1"
    return replace(chosen, agent=agent, mode=known, model=model, kind=kind, scripted=scripted)


def _named_days(query: Mapping[str, str], *, otherwise: Chosen) -> tuple[Chosen, dict[str, str]]:
    """From the day named to the day named; one alone is that day to now, or the usual period up to it."""
    until, until_error = _day(query.get("until", ""), otherwise=otherwise.until)
    since, since_error = _day(query.get("since", ""), otherwise=min(otherwise.since, until))
    errors = {name: error for name, error in (("since", since_error), ("until", until_error)) if error}
    if not errors and since > until:
        errors["since"] = _("The first day is after the last one.")
    if not errors and (until - since).days >= LONGEST_DAYS:
        errors["since"] = _("At most %(most)s days at once.") % {"most": LONGEST_DAYS}
    # The period before it must be in the calendar, too.
    if not errors and since.toordinal() <= LONGEST_DAYS:
        errors["since"] = _("This is no day of a calendar that the desk has.")
    return Chosen(since=since, until=until), errors


def _day(text: str, *, otherwise: date) -> tuple[date, str]:
    if not text:
        return otherwise, ""
    try:
        return date.fromisoformat(text), ""
    except ValueError:
        return otherwise, _("Write a day like 2026-01-31.")
