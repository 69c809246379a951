"""A session as its page tells it: its turns in order, and each reflection after the turn at which it was made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from reflection_app.core.models import Project
from reflection_app.loops.hidden_characters import in_order
from reflection_app.loops.session_reflections import KeptReflection
from reflection_app.loops.tool_failures import calls_in, content_text
from reflection_app.loops.verdicts import Outcome
from reflection_app.notebook.views.words import CATEGORY_WORDS, Words
from reflection_app.runs.models import Run
from reflection_app.search.finding import ids_with_words
from reflection_app.search.models import Indexed
from reflection_app.sessions.models import Reflector, ReflectorKind, Transcript, TranscriptTurn
from reflection_app.sessions.recording import SessionState, session_state
from reflection_app.web.access import DeskRequest, get_run_for, get_transcript_for, project_page
from reflection_app.web.list_pages import Filters, id_of, text_of
from reflection_app.web.middleware import fragment
from reflection_app.web.rendering import render_markdown
from reflection_app.web.template_filters import shortened

SHOWN = 200
LONGEST_SHOWN = 20_000


def read_session_filters(data: Mapping[str, str]) -> Filters:
    return Filters.read(data, q=text_of(), saved=id_of)


def sessions_found(project: Project, filters: Filters) -> QuerySet[Transcript]:
    """The project's sessions that fit."""
    rows = Transcript.objects.filter(project=project)
    return rows.filter(pk__in=ids_with_words(project.pk, filters["q"], kind=Indexed.SESSION)) if filters["q"] else rows


@dataclass(frozen=True)
class TurnLine:
    """One turn. What a machine wrote for a machine is folded."""

    row: TranscriptTurn
    is_raw: bool = False

    @property
    def place(self) -> str:
        return f"turn-{self.row.seq}"

    @cached_property
    def text(self) -> str:
        return in_order(content_text(self.row.message.get("content")))

    @cached_property
    def calls(self) -> list[tuple[str, str]]:
        """Name and arguments of each tool call."""
        return [(name, arguments) for _, name, arguments in calls_in(self.row.message)]

    @cached_property
    def rendered(self) -> SafeString:
        return render_markdown(shortened(self.text, LONGEST_SHOWN))

    @property
    def is_folded(self) -> bool:
        return self.row.role in {"system", "developer", "tool", "function"}

    @property
    def first_line(self) -> str:
        """What a folded turn shows of itself."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


@dataclass(frozen=True)
class ReflectionLine:
    kept: KeptReflection

    @property
    def place(self) -> str:
        return f"reflection-{self.kept.number}"


@dataclass(frozen=True)
class SessionStory:
    state: SessionState
    lines: tuple[TurnLine | ReflectionLine, ...]
    first: int
    """The number of the first turn that is shown."""
    failures: int

    @property
    def reflected(self) -> int:
        """The number of the newest reflection, of those that the reflector failed at, too."""
        return self.state.reflections[-1].number if self.state.reflections else 0

    @property
    def turns_to_next(self) -> int:
        """After how many more turns the next reflection is due, at the latest; 0 where none is made."""
        if self.state.run is None:
            return 0
        reflected = self.state.reflections[-1].turn if self.state.reflections else 0
        every = self.state.run.get_spec().inline_every_turns
        return max(1, every - (self.state.transcript.turns_made - reflected))

    @property
    def is_live(self) -> bool:
        """Whether anything more can come."""
        run = self.state.run
        return not self.state.transcript.is_ended or (run is not None and not run.is_finished)


def tell_session(transcript: Transcript, *, before: int | None = None, is_raw: bool = False) -> SessionStory:
    """The newest turns, or the newest of those before turn `before`, with the reflections among them.

    With `is_raw` each turn is shown as it was written.
    """
    state = session_state(transcript)
    rows = TranscriptTurn.objects.filter(transcript=transcript)
    if before is not None:
        rows = rows.filter(seq__lt=before)
    turns = list(reversed(rows.order_by("-seq")[:SHOWN]))
    first = turns[0].seq if turns else 1
    return _story(state, tuple(_in_order(turns, state.reflections, is_raw=is_raw)), first=first)


def tell_news(transcript: Transcript, *, after: int, reflected: int) -> SessionStory:
    """What came after turn `after` and reflection `reflected`, to be put below what is shown already."""
    state = session_state(transcript)
    turns = list(TranscriptTurn.objects.filter(transcript=transcript, seq__gt=after).order_by("seq")[:SHOWN])
    new = tuple(kept for kept in state.reflections if kept.number > reflected)
    late = tuple(ReflectionLine(kept) for kept in new if kept.turn <= after)
    rest = tuple(kept for kept in new if kept.turn > after)
    return _story(state, (*late, *_in_order(turns, rest)), first=after + 1)


def _story(state: SessionState, lines: tuple[TurnLine | ReflectionLine, ...], *, first: int) -> SessionStory:
    failures = TranscriptTurn.objects.filter(transcript=state.transcript, is_tool_failure=True).count()
    return SessionStory(state=state, lines=lines, first=first, failures=failures)


def _in_order(
    turns: list[TranscriptTurn], reflections: tuple[KeptReflection, ...], *, is_raw: bool = False
) -> Iterator[TurnLine | ReflectionLine]:
    for turn in turns:
        yield TurnLine(turn, is_raw=is_raw)
        yield from (ReflectionLine(kept) for kept in reflections if kept.turn == turn.seq)


# What those who look back found, as the page of a run or a session tells it; asked again while they are at it.

KINDS = {
    ReflectorKind.ERRORS: gettext_lazy("Errors"),
    ReflectorKind.MEMORY: gettext_lazy("Memory"),
}
TYPES = {
    "rule": gettext_lazy("Rule"),
    "project": gettext_lazy("Project fact"),
    "preference": gettext_lazy("Preference"),
}
BECAME = {
    "added": gettext_lazy("proposed to the notebook"),
    "counted": gettext_lazy("known: occurrence added"),
    "refused": gettext_lazy("not added"),
}
WHY = {
    "told": gettext_lazy("already injected into the prompt"),
    "counted_before": gettext_lazy("already counted for this work"),
    "name_taken": gettext_lazy("the notebook has an entry with this name"),
}


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
    def lines(self) -> list[dict[str, Words]]:
        """Its findings or memories, and what became of each."""
        return [
            {
                "label": CATEGORY_WORDS.get(found.get("category", "")) or TYPES.get(found.get("type", "")) or "",
                "title": found.get("name") or found.get("description", ""),
                "cause": found.get("cause", found.get("description") or found.get("content", "")),
                "suggestion": found.get("suggestion", ""),
                "became": BECAME.get(found.get("became", ""), ""),
                "why": WHY.get(found.get("why", ""), ""),
                "entry": found.get("entry") or "",
            }
            for found in self.row.findings
        ]


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
@fragment(page="run")
def run_reflectors(request: DeskRequest, run_id: UUID) -> HttpResponse:
    return _section(request, run=get_run_for(request.place, run_id))


@project_page()
@require_safe
@fragment(page="session")
def session_reflectors(request: DeskRequest, transcript_id: UUID) -> HttpResponse:
    return _section(request, transcript=get_transcript_for(request.place, transcript_id))


def _section(request: DeskRequest, *, run: Run | None = None, transcript: Transcript | None = None) -> HttpResponse:
    context = looking_back_context(run=run, transcript=transcript) | {"project": request.place.project}
    return render(request, "sessions/reflectors/_section.html", context)
