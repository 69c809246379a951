"""What the list of runs shows where the metrics led to it: the runs behind a figure or a bar."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlencode

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.translation import gettext as _

from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.definitions import FIGURES, Unit
from reflection_app.metrics.runs_behind import NO, OF_NOW, OF_REVIEWS, YES, runs_behind, runs_behind_reviews
from reflection_app.metrics.views.choice import as_fields, read_asked
from reflection_app.metrics.views.families import FAMILIES
from reflection_app.metrics.views.words import mode_words, runs_words
from reflection_app.runs.filters import best_score
from reflection_app.runs.models import NOT_OF_THE_DESK, Run, RunState
from reflection_app.search.finding import ids_with_words
from reflection_app.search.models import Indexed
from reflection_app.web.access import DeskRequest
from reflection_app.web.list_pages import Filters, day_of, id_of, number_of, one_of, text_of, typed_agent_of

LONGEST_KEY = 300
# Beyond these, nobody wants to know how many, and counting takes long.
MOST_COUNTED = 10_000
SHARES = frozenset(name for name, figure in FIGURES.items() if figure.unit is Unit.SHARE)
TASK = "task"


@dataclass(frozen=True)
class Part:
    """All that a share is computed over, those that count in its favour, or the others."""

    words: str
    query: str
    is_shown: bool


@dataclass(frozen=True)
class Behind:
    """`choice` says of which time and which runs; `error` why nothing can be shown."""

    runs: QuerySet[Run]
    title: str
    count: str
    choice: str
    query: str
    back: str
    parts: tuple[Part, ...] = ()
    error: str = ""

    @property
    def any(self) -> bool:
        return True


def behind_figure(request: DeskRequest) -> Behind | None:
    """What the address asks for by `figure`; None where it asks for no figure."""
    figure = storable(request.GET.get("figure", "").strip())[:LONGEST_KEY]
    if not figure:
        return None
    key = storable(request.GET.get("key", ""))[:LONGEST_KEY]
    project, asked = request.place.project, read_asked(request.GET)
    query = {"figure": figure} | ({"key": key} if key else {}) | as_fields(asked.chosen)
    error = ""
    if figure == TASK:
        runs = Run.objects.filter(project=project, task=id_from(key))
    else:
        look = runs_behind_reviews if figure in OF_REVIEWS else runs_behind
        try:
            runs = look(project.pk, asked.chosen, figure, key)
        except ValueError:
            runs = Run.objects.none()
            error = _("Unknown metric or chart bar; the URL may be incomplete.")
    choice = ""
    if figure != TASK:
        # The days and what narrows the runs down. What waits now waits whatever the days, in demonstrations as well.
        chosen, is_of_now = asked.chosen, figure in OF_NOW
        days = _("%(since)s to %(until)s") % {"since": chosen.since, "until": chosen.until}
        if chosen.since == chosen.until:
            days = str(chosen.since)
        words = [] if is_of_now else [days]
        words += [chosen.agent, mode_words(chosen.mode) if chosen.mode else "", chosen.model, chosen.kind]
        words += [_("demo runs")] if chosen.scripted and not is_of_now else []
        choice = " · ".join(word for word in words if word)
    count = runs.order_by()[: MOST_COUNTED + 1].count()
    more = _("more than %(count)s runs") % {"count": f"{MOST_COUNTED:,}"}
    parts = {"": _("All"), YES: _("Matching"), NO: _("Not matching")}
    page = reverse("review_metrics" if figure in OF_REVIEWS else "metrics", kwargs={"slug": project.slug})
    return Behind(
        runs=runs,
        title=_title(figure, key),
        count=runs_words(count) if count <= MOST_COUNTED else more,
        choice=choice,
        query=urlencode(query),
        back=f"{page}?{urlencode(as_fields(asked.chosen))}",
        parts=tuple(
            Part(words, urlencode(query | {"key": name}), is_shown=name == key) for name, words in parts.items()
        )
        if figure in SHARES and not error
        else (),
        error=error or " ".join(asked.errors.values()),
    )


def _title(figure: str, key: str) -> str:
    words = FIGURES.get(figure)
    if words:
        return _("Runs for “%(figure)s”") % {"figure": words.label}
    if figure == TASK:
        return _("Runs of one task")
    family = FAMILIES.get(figure)
    return f"{family.title}: {family.words(key)}" if family else f"{figure}: {key}"


MODES = (Mode.EXTERNAL_LOOP, Mode.ACTOR_CRITIC, Mode.REFLECTION_PROTOCOL, Mode.INLINE_REFLECTION)
# Shown where they are asked for: what the desk does about other work is not among it.
DESK_MODES = (Mode.ERROR_REFLECTION, Mode.MEMORY_REFLECTION)


# A run without a score stands behind all that have one.
NO_SCORE = -1.0


# What a row of the list shows, of more columns than it has.
SHOWN = (
    *("mode", "state", "outcome", "waiting_for", "not_before", "created_at", "active_s", "attempts_made"),
    *("prompt_tokens", "completion_tokens", "unmetered_calls", "estimated_tokens", "cost_usd", "unpriced_calls"),
    *("is_scripted", "forked_from_step", "forked_by_label"),
    *("task__objective", "task__external_id", "task__agent"),
)


def runs_for_list(project: Project, *, by_score: bool = False) -> QuerySet[Run]:
    """The project's runs, newest first, each with its task and the score of its best attempt as `best_score`.

    Only to sort `by_score` they have a `sort_score` too.
    """
    runs = Run.objects.filter(project=project).select_related("task").only(*SHOWN).annotate(best_score=best_score())
    if by_score:
        runs = runs.annotate(sort_score=Coalesce(best_score(), Value(NO_SCORE)))
    return runs.order_by("-created_at", "-id")


# The list of runs by its address alone: what it is filtered and sorted by.

COLUMNS = {
    "score": "sort_score",
    "attempts": "attempts_made",
    "cost": "cost_usd",
    "duration": "active_s",
    "created": "created_at",
}
SORTS = {f"{sign}{name}": (f"{sign}{column}", f"{sign}id") for name, column in COLUMNS.items() for sign in ("", "-")}


def read_run_filters(data: Mapping[str, str]) -> Filters:
    return Filters.read(
        data,
        status=one_of((*RunState.values, *Outcome)),
        mode=one_of((*MODES, *DESK_MODES)),
        q=text_of(),
        agent=typed_agent_of,
        kind=text_of(),
        since=day_of,
        until=day_of,
        score_from=number_of,
        score_below=number_of,
        sort=one_of(SORTS),
        saved=id_of,
    )


def filtered(project: Project, runs: QuerySet[Run], filters: Filters) -> QuerySet[Run]:
    """Those of the project's `runs` that fit; what the desk does about other work only where its mode is asked for."""
    status = "state" if filters["status"] in RunState.values else "outcome"
    wanted = {status: "status", "mode": "mode", "task__agent__iexact": "agent", "task__kind__iexact": "kind"}
    found = Q(**{field: filters[name] for field, name in wanted.items() if filters[name]})
    if not filters["mode"]:
        found &= NOT_OF_THE_DESK
    if filters["q"]:
        found &= Q(task__in=ids_with_words(project.pk, filters["q"], kind=Indexed.TASK))
    if filters["since"]:
        found &= Q(created_at__gte=day_begins(filters["since"]))
    if filters["until"]:
        found &= Q(created_at__lt=day_begins(filters["until"]) + timedelta(days=1))
    scored = {"scored__gte": filters["score_from"], "scored__lt": filters["score_below"]}
    by_score = {name: float(text) for name, text in scored.items() if text}
    runs = runs.filter(found)
    return runs.alias(scored=best_score()).filter(**by_score) if by_score else runs


def day_begins(text: str) -> datetime:
    return datetime.combine(date.fromisoformat(text), time(), UTC)
