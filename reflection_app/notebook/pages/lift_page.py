"""What each lesson does to first attempts: all of them with their figures, and those to retire."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from notebook_app.public import Claim, EntryState, LessonLift, lift_of_all, runs_needed
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import storable
from reflection_app.notebook.views.lift_view import rows_of
from reflection_app.notebook.views.lift_words import CLAIMS
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.list_pages import PAGE, list_response

ORDERS = {
    "claim": _("What is said first"),
    "low": _("Worst difference first"),
    "high": _("Best difference first"),
    "outcomes": _("Most outcomes first"),
    "recalled": _("Most recalled first"),
    "name": _("By name"),
}
STATES = {EntryState.APPROVED: _("Approved"), EntryState.RETIRED: _("Retired")}
TO_RETIRE = (Claim.HARMS, Claim.PERHAPS_HARMS, Claim.NO_HELP)
RANKS = {claim: rank for rank, claim in enumerate(CLAIMS)}
# How large a difference would have to be, in the table of what it takes, from a success rate of one half.
DIFFERENCES = (0.3, 0.2, 0.1)
MIDDLE = 0.5
MOST_SUGGESTED = 20
LONGEST_SEARCH = 200


@dataclass(frozen=True)
class Asked:
    """The list as an address asks for it; what is not understood is left out."""

    q: str
    claim: Claim | None
    sort: str
    state: EntryState
    page: int

    @classmethod
    def of(cls, query: QueryDict) -> "Asked":
        page = query.get("page", "")
        return cls(
            q=storable(query.get("q", ""))[:LONGEST_SEARCH].strip(),
            claim=next((one for one in Claim if one.value == query.get("claim")), None),
            sort=query.get("sort", "") if query.get("sort") in ORDERS else "claim",
            state=EntryState.RETIRED if query.get("state") == EntryState.RETIRED else EntryState.APPROVED,
            page=int(page) if page.isascii() and page.isdigit() and len(page) < 6 else 1,
        )

    @property
    def is_narrowed(self) -> bool:
        return bool(self.q or self.claim)

    @property
    def query(self) -> str:
        """The address of the same list from its first page."""
        given = {"q": self.q, "claim": self.claim.value if self.claim else "", "state": self.state.value}
        return urlencode({name: value for name, value in (given | {"sort": self.sort}).items() if value})


@project_page(Permission.READ_LIFT)
@require_safe
def lift_page(request: DeskRequest) -> HttpResponse:
    """The whole page; asked by htmx, the rows alone."""
    project, asked = request.place.project, Asked.of(request.GET)
    share = project.get_notebook().holdout_share
    lessons = lift_of_all(project.pk, share=share, state=asked.state)
    matching = sorted((one for one in lessons if _is_meant(one, asked)), key=lambda one: _place(one, asked.sort))
    begin = (max(asked.page, 1) - 1) * PAGE
    context: dict[str, Any] = {
        "asked": asked,
        "rows": rows_of(matching[begin : begin + PAGE]),
        "matches": len(matching),
        "lessons": len(lessons),
        "looked_at": sum(bool(one.measured.judged.looks) for one in lessons),
        "has_outcomes": any(one.measured.total for one in lessons),
        "next_page": asked.page + 1 if len(matching) > begin + PAGE else None,
        "suggested": rows_of(_to_retire(lessons)) if asked.state is EntryState.APPROVED else [],
        "may_curate": request.place.may(Permission.CURATE),
        "share": share,
        "what_it_takes": _what_it_takes(share),
        "claims": CLAIMS.items(),
        "orders": ORDERS.items(),
        "states": STATES.items(),
    }
    return list_response(request, "notebook/lift.html", context)


def _is_meant(lesson: LessonLift, asked: Asked) -> bool:
    return asked.claim in {None, lesson.claim} and asked.q.casefold() in lesson.name.casefold()


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


def _to_retire(lessons: list[LessonLift]) -> list[LessonLift]:
    """What harms comes first, and what only does not help last."""
    found = [lesson for lesson in lessons if lesson.claim in TO_RETIRE]
    return sorted(found, key=lambda one: _place(one, "claim"))[:MOST_SUGGESTED]


def _what_it_takes(share: float) -> list[tuple[int, int | None]]:
    """Points of difference, and how many runs find them."""
    part = min(share, 1 - share)
    return [
        (round(difference * 100), runs_needed(difference, rate=MIDDLE, smaller_part=part) if part else None)
        for difference in DIFFERENCES
    ]
