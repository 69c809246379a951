"""The rules prompt as agents get it, and what is left out of it."""

from dataclasses import dataclass

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from notebook_app.public import EntryKind, rules_prompt
from reflection_app.core.permissions import Permission
from reflection_app.loops.notebook_settings import NotebookSettings
from reflection_app.loops.storable import storable
from reflection_app.notebook.views.entry_view import views_of
from reflection_app.notebook.views.notebook_words import KINDS
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.hidden_characters import revealed

LONGEST_AGENT = 120
MOST_OCCURRENCES = 1_000_000
MOST_RULES = 100


@dataclass(frozen=True)
class Asked:
    """The prompt as an address asks for it; what is not understood is as the project has it."""

    most: int
    least_occurrences: int
    kind: EntryKind | None
    agent: str

    @classmethod
    def of(cls, query: QueryDict, usual: NotebookSettings) -> "Asked":
        return cls(
            most=_number(query.get("n", ""), usual=usual.rules_most, most=MOST_RULES),
            least_occurrences=_number(
                query.get("min_occurrences", ""), usual=usual.rules_least_occurrences, most=MOST_OCCURRENCES
            ),
            kind=next((kind for kind in EntryKind if kind.value == query.get("kind")), None),
            agent=storable(query.get("agent", ""))[:LONGEST_AGENT].strip(),
        )


@project_page(Permission.RECALL)
@require_safe
def rules_page(request: DeskRequest) -> HttpResponse:
    """The prompt for n, m, a kind and an agent; a new boundary with every look."""
    project = request.place.project
    usual = project.get_notebook()
    asked = Asked.of(request.GET, usual)
    found = rules_prompt(
        project.pk,
        most=asked.most,
        least_occurrences=asked.least_occurrences,
        kinds=(asked.kind,) if asked.kind else (),
        agent=asked.agent,
    )
    context = {
        "asked": asked,
        "usual": usual,
        "is_usual": asked == Asked.of(QueryDict(), usual),
        "found": found,
        # What nobody sees is shown here; who copies gets the text as agents get it.
        "preview": revealed(found.text),
        "hides_something": revealed(found.text) != found.text,
        "entries": views_of(list(found.entries)),
        "flagged": views_of(list(found.flagged)),
        "kinds": list(KINDS.items()),
        "may_curate": request.place.may(Permission.CURATE),
        "may_set": request.place.may(Permission.CHANGE_SETTINGS),
    }
    return render(request, "notebook/rules.html", context)


def _number(typed: str, *, usual: int, most: int) -> int:
    is_number = typed.isascii() and typed.isdigit() and len(typed) < 8
    return max(1, min(int(typed), most)) if is_number else usual
