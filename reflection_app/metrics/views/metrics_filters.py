"""The filters above the metrics, as the pages of metrics show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from reflection_app.loops.task_spec import Mode
from reflection_app.metrics.views.metrics_choice import CUSTOM, PERIODS, Asked
from reflection_app.metrics.views.metrics_words import mode_words
from reflection_app.web.labels import in_words


@dataclass(frozen=True)
class Filter:
    """One list to choose from; `options` are values with their words."""

    name: str
    label: str
    anything: str
    value: str
    options: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Period:
    name: str
    words: str
    query: str
    is_chosen: bool


def filter_context(asked: Asked, choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What metrics/_filters.html and metrics/_head.html show."""
    chosen = asked.chosen
    filters = (
        Filter("agent", _("Agent"), _("Any agent"), chosen.agent, _options(choices, "agents", chosen.agent)),
        Filter("mode", _("Mode"), _("Any mode"), chosen.mode, _modes(choices, chosen.mode)),
        Filter("model", _("Model"), _("Any model"), chosen.model, _options(choices, "models", chosen.model)),
        Filter("kind", _("Kind of task"), _("Any kind"), chosen.kind, _kinds(choices, chosen.kind)),
    )
    return {
        "asked": asked,
        "filters": filters,
        "periods": _periods(asked),
        "period_fields": {name: text for name, text in asked.fields.items() if name in {"period", "since", "until"}},
        "filter_fields": {
            name: text for name, text in asked.fields.items() if name not in {"period", "since", "until"}
        },
        "is_custom": asked.period == CUSTOM or bool(asked.errors),
    }


def _periods(asked: Asked) -> list[Period]:
    others = {name: text for name, text in asked.fields.items() if name not in {"period", "since", "until"}}
    return [
        Period(name, str(words), urlencode({"period": name} | others), is_chosen=asked.period == name)
        for name, (_days, words) in PERIODS.items()
    ]


def _options(choices: Mapping[str, Sequence[str]], name: str, chosen: str) -> list[tuple[str, str]]:
    """What there is to choose from, with what is chosen, even if no run has had it."""
    there = [value for value in choices.get(name, ()) if value]
    return [(value, value) for value in (there if not chosen or chosen in there else [*there, chosen])]


def _modes(choices: Mapping[str, Sequence[str]], chosen: str) -> list[tuple[str, str]]:
    order = [mode.value for mode in Mode]
    found = [value for value, _words in _options(choices, "modes", chosen)]
    return [
        (mode, mode_words(mode)) for mode in sorted(found, key=lambda one: order.index(one) if one in order else 99)
    ]


def _kinds(choices: Mapping[str, Sequence[str]], chosen: str) -> list[tuple[str, str]]:
    return [(value, in_words(value.replace("_", " "))) for value, _words in _options(choices, "kinds", chosen)]
