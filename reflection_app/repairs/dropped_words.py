"""Why something was left out, in words: the registry's sentence with its parameters as people read them."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from django.utils import translation

from reflection_app.core.registry import look_of
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.web.template_filters import duration, money, percent, thousands

SHARES = frozenset({"worth", "least"})
AMOUNTS = frozenset({"cost_usd", "left_usd", "most_usd"})
COUNTS = frozenset({"tokens", "left_tokens", "runs"})
TIMES = frozenset({"seconds", "left_seconds"})


def why_dropped(dropped: Dropped) -> str:
    """In the reader's language; what was kept without a code, as it was kept."""
    return words_of_code(dropped.code, dropped.parameters) if dropped.code else dropped.why


def why_dropped_in_english(dropped: Dropped) -> str:
    """As programs are told it, whatever the reader's language."""
    with translation.override("en"):
        return why_dropped(dropped)


def words_of_code(code: DropCode, parameters: Mapping[str, str | int | float]) -> str:
    sentence = str(look_of(code.value, "dropped").words)
    try:
        return sentence % {name: _written(name, value) for name, value in parameters.items()}
    except KeyError:
        # A person edited the journal in a fork, or the code had other parameters when it was kept.
        return sentence


def _written(name: str, value: str | float) -> str:
    try:
        if name in SHARES:
            return percent(float(value))
        if name in AMOUNTS:
            return money(Decimal(str(value)))
        if name in COUNTS:
            return thousands(int(value))
        if name in TIMES:
            return duration(float(value))
    except (ValueError, InvalidOperation):
        pass
    return str(value)
