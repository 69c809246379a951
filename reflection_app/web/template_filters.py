"""How numbers, times and icons are written, the same on every page. Built into every template (settings.TEMPLATES)."""

import json
import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.template import Context, Library
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from reflection_app.attachments.views import where_in_words
from reflection_app.core.file_places import place_in_words
from reflection_app.core.models import Project
from reflection_app.core.registry import REVIEW_SENTENCES, Look, look_of
from reflection_app.loops.hidden_characters import in_order
from reflection_app.reviews.goals import Due, question_due, review_due
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Question, Run
from reflection_app.runs.views.passages import AnyIssue, IssueShown, Passages
from reflection_app.web.labels import in_words
from reflection_app.web.pages import Page, all_pages

register = Library()
register.filter("in_words", in_words)
register.filter("in_order", in_order)
register.filter("place_in_words", place_in_words)
register.filter("where_in_file", where_in_words)

SHORT_ERROR = 160
SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
CLAUSE_END = re.compile(r":(?=\s)")
LONG_SECONDS = re.compile(r"\b(\d{1,9}\.\d{2,}) ?s\b")
MINUTE, HOUR, DAY = 60, 3600, 86_400
# Of the address of a part of a project, such as /p/team/runs/, split at its slashes.
PART = 5
PAGE, BELOW, NOT_CURRENT = (
    SafeString(' aria-current="page"'),
    SafeString(' aria-current="true"'),
    SafeString(),
)


