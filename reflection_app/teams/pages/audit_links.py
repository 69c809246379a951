"""Where the things that audit entries are about can be looked at, as long as they exist."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Manager
from django.urls import reverse

from notebook_app.public import entries_by_id
from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import ApiKey, Project
from reflection_app.repairs.models import Report, Ticket, ToolFailure
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Question, Run
from reflection_app.sessions.models import Transcript
from reflection_app.teams.models.tool import Secret, Tool
from reflection_app.teams.models.webhook import Webhook

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
}
LISTS: dict[str, tuple[Manager[Any], str]] = {
    "apikey": (ApiKey.objects, "settings"),
    "secret": (Secret.objects, "tools"),
}
type Key = tuple[str, UUID]


def links_of(entries: Iterable[AuditEntry], *, project: Project) -> dict[Key, str]:
    """The address of each entry's target by kind and id; those that are gone have none. One query per kind."""
    wanted: dict[str, set[UUID]] = {}
    for entry in entries:
        wanted.setdefault(entry.target, set()).add(entry.target_id)
    links: dict[Key, str] = {}
    for target, ids in wanted.items():
        links |= {(target, pk): address for pk, address in _addresses(target, ids, project=project).items()}
    return links


def _addresses(target: str, ids: set[UUID], *, project: Project) -> dict[UUID, str]:
    slug = project.slug
    if target == "project":
        return {project.pk: reverse("settings", args=(slug,))} if project.pk in ids else {}
    if target == "task":
        newest = Run.objects.filter(project=project, task__in=ids).order_by("created_at").values_list("task", "pk")
        return {task: reverse("run", args=(slug, run)) for task, run in newest}
    if target == "entry":
        return {pk: reverse("entry", args=(slug, pk)) for pk in entries_by_id(project.pk, list(ids))}
    if target in LISTS:
        manager, page = LISTS[target]
        return dict.fromkeys(_rows(manager, ids, project, "pk"), reverse(page, args=(slug,)))
    if target not in PAGES:
        return {}
    manager, page, column = PAGES[target]
    return {pk: reverse(page, args=(slug, named)) for pk, named in _rows(manager, ids, project, column).items()}


def _rows(manager: Manager[Any], ids: set[UUID], project: Project, column: str) -> dict[UUID, Any]:
    return dict(manager.filter(project=project, pk__in=ids).values_list("pk", column))
