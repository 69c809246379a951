"""How numbers, times and icons are written, the same on every page. Built into every template (settings.TEMPLATES)."""

import json
import re
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.template import Library
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = Library()

SHORT_ERROR = 160
SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
CLAUSE_END = re.compile(r":(?=\s)")
LONG_SECONDS = re.compile(r"\b(\d{1,9}\.\d{2,}) ?s\b")
MINUTE, HOUR, DAY = 60, 3600, 86_400


@register.filter
def duration(seconds: float | None) -> str:
    """`0.4 s`, `12 s`, `2 min`, `3 min 5 s`, `2 h 10 min`."""
    if seconds is None:
        return "–"
    if 0 < seconds < 0.1:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "< 1 ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return _two_units(whole // MINUTE, "min", whole % MINUTE, "s")
    return _two_units(whole // HOUR, "h", whole % HOUR // MINUTE, "min")


def _two_units(many: int, unit: str, rest: int, smaller: str) -> str:
    return f"{many} {unit} {rest} {smaller}" if rest else f"{many} {unit}"


@register.filter
def milliseconds(value: float) -> str:
    return duration(value / 1000)


@register.filter
def money(usd: Decimal | None) -> str:
    """`$1.25`, or as many digits as a fraction of a cent needs."""
    if not usd:
        return "$0"
    if usd >= 1:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if usd >= Decimal("0.0001") else f"${usd:.6f}"


@register.filter
def thousands(number: int | None) -> str:
    """`12,345`"""
    return "–" if number is None else f"{number:,}"


@register.filter
def up_to_999(number: int) -> str:
    """`12`, or `999+` for more than anybody needs to know."""
    return str(number) if number <= 999 else "999+"


@register.filter
def percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.0f} %"


@register.filter
def pretty_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def is_list(value: Any) -> bool:
    return isinstance(value, list)


@register.filter
def shortened(text: str, length: int) -> str:
    """The beginning of `text`, with how much was left out."""
    left_out = len(text) - length
    return text if left_out <= 0 else f"{text[:length]}… ({left_out:,} more character{'' if left_out == 1 else 's'})"


@register.filter
def plain_seconds(text: str) -> str:
    """`text` with its long fractions of seconds rounded: `0.4 s` for `0.41372 s`."""
    return LONG_SECONDS.sub(lambda found: f"{float(found[1]):.1f} s", text)


@register.filter
def first_sentence(text: str) -> tuple[str, str]:
    """The first sentence, or as much of it as is bearable, and the rest."""
    text = text.strip()
    if len(text) <= SHORT_ERROR:
        return text, ""
    end = SENTENCE_END.search(text, 0, SHORT_ERROR) or CLAUSE_END.search(text, 0, SHORT_ERROR)
    at = end.end() if end else text.rfind(" ", 0, SHORT_ERROR)
    at = at if at > 0 else SHORT_ERROR
    return text[:at].strip(), text[at:].strip()


def _span(seconds: float) -> str:
    whole = int(seconds)
    if whole < HOUR:
        return f"{max(1, whole // MINUTE)} min"
    if whole < DAY:
        return f"{whole // HOUR} h"
    return f"{whole // DAY} d"


@register.filter
def age(when: datetime) -> str:
    """How long ago: `just now`, `5 min ago`, `3 h ago`, `2 d ago`."""
    seconds = (timezone.now() - when).total_seconds()
    return "just now" if seconds < MINUTE else f"{_span(seconds)} ago"


@register.filter
def time_left(when: datetime) -> str:
    """How long until: `5 min`, `less than a minute`, `no time`."""
    seconds = (when - timezone.now()).total_seconds()
    if seconds <= 0:
        return "no time"
    return "less than a minute" if seconds < MINUTE else _span(seconds)


@register.filter
def seconds_left(when: datetime | None) -> int:
    """How many seconds until then, for a page that counts on by itself: its own clock may be wrong."""
    return max(0, int((when - timezone.now()).total_seconds())) if when else 0


@register.simple_tag
def lease_s() -> float:
    """How long a review is held without a heartbeat."""
    return float(settings.REVIEW_LEASE_S)


@register.simple_tag
def ago(when: datetime) -> SafeString:
    """A `<time>` that says how long ago, and when exactly."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', when.isoformat(), f"{when:%Y-%m-%d %H:%M:%S} UTC", age(when)
    )


@register.simple_tag
def icon(name: str) -> SafeString:
    """A picture from templates/_icons.html. It never stands alone: a word says the same."""
    return format_html('<svg class="icon" aria-hidden="true" focusable="false"><use href="#icon-{}"></use></svg>', name)
