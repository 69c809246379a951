"""The audit trail: who did what to what, found by the address alone; for admins, who are told of it whoever acted."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, cast
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, QueryDict
from django.views.decorators.http import require_safe

from reflection_app.core.audit import AuditEntry
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import storable
from reflection_app.teams.audit_trail import AuditFilter, entries_for, is_hidden
from reflection_app.teams.pages.audit_changes import Changes, changes_between
from reflection_app.teams.pages.audit_export import MEDIA_TYPES, as_file
from reflection_app.teams.pages.audit_links import Key, links_of
from reflection_app.teams.pages.audit_words import TARGETS, WORDS, target_words, words_of
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import list_response, page_before

LONGEST = {"who": 200, "action": 60, "target": 60, "q": 200}
# Who is offered as a filter: those of the newest entries.
LOOKED_AT = 1_000


@dataclass(frozen=True)
class Asked:
    """What of the address is understood; anything else in it is left aside."""

    filter: AuditFilter
    texts: dict[str, str]

    @property
    def any(self) -> bool:
        return bool(self.texts)

    @property
    def query(self) -> str:
        return urlencode(self.texts)


@dataclass(frozen=True)
class Line:
    """An entry as the page shows it."""

    entry: AuditEntry
    link: str
    is_hidden: bool
    changes: Changes

    @property
    def words(self) -> str:
        return words_of(self.entry.action)

    @property
    def target(self) -> str:
        return target_words(self.entry.target)


@project_page(Permission.READ_AUDIT)
@require_safe
def audit_page(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    asked = read_filters(request.GET)
    rows = entries_for(project, asked.filter, reader=request.place.actor)
    page = page_before(rows, request, among=AuditEntry.objects.filter(project=project))
    links = links_of(page.rows, project=project)
    context: dict[str, Any] = {
        "lines": [_line(entry, links) for entry in page.rows],
        "older": page.last.pk if page.last else None,
        "before": request.GET.get("before", ""),
        "filters": asked,
        "typed": asked.texts,
        "people": _people(project),
        "actions": sorted(WORDS.items(), key=lambda item: str(item[1])),
        "targets": sorted(TARGETS.items(), key=lambda item: str(item[1])),
    }
    return list_response(request, "audit/list.html", context)


@project_page(Permission.READ_AUDIT)
@require_safe
def audit_export(request: DeskRequest, form: str) -> HttpResponse:
    """All entries that the filters leave, as a file."""
    if form not in MEDIA_TYPES:
        raise Http404("no such form")
    asked = read_filters(request.GET)
    entries = entries_for(request.place.project, asked.filter, reader=request.place.actor)
    # Django's types make no one class of both kinds of answers, but serves either.
    return cast("HttpResponse", as_file(request, entries, form=form))


def read_filters(data: QueryDict) -> Asked:
    texts = {name: storable(data.get(name, "").strip())[:longest] for name, longest in LONGEST.items()}
    target_id, since, until = id_from(data.get("id", "")), _day(data.get("since", "")), _day(data.get("until", ""))
    texts |= {"id": str(target_id or ""), "since": str(since or ""), "until": str(until or "")}
    asked = AuditFilter(
        who=texts["who"],
        action=texts["action"],
        target=texts["target"],
        q=texts["q"],
        target_id=target_id,
        since=_midnight(since) if since else None,
        until=_midnight(until + timedelta(days=1)) if until else None,
    )
    return Asked(asked, {name: text for name, text in texts.items() if text})


def _day(text: str) -> date | None:
    """The day; None for no day of a calendar, and for those at its ends, which have no day before or after."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1970 <= day.year <= 9000 else None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _line(entry: AuditEntry, links: dict[Key, str]) -> Line:
    hidden = is_hidden(entry)
    changes = Changes((), 0) if hidden else changes_between(entry.before, entry.after)
    return Line(entry, links.get((entry.target, entry.target_id), ""), hidden, changes)


def _people(project: Project) -> list[str]:
    newest = AuditEntry.objects.filter(project=project).order_by("-created_at", "-id").values("pk")[:LOOKED_AT]
    labels = AuditEntry.objects.filter(pk__in=newest).order_by("actor_label").values_list("actor_label", flat=True)
    return list(labels.distinct())
