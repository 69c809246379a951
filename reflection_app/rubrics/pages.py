"""The page of a project's rubric and guidelines."""

from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from reflection_app.core.errors import VersionMovedOn
from reflection_app.core.permissions import Permission
from reflection_app.rubrics.agreement import agreement_by_criterion
from reflection_app.rubrics.changing import (
    LONGEST_GUIDELINES,
    LONGEST_NOTE,
    GuidelinesInput,
    RubricInput,
    change_guidelines,
    change_rubric,
    newest_guidelines,
    newest_rubric,
)
from reflection_app.rubrics.models import GuidelinesVersion, RubricVersion
from reflection_app.rubrics.views import (
    SCALES,
    RubricForm,
    new_criterion,
    problems_of_rubric,
    read_rubric_form,
    rubric_form,
)
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.forms import Form, read_form, read_text
from reflection_app.web.middleware import post_only
from reflection_app.web.rendering import render_markdown

MOST_VERSIONS = 50
AGREEMENT_DAYS = 90


@project_page(Permission.READ, post=Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def rubric_page(request: DeskRequest) -> HttpResponse:
    """The editor for admins, the criteria to read for others. Whatever else than saving is asked for saves nothing."""
    project = request.place.project
    if request.method != "POST":
        return _page(request, rubric_form(newest_rubric(project.pk)))
    form = read_rubric_form(request.POST)
    order = request.POST.get("do", "save")
    if order != "save":
        form.rearrange(order, new=new_criterion())
        return _page(request, form)
    try:
        with form.collect_errors(problems_of_rubric):
            change_rubric(project, RubricInput.model_validate(form.given_whole()), actor=request.place.actor)
            message = _("Saved. Runs in progress use their previous rubric.")
            return back_to(request, "rubric", message=message)
    except VersionMovedOn as moved:
        # What holds now is in the list of versions; who then saves again has seen what is replaced.
        form.add_error("", str(moved))
        form.number = str(newest_rubric(project.pk).number)
        return _page(request, form, status=409)
    return _page(request, form, status=400)


@project_page(Permission.CHANGE_SETTINGS)
@post_only(page="rubric")
def save_guidelines(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    form = read_form(request, ("note", "number"))
    form.values["text"] = read_text(request, "text")
    of_rubric = rubric_form(newest_rubric(project.pk))
    try:
        with form.collect_errors(problems_of_rubric):
            typed = form.values | {"number": form.values["number"] or None}
            change_guidelines(project, GuidelinesInput.model_validate(typed), actor=request.place.actor)
            return back_to(
                request, "rubric", message=_("Saved. The new guidelines are now shown next to every review.")
            )
    except VersionMovedOn as moved:
        form.add_error("", str(moved))
        form.values["number"] = str(newest_guidelines(project.pk).number)
        return _page(request, of_rubric, guidelines=form, status=409)
    return _page(request, of_rubric, guidelines=form, status=400)


def _page(request: DeskRequest, form: RubricForm, *, guidelines: Form | None = None, status: int = 200) -> HttpResponse:
    project, now = request.place.project, timezone.now()
    of_rubric = list(RubricVersion.objects.filter(project=project)[:MOST_VERSIONS])
    of_guidelines = list(GuidelinesVersion.objects.filter(project=project)[:MOST_VERSIONS])
    holding, written = newest_rubric(project.pk).get_rubric(), newest_guidelines(project.pk)
    agreement = []
    if holding is not None and request.place.may(Permission.READ_METRICS):
        since = now - timedelta(days=AGREEMENT_DAYS)
        agreement = agreement_by_criterion(project.pk, holding.criteria, since=since, until=now)
    context: dict[str, Any] = {
        "form": form,
        "scales": SCALES,
        "versions": of_rubric,
        "holding": holding,
        "guidelines": guidelines or Form({"text": written.text, "note": "", "number": str(written.number)}),
        "guidelines_shown": render_markdown(written.text),
        "guidelines_versions": of_guidelines,
        "agreement": [one for one in agreement if one.rated],
        "agreement_days": AGREEMENT_DAYS,
        "longest": LONGEST_GUIDELINES,
        "longest_note": LONGEST_NOTE,
        "may_change": request.place.may(Permission.CHANGE_SETTINGS),
    }
    return render(request, "rubrics/page.html", context, status=status)