@register.filter
def duration(seconds: float | None) -> str:
    """`0.4 s`, `12 s`, `2 min`, `3 min 5 s`, `2 h 10 min`."""
    if seconds is None:
        return "–"
    if 0 < seconds < 0.1:
        milliseconds_left = f"{seconds * 1000:.0f}" if seconds >= 0.001 else "< 1"
        return _("%(number)s ms") % {"number": milliseconds_left}
    if seconds < 9.95:
        return _("%(number)s s") % {"number": f"{seconds:.1f}"}
    whole = round(seconds)
    if whole < MINUTE:
        return _("%(number)s s") % {"number": whole}
    if whole < HOUR:
        return _two_units(_("%(number)s min"), whole // MINUTE, _("%(number)s s"), whole % MINUTE)
    return _two_units(_("%(number)s h"), whole // HOUR, _("%(number)s min"), whole % HOUR // MINUTE)


def _two_units(unit: str, many: int, smaller: str, rest: int) -> str:
    parts = [unit % {"number": many}, *([smaller % {"number": rest}] if rest else ())]
    return " ".join(parts)


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
def at_least(usd: Decimal | None) -> str:
    """`at least $1.25`, of what is known only in part; `unknown` where nothing of it is."""
    return _("at least %(money)s") % {"money": money(usd)} if usd else _("unknown")


@register.filter
def run_cost(run: Run) -> str:
    """Return the run's known cost, with a mark if parts of it are unknown."""
    if run.unmetered_calls and not run.cost_usd:
        return _("not reported")
    return at_least(run.cost_usd) if run.unpriced_calls else money(run.cost_usd)


@register.filter
def part_cost(usd: Decimal, run: Run) -> str:
    """What a part of the run cost, in words that stand by themselves beside tokens: `cost unknown`.

    At least that much, where the run has calls without a price.
    """
    if not run.unpriced_calls:
        return money(usd)
    return at_least(usd) if usd else _("cost unknown")


@register.filter
def run_tokens(run: Run) -> str:
    """Return `12,345`; `≈ 12,345` with tokens that the server counted; `at least 12,345` if an agent reported none."""
    if run.unmetered_calls and not run.total_tokens:
        return _("not reported")
    if run.unmetered_calls:
        return _("at least %(number)s") % {"number": thousands(run.total_tokens)}
    return f"≈ {thousands(run.total_tokens)}" if run.estimated_tokens else thousands(run.total_tokens)


@register.filter
def thousands(number: float | None) -> str:
    """`12,345`"""
    return "–" if number is None else f"{round(number):,}"


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
    if left_out <= 0:
        return text
    more = ngettext("(%(number)s more character)", "(%(number)s more characters)", left_out)
    return f"{text[:length]}… " + more % {"number": f"{left_out:,}"}


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
        return _("%(number)s min") % {"number": max(1, whole // MINUTE)}
    if whole < DAY:
        return _("%(number)s h") % {"number": whole // HOUR}
    return _("%(number)s d") % {"number": whole // DAY}


@register.filter
def age(when: datetime) -> str:
    """How long ago: `just now`, `5 min ago`, `3 h ago`, `2 d ago`."""
    seconds = (timezone.now() - when).total_seconds()
    return _("just now") if seconds < MINUTE else _("%(span)s ago") % {"span": _span(seconds)}


@register.filter
def time_left(when: datetime) -> str:
    """How long until: `5 min`, `less than a minute`, `no time`."""
    seconds = (when - timezone.now()).total_seconds()
    if seconds <= 0:
        return _("0 min")
    return _("less than a minute") if seconds < MINUTE else _span(seconds)


@register.filter
def time_since(when: datetime) -> str:
    """How long since: `5 min`, `less than a minute`."""
    seconds = (timezone.now() - when).total_seconds()
    return _("less than a minute") if seconds < MINUTE else _span(seconds)


@register.filter
def due(waiting: Review | Question, project: Project) -> Due | None:
    """When it is to be answered by the goals of its project; None where nothing of the kind is said."""
    now = timezone.now()
    if isinstance(waiting, Review):
        return review_due(waiting, project=project, now=now)
    return question_due(waiting, project=project, now=now)


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
    exact = when.isoformat()
    return SafeString(f'<time datetime="{exact}" title="{exact[:10]} {exact[11:19]} UTC">{age(when)}</time>')


register.filter("ago", ago)


@register.simple_tag
def fact(label: str, value: object) -> SafeString:
    """One line of a list of facts (`dl`)."""
    return format_html("<div><dt>{}</dt><dd>{}</dd></div>", label, value)


@register.inclusion_tag("_post_button.html", takes_context=True)
def post_button(
    context: Context, page: str, *ids: object, label: str, icon: str = "", look: str = "", **fields: object
) -> dict[str, object]:
    """A button that posts these fields to a page of the project."""
    address = reverse(page, args=(context["desk"].project.slug, *ids))
    given = {"address": address, "label": label, "icon_name": icon, "look": look, "fields": fields}
    return given | {"csrf_token": context.get("csrf_token")}


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str) -> SafeString:
    """A picture from templates/_icons.html. It never stands alone: a word says the same."""
    return format_html('<svg class="icon" aria-hidden="true" focusable="false"><use href="#icon-{}"></use></svg>', name)


@register.simple_tag(takes_context=True)
def numbered(context: Context, issues: Iterable[AnyIssue]) -> list[IssueShown]:
    """The issues with the numbers of the passages that they mark, where the page shows those as its `passages`."""
    passages = context.get("passages")
    return (passages if isinstance(passages, Passages) else Passages("", attempt=0)).shown(issues)


@register.filter
def look(value: str, kind: str) -> Look:
    """Words, icon and tone of a state (core/registry.py)."""
    return look_of(value, kind)


@register.filter
def words(value: str, kind: str) -> str:
    """The words of a state. Our own are put into the page as `translate` would put them, strangers' escaped."""
    found = look_of(value, kind).words
    return found if found is value else SafeString(found)


@register.filter
def why_asked(reason: str, referee: str) -> str:
    """Why a person is asked, in a sentence: that of the reason and the referee, where they have one of their own."""
    of_both = f"{reason} {referee}"
    return words(of_both if of_both in REVIEW_SENTENCES else reason, "reason_sentence")


@register.simple_tag
def badge(value: str, kind: str) -> SafeString:
    """A state in its tone, with its icon and words."""
    return _badge(value, kind, get_language())


@lru_cache(maxsize=512)
def _badge(value: str, kind: str, _language: str | None) -> SafeString:
    found = look_of(value, kind)
    return format_html('<span class="badge badge-{}">{} {}</span>', found.tone, icon(found.icon), words(value, kind))


@register.simple_tag(takes_context=True)
def aria_current(context: Context, name: str) -> SafeString:
    """Mark a tab that leads to the page `name`: as the page itself, or as the page that it stands below.

    Below the first page of a part of the project stands all of the part, so this page is marked as itself alone.
    """
    page, desk = all_pages()[name], context["desk"]
    if desk.section == name:
        return PAGE
    path = page.path(desk.project)
    return BELOW if len(path.split("/")) != PART and context["request"].path.startswith(path) else NOT_CURRENT


@register.simple_tag(takes_context=True)
def nav_current(context: Context, name: str) -> SafeString:
    """Mark an entry of the navigation that leads to the page `name`, or to the first page of the part one is in."""
    page = all_pages()[name]
    return _nav_mark(context, page, page.path(context["desk"].project))


def _nav_mark(context: Context, page: Page, path: str) -> SafeString:
    section = context["desk"].section
    if section == page.name:
        return PAGE
    here, there = context["request"].path.split("/"), path.split("/")
    is_part = here[:4] == there[:4] and len(here) >= PART and page.name != "project_overview"
    own = all_pages().get(section)
    return BELOW if is_part or (own and own.within == page.title) else NOT_CURRENT


@register.simple_tag(takes_context=True)
def nav_link(context: Context, name: str) -> SafeString:
    """Return a navigation entry, by the name of its section; nothing for a page that the member may not open."""
    page, desk = all_pages()[name], context["desk"]
    if page.permission is not None and not desk.may[page.permission]:
        return SafeString()
    path = page.path(desk.project)
    mark, picture = _nav_mark(context, page, path), icon(page.icon)
    return format_html('<li><a href="{}"{}>{} {}</a></li>', path, mark, picture, page.within or page.title)
