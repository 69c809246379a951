"""Trying recall: what the notebook gives for a task, each entry with the reason why, as runs and agents get it."""

from dataclasses import dataclass

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from notebook_app.public import (
    EntryFilter,
    EntryKind,
    RecalledEntry,
    bounded,
    count_by_state,
    new_boundary,
    recall,
    told_of,
)
from notebook_app.public import EntryState as State
from reflection_app.adapters.llm.query_vectors import query_vector, space_asked
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import storable
from reflection_app.notebook.views.entry_view import EntryView, views_of
from reflection_app.notebook.views.notebook_words import KINDS
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.hidden_characters import revealed

# An address of so many Chinese characters is still read by every server.
LONGEST_QUESTION = 500
LONGEST_AGENT = 120
USUALLY_GIVEN = 5


@dataclass(frozen=True)
class Asked:
    """A question as an address asks it; of what is not understood nothing is asked."""

    q: str
    agent: str
    kind: EntryKind | None

    @classmethod
    def of(cls, query: QueryDict) -> "Asked":
        return cls(
            q=storable(query.get("q", "")).strip(),
            agent=storable(query.get("agent", ""))[:LONGEST_AGENT].strip(),
            kind=next((kind for kind in EntryKind if kind.value == query.get("kind")), None),
        )

    @property
    def is_too_long(self) -> bool:
        return len(self.q) > LONGEST_QUESTION


@dataclass(frozen=True)
class RecalledView:
    """An entry beside why it was recalled."""

    view: EntryView
    why: RecalledEntry

    @property
    def likeness_percent(self) -> int | None:
        likeness = self.why.likeness
        return None if likeness is None else max(0, round(100 * likeness))


@project_page(Permission.RECALL)
@require_safe
def recall_page(request: DeskRequest) -> HttpResponse:
    """What is recalled for the question. Nothing is withheld, and nothing counts as given."""
    project, asked = request.place.project, Asked.of(request.GET)
    lessons = project.get_notebook().lessons
    context = {
        "asked": asked,
        "longest": LONGEST_QUESTION,
        "kinds": list(KINDS.items()),
        "most": lessons.most if lessons else USUALLY_GIVEN,
        "approved": count_by_state(project.pk)[State.APPROVED],
    }
    if asked.q and not asked.is_too_long:
        context |= _recalled(project, asked, most=lessons.most if lessons else USUALLY_GIVEN)
    response = render(request, "notebook/recall.html", context)
    response.status_code = 400 if asked.is_too_long else 200
    return response


def _recalled(project: Project, asked: Asked, *, most: int) -> dict[str, object]:
    among = EntryFilter(kinds=(asked.kind,) if asked.kind else (), agent=asked.agent)
    found = recall(project.pk, asked.q, vector=query_vector(asked.q), among=among, limit=most)
    views = views_of([one.entry for one in found.entries])
    text = bounded([told_of(one.entry) for one in found.entries], boundary=new_boundary())
    return {
        "is_asked": True,
        "used_meaning": found.used_meaning,
        # The model is still being loaded, busy or away, or another one is just taking over.
        "may_work_later": not found.used_meaning and space_asked() is not None,
        "rows": [RecalledView(view, one) for view, one in zip(views, found.entries, strict=True)],
        "text": revealed(text),
    }
