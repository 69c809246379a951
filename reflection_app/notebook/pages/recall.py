"""How the notebook is used: trying recall, the rules prompt, lessons' lift, and its settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings as django_settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import EntryKind, EntryState
from notebook_app.lift import runs_needed
from notebook_app.lift_list import Claim, LessonLift, lift_of_all
from notebook_app.listing import count_by_state
from notebook_app.meaning import embedding_status
from notebook_app.recall import RecalledEntry, recall
from notebook_app.rules_prompt import bounded, new_boundary, rules_prompt, told_of
from notebook_app.screening_by_meaning import count_unread
from reflection_app.adapters.llm import screening_model
from reflection_app.adapters.llm.question_vectors import query_vector, space_asked
from reflection_app.core.permissions import Permission
from reflection_app.loops.hidden_characters import revealed
from reflection_app.loops.project_settings import LessonSettings, NotebookSettings, ReflectionMode
from reflection_app.notebook.input import change_notebook_settings
from reflection_app.notebook.views.entry import EntryView, views_of
from reflection_app.notebook.views.lift import BADGES, rows_of
from reflection_app.teams.projects import models_by_role
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.forms import read_form
from reflection_app.web.list_pages import PAGE, Filters, list_response, one_of, text_of, whole_number

# Trying recall: what the notebook gives for a task, each entry with the reason why, as runs and agents get it.


# An address of so many Chinese characters is still read by every server.
LONGEST_QUESTION = 500
LONGEST_AGENT = 120
USUALLY_GIVEN = 5


@dataclass(frozen=True)
class RecalledView:
    """An entry beside why it was recalled."""

    view: EntryView
    why: RecalledEntry

    @property
    def likeness_percent(self) -> int | None:
        likeness = self.why.likeness
        return None if likeness is None else max(0, round(100 * likeness))

    @property
    def sure_percent(self) -> int:
        return round(100 * self.why.score)


@project_page(Permission.RECALL)
@require_safe
def recall_page(request: DeskRequest) -> HttpResponse:
    """What is told for the question, and behind it what is near and is not told. Nothing counts as given."""
    project, lessons = request.place.project, request.place.project.get_notebook().lessons
    asked = Filters.read(request.GET, q=text_of(None), agent=text_of(LONGEST_AGENT), kind=one_of(EntryKind))
    is_too_long = len(asked["q"]) > LONGEST_QUESTION
    most = lessons.most if lessons else USUALLY_GIVEN
    context = {
        "asked": asked,
        "is_too_long": is_too_long,
        "longest": LONGEST_QUESTION,
        "kinds": EntryKind.choices,
        "most": most,
        "approved": count_by_state(project.pk)[EntryState.APPROVED],
    }
    if asked["q"] and not is_too_long:
        among = EntryFilter(kinds=_kinds(asked), agent=asked["agent"])
        vector = query_vector(asked["q"])
        found = recall(project.pk, asked["q"], vector=vector, among=among, limit=most, with_others=True)
        views = views_of([one.entry for one in found.entries])
        told = [told_of(one.entry) for one in found.entries if one.fits]
        context |= {
            "is_asked": True,
            "used_meaning": found.used_meaning,
            "decided_by": found.decided_by.value,
            "least_percent": round(100 * found.least_sure),
            "fitting": len(told),
            # The model is still being loaded, busy or away, or another one is just taking over.
            "may_work_later": not found.used_meaning and space_asked() is not None,
            "rows": [RecalledView(view, one) for view, one in zip(views, found.entries, strict=True)],
            "text": revealed(bounded(told, boundary=new_boundary())),
        }
    return render(request, "notebook/recall.html", context, status=400 if is_too_long else 200)


def _kinds(asked: Filters) -> tuple[EntryKind, ...]:
    return (EntryKind(asked["kind"]),) if asked["kind"] else ()


# The rules prompt as agents get it, and what is left out of it.

MOST_OCCURRENCES = 1_000_000
MOST_RULES = 100


@project_page(Permission.RECALL)
@require_safe
def rules_page(request: DeskRequest) -> HttpResponse:
    """The prompt for n, m, a kind and an agent; a new boundary with every look."""
    project = request.place.project
    usual = project.get_notebook()
    asked = _rules_asked(request.GET, usual)
    found = rules_prompt(
        project.pk,
        most=int(asked["n"]),
        least_occurrences=int(asked["min_occurrences"]),
        kinds=_kinds(asked),
        agent=asked["agent"],
    )
    context = {
        "asked": asked,
        "usual": usual,
        "is_usual": asked == _rules_asked({}, usual),
        "found": found,
        # What nobody sees is shown here; who copies gets the text as agents get it.
        "preview": revealed(found.text),
        "hides_something": revealed(found.text) != found.text,
        "entries": views_of(list(found.entries)),
        "flagged": views_of(list(found.flagged)),
        "kinds": EntryKind.choices,
        "may_curate": request.place.may(Permission.CURATE),
        "may_set": request.place.may(Permission.CHANGE_SETTINGS),
    }
    return render(request, "notebook/rules.html", context)


def _rules_asked(data: Mapping[str, str], usual: NotebookSettings) -> Filters:
    return Filters.read(
        data,
        n=whole_number(usual.rules_most, MOST_RULES),
        min_occurrences=whole_number(usual.rules_least_occurrences, MOST_OCCURRENCES),
        kind=one_of(EntryKind),
        agent=text_of(LONGEST_AGENT),
    )


# What each lesson does to first attempts: all of them with their figures, and those to retire.

ORDERS = {
    "claim": _("Conclusive first"),
    "low": _("Lowest difference first"),
    "high": _("Highest difference first"),
    "outcomes": _("Most outcomes first"),
    "recalled": _("Most injected first"),
    "name": _("By name"),
}
STATES = (EntryState.APPROVED, EntryState.RETIRED)
TO_RETIRE = (Claim.HARMS, Claim.PERHAPS_HARMS, Claim.NO_HELP)
RANKS = {claim: rank for rank, claim in enumerate(BADGES)}
# How large a difference would have to be in points, in the table of what it takes, from a success rate of one half.
POINTS = (30, 20, 10)
MIDDLE = 0.5
MOST_SUGGESTED = 20
LONGEST_SEARCH = 200
MOST_PAGES = 99_999


@project_page(Permission.READ_LIFT)
@require_safe
def lift_page(request: DeskRequest) -> HttpResponse:
    """The whole page; asked by htmx, the rows alone."""
    project = request.place.project
    asked = Filters.read(
        request.GET,
        q=text_of(LONGEST_SEARCH),
        claim=one_of(Claim),
        state=one_of(STATES, EntryState.APPROVED),
        sort=one_of(ORDERS, "claim"),
    )
    page = int(whole_number(1, MOST_PAGES)(request.GET.get("page", "")))
    share, state = project.get_notebook().holdout_share, EntryState(asked["state"])
    lessons = lift_of_all(project.pk, share=share, state=state)
    meant = [
        one for one in lessons if asked["claim"] in {"", one.claim} and asked["q"].casefold() in one.name.casefold()
    ]
    matching = sorted(meant, key=lambda one: _place(one, asked["sort"]))
    begin = (page - 1) * PAGE
    # What harms comes first, and what only does not help last.
    to_retire = sorted((one for one in lessons if one.claim in TO_RETIRE), key=lambda one: _place(one, "claim"))
    smaller_part = min(share, 1 - share)
    context: dict[str, Any] = {
        "asked": asked,
        "is_narrowed": bool(asked["q"] or asked["claim"]),
        "page": page,
        "rows": rows_of(matching[begin : begin + PAGE]),
        "matches": len(matching),
        "lessons": len(lessons),
        "looked_at": sum(bool(one.measured.judged.looks) for one in lessons),
        "has_outcomes": any(one.measured.total for one in lessons),
        "next_page": page + 1 if len(matching) > begin + PAGE else None,
        "suggested": rows_of(to_retire[:MOST_SUGGESTED]) if state is EntryState.APPROVED else [],
        "may_curate": request.place.may(Permission.CURATE),
        "share": share,
        # Points of difference, and how many runs find them.
        "what_it_takes": [
            (points, runs_needed(points / 100, rate=MIDDLE, smaller_part=smaller_part) if smaller_part else None)
            for points in POINTS
        ],
        "claims": [(claim, claim.label) for claim in BADGES],
        "orders": ORDERS.items(),
        "states": [(one, one.label) for one in STATES],
    }
    return list_response(request, "notebook/lift.html", context)


def _place(lesson: LessonLift, sort: str) -> tuple[float, float, str]:
    """Where the lesson stands; what has no difference comes last in the orders by difference."""
    found = lesson.measured.difference
    by_name = (0.0, 0.0, lesson.name.casefold())
    match sort:
        case "name":
            return by_name
        case "recalled":
            return (-lesson.recalled, *by_name[1:])
        case "outcomes":
            return (-lesson.measured.total, *by_name[1:])
        case "low" | "high":
            estimate = found.estimate if found else 0.0
            return (float(found is None), estimate if sort == "low" else -estimate, by_name[2])
        case _:
            return (RANKS[lesson.claim], -lesson.measured.total, by_name[2])


# How a project learns: when its work is looked back at, what its runs are told, and what is withheld for the lift.

LESSONS = ("most", "holdout_share")
RULES = ("rules_most", "rules_least_occurrences")
# Not the name of the part of the settings: what is wrong inside of that has a field of its own.
ON = "tells_lessons"
SWITCHES = ("error_reflector", "memory_reflector")
FIELDS = ("reflection", *SWITCHES, ON, *LESSONS, *RULES)
REFLECTORS = ("error_reflector", "memory_reflector", "merger")
MODES = {
    ReflectionMode.OFF: gettext_noop("Never"),
    ReflectionMode.POST_HOC: gettext_noop("After completion"),
    ReflectionMode.INLINE: gettext_noop("During a session"),
    ReflectionMode.BOTH: gettext_noop("During and after"),
}


@project_page(Permission.READ, post=Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def notebook_settings(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    saved = project.get_notebook()
    saved_lessons = saved.lessons or LessonSettings()
    texts = {name: str(getattr(saved_lessons, name)) for name in LESSONS}
    texts |= {name: str(getattr(saved, name)) for name in RULES}
    texts |= {name: "on" if getattr(saved, name) else "" for name in SWITCHES}
    texts |= {"reflection": saved.reflection or "", ON: "on" if saved.lessons else ""}
    form = read_form(request, FIELDS, texts)
    if request.method == "POST":
        with form.collect_errors():
            given = {name: form.values[name] for name in RULES} | {"reflection": form.values["reflection"] or None}
            switches = {name: bool(form.values[name]) for name in SWITCHES}
            lessons = {name: form.values[name] for name in LESSONS} if form.values[ON] else None
            wanted = NotebookSettings.model_validate({**given, **switches, "lessons": lessons})
            change_notebook_settings(project, wanted, actor=request.place.actor)
            message = gettext("Saved. Runs in progress keep their previous settings.")
            return back_to(request, "notebook_settings", message=message)
    embeddings = embedding_status()
    context = {
        "form": form,
        "fields": form.fields,
        "modes": [(mode.value, gettext(words)) for mode, words in MODES.items()],
        "usual_mode": gettext(MODES[ReflectionMode(django_settings.REFLECTION_MODE)]),
        "may_change": request.place.may(Permission.CHANGE_SETTINGS),
        "role_models": models_by_role(project, roles=REFLECTORS),
        "embeddings": embeddings,
        "screened_by": screening_model(),
        "screened": 1 - count_unread() / embeddings.entries if embeddings.entries else 1.0,
        # A share alone: how many entries other projects have is none of this one's business.
        "embedded": embeddings.embedded / embeddings.entries if embeddings.entries else 1.0,
    }
    return render(request, "teams/settings/notebook.html", context, status=form.status)
