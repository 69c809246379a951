"""Data sets in the browser: which rows there would be, their file, and the lines by which programs read them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from reflection_app.core.permissions import Permission
from reflection_app.loops.task_spec import OF_THE_DESK, Mode
from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.datasets.asking import Asked, DatasetQuery, asked_of
from reflection_app.metrics.datasets.catalogue import DATASETS, DatasetKind
from reflection_app.metrics.datasets.files import FileFormat, exported
from reflection_app.metrics.datasets.reading import read_some
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.forms import Form
from reflection_app.web.list_pages import wants_part

FIELDS = ("since", "until", "agent", "kind", "mode", "outcome", "metadata", "scripted", "anonymous")
FLAGS = ("scripted", "anonymous")
ROWS_SHOWN = 8
WORDS: Mapping[DatasetKind, tuple[Promise, Promise]] = MappingProxyType(
    {
        DatasetKind.RUNS: (
            gettext_lazy("Runs"),
            gettext_lazy("Finished runs with attempts, verdicts, human decisions, final answers, lessons and cost."),
        ),
        DatasetKind.PREFERENCES: (
            gettext_lazy("Preference pairs"),
            gettext_lazy("Two attempts at one task, one better than the other: chosen and rejected, for DPO."),
        ),
        DatasetKind.CRITIC: (
            gettext_lazy("Reviewed verdicts"),
            gettext_lazy("Critic verdicts with the human decisions on them, for training and calibrating critics."),
        ),
    }
)
# Of many columns, those by which a person tells what a row is.
COLUMNS: Mapping[DatasetKind, tuple[str, ...]] = MappingProxyType(
    {
        DatasetKind.RUNS: ("objective", "answer", "outcome", "answer_score", "agent"),
        DatasetKind.PREFERENCES: ("prompt", "chosen", "rejected", "source"),
        DatasetKind.CRITIC: ("objective", "critic_model", "critic_verdict", "human_verdict", "by"),
    }
)


@project_page(Permission.READ)
@require_safe
def datasets_page(request: DeskRequest) -> HttpResponse:
    """The first rows of a data set, and how many there are about; asked by htmx, these alone."""
    dataset = DATASETS.get(request.GET.get("set", ""), DATASETS[DatasetKind.RUNS])
    form, asked = _asked(request)
    given = form.given(*FIELDS)
    context: dict[str, Any] = {
        "form": form,
        "fields": form.fields,
        "dataset": dataset,
        "about": WORDS[dataset.kind][1],
        "tabs": [
            {"title": title, "query": urlencode({"set": kind.value} | given), "is_current": kind is dataset.kind}
            for kind, (title, _about) in WORDS.items()
        ],
        "columns": COLUMNS[dataset.kind],
        "formats": list(FileFormat),
        "query": urlencode(given),
        "metadata_hint": _("Must contain, for example %(example)s") % {"example": '{"team": "search"}'},
        "outcomes": list(Outcome),
        "modes": [mode for mode in Mode if mode not in OF_THE_DESK],
        "rest": request.build_absolute_uri(f"/api/v1/datasets/{dataset.kind}/export"),
        "rest_query": urlencode(given | {"format": "jsonl"}),
        "arguments": [(name, True if name in FLAGS else text) for name, text in given.items() if name != "metadata"],
    }
    if asked is not None:
        rows = read_some(dataset.sources, asked, limit=ROWS_SHOWN).rows
        context |= {
            "first_rows": [[getattr(row, name) for name in COLUMNS[dataset.kind]] for row in rows],
            "is_narrowed": bool(given),
        }
    page = "metrics/datasets.html"
    return render(request, f"{page}#results" if wants_part(request) else page, context, status=form.status)


@project_page(Permission.READ)
@require_safe
def dataset_file(request: DeskRequest, kind: str, form: str) -> HttpResponse:
    """The rows as a file; where the filters cannot be understood, the page that says so. Raises Http404."""
    if kind not in DATASETS or form not in list(FileFormat):
        raise Http404("no such data set or format")
    typed, asked = _asked(request)
    if asked is None:
        query = urlencode({"set": kind} | typed.given(*FIELDS))
        return redirect(f"{reverse('datasets', args=(request.place.project.slug,))}?{query}")
    # Django's types make no one class of both kinds of answers, but serves either.
    file = exported(request, DATASETS[kind], asked, form=FileFormat(form), actor=request.place.actor)
    return cast("HttpResponse", file)


def _asked(request: DeskRequest) -> tuple[Form, Asked | None]:
    """What was typed, and the rows that it asks for; None where it cannot be understood, which the form says."""
    form = Form({name: request.GET.get(name, "").strip() for name in FIELDS})
    with form.collect_errors():
        return form, asked_of(request.place.project, DatasetQuery.model_validate(form.given(*FIELDS)))
    return form, None
