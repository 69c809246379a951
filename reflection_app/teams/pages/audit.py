"""The audit trail: who did what to what, found by the address alone; for admins, who are told of it whoever acted."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.db.models import Manager, Q, QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from notebook_app.public import entries_by_id
from reflection_app.alerts.models import Channel
from reflection_app.comparisons.models import ComparisonSet, PairJudgement
from reflection_app.core.audit import AuditEntry
from reflection_app.core.ids import id_from
from reflection_app.core.models import ApiKey, Project
from reflection_app.core.permissions import Permission
from reflection_app.core.streamed import as_file, csv_lines
from reflection_app.repairs.models import Report, Ticket, ToolFailure
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Question, Run
from reflection_app.sessions.models import Transcript
from reflection_app.teams.audit import AuditFilter, entries_for
from reflection_app.teams.models import Secret, Tool, Webhook
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import Filters, id_of, list_page, text_of

# The audit trail as a file, streamed page by page so that no query and no memory is held for all of it.

PAGE = 500
COLUMNS = ("id", "at", "who", "key_made_by", "action", "target", "target_id", "before", "after", "is_hidden", "address")
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


def as_audit_file(request: DeskRequest, entries: QuerySet[AuditEntry], *, form: str) -> StreamingHttpResponse:
    """The entries as `csv` or `jsonl`, to be kept."""
    pages = ([_facts(row) for row in rows] for rows in _pages(entries))
    lines: Iterator[str]
    if form == "csv":
        lines = chain([csv_lines([COLUMNS])], (csv_lines(facts.values() for facts in page) for page in pages))
    else:
        lines = ("".join(json.dumps(facts, ensure_ascii=False) + "\n" for facts in page) for page in pages)
    name = f"audit-{request.place.project.slug}.{form}"
    return as_file(request, lines, name=name, media_type=MEDIA_TYPES[form])


def _pages(entries: QuerySet[AuditEntry]) -> Iterator[list[AuditEntry]]:
    """The entries newest first; each page is asked for after the last row of the one before."""
    rows = list(entries[:PAGE])
    while rows:
        yield rows
        at, pk = rows[-1].created_at, rows[-1].pk
        rows = list(entries.filter(created_at__lte=at).filter(Q(created_at__lt=at) | Q(pk__lt=pk))[:PAGE])


def _facts(entry: AuditEntry) -> dict[str, object]:
    return {
        "id": str(entry.pk),
        "at": entry.created_at.isoformat(),
        "who": entry.actor_label,
        "key_made_by": entry.made_by,
        "action": entry.action,
        "target": entry.target,
        "target_id": str(entry.target_id),
        "before": {} if entry.is_hidden else entry.before,
        "after": {} if entry.is_hidden else entry.after,
        "is_hidden": entry.is_hidden,
        "address": entry.address or "",
    }


# Where the things that audit entries are about can be looked at, as long as they exist.

# Of each kind: its rows, and the page with the column that its address names. Tasks have no page but their runs'.
PAGES: dict[str, tuple[Manager[Any], str, str]] = {
    "run": (Run.objects, "run", "pk"),
    "review": (Review.objects, "review", "pk"),
    "question": (Question.objects, "question", "pk"),
    "ticket": (Ticket.objects, "ticket", "ticket_id"),
    "report": (Report.objects, "report", "reflection_id"),
    "transcript": (Transcript.objects, "session", "pk"),
    "tool": (Tool.objects, "tool", "pk"),
    "toolfailure": (ToolFailure.objects, "tool_failure", "pk"),
    "webhook": (Webhook.objects, "webhook", "pk"),
    "channel": (Channel.objects, "channel", "pk"),
}
LISTS: dict[str, tuple[Manager[Any], str]] = {
    "apikey": (ApiKey.objects, "settings"),
    "comparisonset": (ComparisonSet.objects, "comparisons"),
    "pairjudgement": (PairJudgement.objects, "comparisons"),
    "secret": (Secret.objects, "tools"),
}
type Key = tuple[str, UUID]


def links_of(entries: Iterable[AuditEntry], *, project: Project) -> dict[Key, str]:
    """The address of each entry's target by kind and id; those that are gone have none. One query per kind."""
    wanted: dict[str, set[UUID]] = {}
    for entry in entries:
        wanted.setdefault(entry.target, set()).add(entry.target_id)
    links: dict[Key, str] = {}
    slug = project.slug
    for target, ids in wanted.items():
        found: dict[UUID, str] = {}
        if target == "project":
            found = {project.pk: reverse("settings", args=(slug,))} if project.pk in ids else {}
        elif target == "task":
            newest = Run.objects.filter(project=project, task__in=ids).order_by("created_at").values_list("task", "pk")
            found = {task: reverse("run", args=(slug, run)) for task, run in newest}
        elif target == "entry":
            found = {pk: reverse("entry", args=(slug, pk)) for pk in entries_by_id(project.pk, list(ids))}
        elif target in LISTS:
            manager, page = LISTS[target]
            found = dict.fromkeys(_rows(manager, ids, project, "pk"), reverse(page, args=(slug,)))
        elif target in PAGES:
            manager, page, column = PAGES[target]
            rows = _rows(manager, ids, project, column)
            found = {pk: reverse(page, args=(slug, named)) for pk, named in rows.items()}
        links |= {(target, pk): address for pk, address in found.items()}
    return links


