"""What those who look back found, as the page of a run or a session tells it; asked again while they are at it."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from reflection_app.loops.ends import Outcome
from reflection_app.notebook.views.notebook_words import CATEGORY_WORDS, Words
from reflection_app.runs.models import Run
from reflection_app.sessions.models.reflector import Reflector, ReflectorKind
from reflection_app.sessions.models.transcript import Transcript
from reflection_app.web.access import DeskRequest, get_run_for, get_transcript_for, project_page

KINDS = {
    ReflectorKind.ERRORS: gettext_lazy("Errors"),
    ReflectorKind.MEMORY: gettext_lazy("Worth remembering"),
}
TYPES = {
    "rule": gettext_lazy("Rule"),
    "project": gettext_lazy("Project fact"),
    "preference": gettext_lazy("Preference"),
}
BECAME = {
    "added": gettext_lazy("proposed to the notebook"),
    "counted": gettext_lazy("known: counted once more"),
    "refused": gettext_lazy("not kept"),
}
WHY = {
    "told": gettext_lazy("the work was told it from the notebook"),
    "counted_before": gettext_lazy("counted for this work before"),
    "name_taken": gettext_lazy("the notebook has an entry of this name"),
}


@dataclass(frozen=True)
class FoundLine:
    """One finding or memory, and what became of it."""

    label: Words
    title: str
    cause: str
    suggestion: str
    became: Words
    why: Words
    entry: str


@dataclass(frozen=True)
class ReflectorCard:
    """One of the two: its run, and what it found."""

    row: Reflector

    @property
    def name(self) -> Words:
        return KINDS[ReflectorKind(self.row.kind)]

    @property
    def is_under_way(self) -> bool:
        return self.row.finished_at is None

    @property
    def has_failed(self) -> bool:
        return not self.is_under_way and self.row.fork.outcome != Outcome.SUCCEEDED

    @property
    def lines(self) -> list[FoundLine]:
        return [_line(one) for one in self.row.findings]


def _line(found: dict[str, str]) -> FoundLine:
    label = CATEGORY_WORDS.get(found.get("category", "")) or TYPES.get(found.get("type", "")) or ""
    memory = found.get("description") or found.get("content", "")
    return FoundLine(
        label=label,
        title=found.get("name") or found.get("description", ""),
        cause=found.get("cause", "") if "cause" in found else memory,
        suggestion=found.get("suggestion", ""),
        became=BECAME.get(found.get("became", ""), ""),
        why=WHY.get(found.get("why", ""), ""),
        entry=found.get("entry") or "",
    )


def cards_of(*, run: Run | None = None, transcript: Transcript | None = None) -> list[ReflectorCard]:
    """The forks that look back at the run or the session, errors first."""
    about = Q(run=run) if run else Q(transcript=transcript)
    rows = Reflector.objects.filter(about).select_related("fork").defer("fork__spec").order_by("kind")
    return [ReflectorCard(row) for row in rows]


def looked_back_at(run: Run) -> Reflector | None:
    """What the run looks back at, where it is such a fork."""
    related = ("run__task", "transcript")
    return Reflector.objects.filter(fork=run).select_related(*related).defer("run__spec").first()


def looking_back_context(*, run: Run | None = None, transcript: Transcript | None = None) -> dict[str, object]:
    """What the section needs that a page of the run or the session shows."""
    cards = cards_of(run=run, transcript=transcript)
    return {
        "reflectors": cards,
        "is_looked_back": any(card.is_under_way for card in cards),
        "subject": run or transcript,
        "is_session": transcript is not None,
    }


@project_page()
@require_safe
def run_reflectors(request: DeskRequest, run_id: UUID) -> HttpResponse:
    return _section(request, run=get_run_for(request.place, run_id))


@project_page()
@require_safe
def session_reflectors(request: DeskRequest, transcript_id: UUID) -> HttpResponse:
    return _section(request, transcript=get_transcript_for(request.place, transcript_id))


def _section(request: DeskRequest, *, run: Run | None = None, transcript: Transcript | None = None) -> HttpResponse:
    context = looking_back_context(run=run, transcript=transcript) | {"project": request.place.project}
    return render(request, "reflectors/_section.html", context)
