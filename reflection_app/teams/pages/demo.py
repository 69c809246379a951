"""Loading the demo, and removing it."""

from typing import cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from reflection_app.core.audit import Actor, client_address
from reflection_app.core.errors import ActionError
from reflection_app.core.permissions import Permission
from reflection_app.teams.demo.loading import load_demo
from reflection_app.teams.demo.removing import remove_demo
from reflection_app.teams.projects import MayNotCreate, may_create_projects
from reflection_app.web.access import DeskRequest, confirm_page, lead_to, project_page, refused


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def load_demo_page(request: HttpRequest) -> HttpResponse:
    """Acts on POST; whoever only looks is sent to where the button is."""
    if request.method != "POST":
        return redirect("new_project")
    desk_request = cast("DeskRequest", request)
    if not may_create_projects(desk_request.user):
        return refused(request, MayNotCreate(_("Only staff can create projects on this server.")))
    try:
        project = load_demo(actor=Actor(user=desk_request.user, address=client_address(request.META)))
    except ActionError as error:
        return refused(request, error)
    return lead_to(request, "project_overview", project.slug, message=_("Demo loaded."))


@project_page(Permission.DELETE_DATA)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_demo_page(request: DeskRequest) -> HttpResponse:
    """Asks once."""
    project = request.place.project
    if request.method == "POST":
        try:
            remove_demo(project, actor=request.place.actor)
        except ActionError as error:
            return refused(request, error)
        return lead_to(request, "overview", message=_("Demo removed."))
    if not project.is_demo:
        return redirect("project_overview", slug=project.slug)
    return confirm_page(
        request,
        title=_("Remove the demo?"),
        text=_(
            "Removes the demo project with its sample runs, reviews, sessions and notebook, its two reviewers, and "
            "everything you added. Other projects are not affected."
        ),
        button=_("Remove demo"),
        back=reverse("project_overview", args=(project.slug,)),
    )