def _rows(manager: Manager[Any], ids: set[UUID], project: Project, column: str) -> dict[UUID, Any]:
    return dict(manager.filter(project=project, pk__in=ids).values_list("pk", column))


# What an entry of the audit trail changed, field by field, in bounded space whatever was recorded.

MOST_CHANGES = 40
LONGEST_VALUE = 300
DEEPEST = 4


class FieldChange(NamedTuple):
    """One field before and after, None where it was not there."""

    name: str
    before: str | None
    after: str | None


class Changes(NamedTuple):
    fields: tuple[FieldChange, ...]
    left_out: int


def changes_between(before: dict[str, Any], after: dict[str, Any]) -> Changes:
    """The fields that differ. Where nothing was recorded before, all that was recorded after."""
    olds, news = dict(_flat(before)), dict(_flat(after))
    names = [name for name in dict.fromkeys((*olds, *news)) if olds.get(name) != news.get(name)]
    fields = tuple(FieldChange(name, _shown(olds.get(name)), _shown(news.get(name))) for name in names[:MOST_CHANGES])
    return Changes(fields, len(names) - len(fields))


def _flat(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every value inside by its path, as text; what lies too deep as JSON."""
    inner: list[tuple[str, Any]] = []
    if depth < DEEPEST and isinstance(value, dict):
        inner = [(str(name), item) for name, item in value.items()]
    elif depth < DEEPEST and isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        inner = [(str(number), item) for number, item in enumerate(value, start=1)]
    if not inner:
        if path:
            yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return
    for name, item in inner:
        yield from _flat(item, f"{path}.{name}" if path else name, depth + 1)


def _shown(text: str | None) -> str | None:
    if text is None or len(text) <= LONGEST_VALUE:
        return text
    return text[:LONGEST_VALUE] + "…"


# What each action of the audit trail is called on pages.

WORDS: dict[str, Promise] = {
    "api_key.created": _("created an API key"),
    "api_key.revoked": _("revoked an API key"),
    "attempt.handed_in": _("submitted an attempt"),
    "attachment.uploaded": _("uploaded a file"),
    "bulk.begun": _("started a bulk decision"),
    "bulk.done": _("completed a bulk decision"),
    "bulk.undo_begun": _("started undoing a bulk decision"),
    "bulk.undone": _("undid a bulk decision"),
    "comment.added": _("commented"),
    "comment.deleted": _("deleted a comment"),
    "comment.edited": _("edited a comment"),
    "comment.taken_back": _("deleted a comment"),
    "comparison_set.closed": _("closed a comparison set"),
    "comparison_set.created": _("created a comparison set"),
    "comparison_set.reopened": _("reopened a comparison set"),
    "dataset.exported": _("downloaded a dataset"),
    "entries.curated": _("curated entries in bulk"),
    "entries.undone": _("undid a bulk change of entries"),
    "entry.absorbed": _("merged another entry into an entry"),
    "entry.approved": _("approved an entry"),
    "entry.cleared": _("cleared the safety flags of an entry"),
    "entry.edited": _("edited an entry"),
    "entry.merged": _("merged an entry into another"),
    "entry.owned": _("changed the owner of an entry"),
    "entry.proposed": _("proposed an entry"),
    "entry.rejected": _("rejected an entry"),
    "entry.reopened": _("reopened an entry"),
    "entry.restored": _("restored an earlier version of an entry"),
    "entry.retired": _("retired an entry"),
    "entry.split": _("split an entry"),
    "entry.superseded": _("replaced an entry with another"),
    "entry.tagged": _("tagged an entry"),
    "entry.undone": _("undid a change of an entry"),
    "conflict.reopened": _("undid the resolution of a conflict"),
    "conflict.settled": _("resolved a conflict between two entries"),
    "conflict.suggestion_asked_for": _("requested a merge suggestion"),
    "import.begun": _("started importing entries"),
    "import.previewed": _("read files for an import"),
    "instruction.decided": _("decided on an instruction"),
    "invitation.accepted": _("accepted an invitation"),
    "invitation.created": _("created an invitation"),
    "demo.loaded": _("loaded the demo"),
    "invitation.revoked": _("revoked an invitation"),
    "member.disabled": _("disabled a member's account"),
    "member.enabled": _("enabled a member's account"),
    "member.added": _("became a member"),
    "member.confirmed": _("confirmed a member invited by an API key"),
    "member.left": _("left the project"),
    "member.removed": _("removed a member"),
    "member.role_changed": _("changed a member's role"),
    "judgements.imported": _("imported labels"),
    "judgements.deleted": _("deleted imported labels"),
    "notebook.outcome": _("reported outcomes of lessons"),
    "panel.disputed": _("reviewer opinions differ"),
    "panel.settled": _("reviewer disagreement was resolved"),
    "own_work.changed": _("changed the self-review setting"),
    "pair.claimed": _("claimed a pair"),
    "pair.judged": _("judged a pair"),
    "pair.judgement_undone": _("undid the judgment of a pair"),
    "pair.released": _("released a pair"),
    "pair.skipped": _("skipped a pair"),
    "pair.unskipped": _("reclaimed a skipped pair"),
    "pairs.handed_in": _("submitted pairs to compare"),
    "policy.changed": _("changed the review policy"),
    "rubric.changed": _("changed the rubric"),
    "guidelines.changed": _("changed the guidelines"),
    "dashboard.changed": _("changed a shared dashboard"),
    "dashboard.deleted": _("deleted a shared dashboard"),
    "project.created": _("created the project"),
    "project.deleted": _("deleted the project"),
    "project.exported": _("exported the project"),
    "project.imported": _("created the project from a file"),
    "project.taken_away": _("removed the data of the deleted project"),
    "question.answered": _("answered a question"),
    "queue.changed": _("changed a queue"),
    "queue.created": _("added a queue"),
    "queue.deleted": _("deleted a queue"),
    "queue.ordered": _("reordered the queues"),
    "report.class_confirmed": _("confirmed an error class"),
    "report.class_corrected": _("corrected an error class"),
    "retention.carried_out": _("deleted expired data"),
    "retention.ordered": _("requested deletion of expired data"),
    "review.asked_for": _("requested a review"),
    "review.assigned": _("assigned a review"),
    "review.claimed": _("claimed a review"),
    "review.decided": _("decided a review"),
    "review.opinion": _("submitted a blind review"),
    "review.released": _("released a review"),
    "review.skipped": _("skipped a review"),
    "review.undone": _("undid a decision"),
    "review.unskipped": _("undid skipping a review"),
    "run.cancelled": _("cancelled a run"),
    "run.claimed_by_agent": _("claimed a run for an agent"),
    "run.forked": _("forked a run"),
    "run.redone": _("requested a redo of a run"),
    "run.released_by_agent": _("released a run"),
    "secret.created": _("added a secret"),
    "secret.deleted": _("deleted a secret"),
    "secret.replaced": _("replaced a secret"),
    "settings.changed": _("changed the settings"),
    "task.changed": _("changed a task"),
    "task.deleted": _("deleted a task"),
    "task.submitted": _("created a task"),
    "ticket.closed": _("closed a ticket"),
    "ticket.started": _("started a ticket"),
    "tool.changed": _("changed a tool"),
    "tool.created": _("added a tool"),
    "tool.deleted": _("deleted a tool"),
    "tool.imported": _("imported a tool"),
    "tool.tried": _("tested a tool"),
    "tool_call.allowed": _("called a tool that needs no approval"),
    "tool_call.asked": _("requested a tool call"),
    "tool_failure.diagnosis_judged": _("judged a diagnosis"),
    "tool_failure.outcome": _("reported the outcome of a fix"),
    "tool_failure.reported": _("reported a failed call"),
    "transcript.ended": _("ended a session"),
    "transcript.opened": _("opened a session"),
    "transcript.turns_added": _("added turns to a session"),
    "channel.changed": _("changed a channel"),
    "channel.created": _("added a channel"),
    "channel.deleted": _("deleted a channel"),
    "channel.switched_off": _("disabled a channel"),
    "channel.tested": _("tested a channel"),
    "view.changed": _("changed a saved view"),
    "view.deleted": _("deleted a saved view"),
    "view.saved": _("saved a view"),
    "webhook.changed": _("changed a webhook"),
    "webhook.created": _("added a webhook"),
    "webhook.deleted": _("deleted a webhook"),
    "webhook.paused": _("paused a webhook"),
    "webhook.redelivered": _("resent a webhook message"),
    "webhook.resumed": _("resumed a webhook"),
    "webhook.rotated": _("rotated a webhook's secret"),
    "webhook.switched_off": _("disabled a webhook"),
    "webhook.tested": _("tested a webhook"),
    # No longer written; the trails of older projects have them.
    "check_suggestion.decided": _("decided on a suggested check rate"),
    "comment.changed": _("changed a comment"),
    "example.dropped": _("removed a review from the examples"),
    "example.kept": _("saved a review as an example"),
    "member.skills_changed": _("changed a member's skills"),
    "referee.measured": _("saved an evaluator measurement"),
    "review.handed_over": _("reassigned a review"),
}
TARGETS: dict[str, Promise] = {
    "agentinstruction": _("instruction"),
    "apikey": _("API key"),
    "bulkdecision": _("bulk decision"),
    "comment": _("comment"),
    "comparisonset": _("comparison set"),
    "conflict": _("entry conflict"),
    "dashboard": _("dashboard"),
    "entry": _("entry"),
    "entrybulk": _("bulk entry change"),
    "guidelinesversion": _("guidelines"),
    "import": _("entry import"),
    "invitation": _("invitation"),
    "judgementimport": _("label import"),
    "pairjudgement": _("answer comparison"),
    "panel": _("panel verdict"),
    "project": _("project"),
    "question": _("question"),
    "reviewexample": _("example"),
    "reviewqueue": _("queue"),
    "rubricversion": _("rubric"),
    "savedview": _("saved view"),
    "report": _("report"),
    "retentionrun": _("retention"),
    "review": _("review"),
    "run": _("run"),
    "secret": _("secret"),
    "task": _("task"),
    "ticket": _("ticket"),
    "tool": _("tool"),
    "toolfailure": _("failed call"),
    "transcript": _("session"),
    "channel": _("channel"),
    "webhook": _("webhook"),
}


def words_of(action: str) -> str:
    """The action in words; its own name where it has none any more."""
    return str(WORDS.get(action, action))


# Who is offered as a filter: those of the newest entries.
LOOKED_AT = 1_000


class Line(NamedTuple):
    """An entry as the page shows it; without its changes as long as they are hidden."""

    entry: AuditEntry
    link: str
    words: str
    target: str
    changes: Changes | None


@project_page(Permission.READ_AUDIT)
@require_safe
def audit_page(request: DeskRequest) -> HttpResponse:
    project, filters = request.place.project, read_filters(request)
    newest = AuditEntry.objects.filter(project=project).order_by("-created_at", "-id").values("pk")[:LOOKED_AT]
    labels = AuditEntry.objects.filter(pk__in=newest).order_by("actor_label").values_list("actor_label", flat=True)

    def lines(entries: list[AuditEntry]) -> list[Line]:
        links = links_of(entries, project=project)
        return [
            Line(
                entry,
                link=links.get((entry.target, entry.target_id), ""),
                words=words_of(entry.action),
                target=str(TARGETS.get(entry.target, entry.target)),
                changes=None if entry.is_hidden else changes_between(entry.before, entry.after),
            )
            for entry in entries
        ]

    return list_page(
        request,
        "teams/audit/list.html",
        entries_for(project, audit_filter(filters), reader=request.place.actor),
        called="lines",
        view=lines,
        among=AuditEntry.objects.filter(project=project),
        filters=filters,
        typed=filters,
        people=list(labels.distinct()),
        actions=sorted(WORDS.items(), key=lambda item: str(item[1])),
        targets=sorted(TARGETS.items(), key=lambda item: str(item[1])),
    )


@project_page(Permission.READ_AUDIT)
@require_safe
def audit_export(request: DeskRequest, form: str) -> HttpResponse:
    """All entries that the filters leave, as a file."""
    if form not in MEDIA_TYPES:
        raise Http404("no such form")
    asked = audit_filter(read_filters(request))
    entries = entries_for(request.place.project, asked, reader=request.place.actor)
    # Django's types make no one class of both kinds of answers, but serves either.
    return cast("HttpResponse", as_audit_file(request, entries, form=form))


def read_filters(request: DeskRequest) -> Filters:
    texts = {"who": text_of(200), "action": text_of(60), "target": text_of(60), "q": text_of(200)}
    return Filters.read(request.GET, **texts, id=id_of, since=_day_of, until=_day_of)


def audit_filter(filters: Filters) -> AuditFilter:
    since, until = (date.fromisoformat(day) if (day := filters[name]) else None for name in ("since", "until"))
    return AuditFilter(
        who=filters["who"],
        action=filters["action"],
        target=filters["target"],
        q=filters["q"],
        target_id=id_from(filters["id"]),
        since=_midnight(since) if since else None,
        until=_midnight(until + timedelta(days=1)) if until else None,
    )


def _day_of(text: str) -> str:
    """The day; nothing for no day of a calendar, and for those at its ends, which have no day before or after."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return ""
    return str(day) if 1970 <= day.year <= 9000 else ""


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
