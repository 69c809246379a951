"""The page that shows a fork beside its parent."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from reflection_app.runs.views.run_differences import compare
from reflection_app.web.access import DeskRequest, get_run_for, project_page


@project_page()
@require_safe
def compare_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """Both runs; a run that is no fork has only its own page."""
    fork = get_run_for(request.place, run_id)
    if fork.parent_id is None:
        return redirect("run", slug=request.place.project.slug, run_id=fork.pk)
    parent = get_run_for(request.place, fork.parent_id)
    context = {"run": fork, "project": request.place.project, "comparison": compare(fork, parent=parent)}
    return render(request, "forks/compare.html", context)
