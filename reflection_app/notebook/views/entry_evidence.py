"""Where an entry was learned, as links: ids in its evidence that name something of this project, and nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notebook_app.public import Occurrence, entries_by_id
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.repairs.models import Report, ToolFailure
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Attempt, Run, Verdict
from reflection_app.sessions.models import Transcript

SHORT = 80
# What evidence names without a page of its own here.
PLAIN: dict[str, str | Promise] = {
    "proposal": gettext_lazy("A proposal of its own"),
    "import": gettext_lazy("An import"),
    "file": gettext_lazy("An imported file"),
}


@dataclass(frozen=True)
class EvidenceLink:
    """`address` is empty where the thing is gone, or has no page."""

    kind: str
    words: str
    address: str = ""


@dataclass(frozen=True)
class EvidenceLine:
    """One occurrence and what it leads to."""

    links: list[EvidenceLink]
    created_at: datetime


def lines_of(project: Project, occurrences: Iterable[Occurrence]) -> list[EvidenceLine]:
    """Each occurrence with its links; one query for each kind of thing that is named."""
    found = list(occurrences)
    wanted: dict[str, set[UUID]] = {}
    for occurrence in found:
        for kind, value in occurrence.refs.items():
            if (thing := id_from(str(value))) is not None:
                wanted.setdefault(kind, set()).add(thing)
    reports = {str(one.refs["report"]) for one in found if "report" in one.refs}
    known = _known(project, wanted) | _reports(project, reports)
    return [EvidenceLine(_links(occurrence.refs, known), occurrence.created_at) for occurrence in found]


def _links(refs: dict[str, Any], known: dict[tuple[str, str], EvidenceLink]) -> list[EvidenceLink]:
    links = []
    for kind, value in refs.items():
        link = known.get((kind, str(value)))
        if link is None:
            link = EvidenceLink(kind, str(PLAIN[kind])) if kind in PLAIN else _gone(kind)
        links.append(link)
    # Beside something that it leads to, what only keeps proposals apart says nothing.
    return [link for link in links if link.address] or links or [EvidenceLink("", _("Nothing was named"))]


def _gone(kind: str) -> EvidenceLink:
    return EvidenceLink("gone", _("%(kind)s: not in this project any more") % {"kind": kind[:SHORT]})


def _known(project: Project, wanted: dict[str, set[UUID]]) -> dict[tuple[str, str], EvidenceLink]:
    known = _of_runs(project, wanted)
    for transcript in Transcript.objects.filter(project=project, pk__in=wanted.get("transcript", ())):
        title = transcript.objective or transcript.external_id or transcript.agent or _("without a title")
        words = _("Session: %(title)s") % {"title": _short(title)}
        known["transcript", str(transcript.pk)] = _link("transcript", words, "session", project, transcript.pk)
    reviews = Review.objects.filter(project=project, pk__in=wanted.get("review", ())).select_related("run__task")
    for review in reviews.only("pk", "run__task__objective"):
        words = _("Review: %(title)s") % {"title": _short(review.run.task.title)}
        known["review", str(review.pk)] = _link("review", words, "review", project, review.pk)
    failures = ToolFailure.objects.filter(project=project, pk__in=wanted.get("tool_failure", ()))
    for failure in failures.defer("run__spec"):
        words = _("Tool failure: %(tool)s") % {"tool": _short(failure.tool)}
        known["tool_failure", str(failure.pk)] = _link("tool_failure", words, "tool_failure", project, failure.pk)
    for entry in entries_by_id(project.pk, [*wanted.get("entry", ())]).values():
        words = _("Entry: %(title)s") % {"title": _short(entry.name)}
        known["entry", str(entry.id)] = _link("entry", words, "entry", project, entry.id)
    return known


def _of_runs(project: Project, wanted: dict[str, set[UUID]]) -> dict[tuple[str, str], EvidenceLink]:
    """Runs, and what stands on the page of one: attempts and verdicts."""
    known: dict[tuple[str, str], EvidenceLink] = {}
    for kind in ("run", "reflector"):
        for run in _runs(project, wanted.get(kind, set())):
            words = _("Reflector: %(title)s") if kind == "reflector" else _("Run: %(title)s")
            known[kind, str(run.pk)] = _link(kind, words % {"title": _short(run.task.title)}, "run", project, run.pk)
    attempts = Attempt.objects.filter(run__project=project, pk__in=wanted.get("attempt", ()))
    for pk, run_id, number in attempts.values_list("pk", "run", "number"):
        words = _("Attempt %(number)s of a run") % {"number": number}
        known["attempt", str(pk)] = _link("attempt", words, "run", project, run_id, place=f"attempt-{number}")
    verdicts = Verdict.objects.filter(attempt__run__project=project, pk__in=wanted.get("verdict", ()))
    for pk, run_id, number in verdicts.values_list("pk", "attempt__run", "attempt__number"):
        words = _("Verdict on attempt %(number)s of a run") % {"number": number}
        known["verdict", str(pk)] = _link("verdict", words, "run", project, run_id, place=f"attempt-{number}")
    return known


def _runs(project: Project, ids: set[UUID]) -> Iterable[Run]:
    if not ids:
        return []
    return Run.objects.filter(project=project, pk__in=ids).select_related("task").only("pk", "task__objective")


def _reports(project: Project, ids: set[str]) -> dict[tuple[str, str], EvidenceLink]:
    rows = Report.objects.filter(project=project, reflection_id__in=ids) if ids else Report.objects.none()
    return {
        ("report", one): _link("report", _("Report %(id)s") % {"id": one}, "report", project, one)
        for one in rows.values_list("reflection_id", flat=True)
    }


def _link(kind: str, words: str, page: str, project: Project, thing: UUID | str, *, place: str = "") -> EvidenceLink:
    address = reverse(page, args=(project.slug, thing))
    return EvidenceLink(kind, words, f"{address}#{place}" if place else address)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else line[: SHORT - 1] + "…"
