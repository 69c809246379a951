"""The page on which people who may make projects make one."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from reflection_app.core.audit import Actor, client_address
from reflection_app.core.errors import InvalidInput
from reflection_app.teams.create_project import MayNotCreate, create_project, may_create_projects
from reflection_app.web.access import DeskRequest
from reflection_app.web.forms import Typed, blame, read_typed
from reflection_app.web.refusals import refused
from reflection_app.web.surroundings import stand_in_project

FIELDS = ("name", "slug")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_project(request: HttpRequest) -> HttpResponse:
    desk_request = cast("DeskRequest", request)
    stand_in_project(desk_request)
    if not may_create_projects(desk_request.user):
        return refused(request, MayNotCreate(_("Only staff may make projects on this desk.")))
    if request.method != "POST":
        return _page(request, Typed(dict.fromkeys(FIELDS, "")))
    return _create(desk_request)


def _create(request: DeskRequest) -> HttpResponse:
    typed = read_typed(request.POST, FIELDS)
    actor = Actor(user=request.user, address=client_address(request.META))
    try:
        project = create_project(request.user, name=typed.values["name"], slug=typed.values["slug"], actor=actor)
    except InvalidInput as error:
        blame(typed, error.errors)
        return _page(request, typed, status=400)
    messages.success(request, _("The project is there. Invite those who work on it."))
    return redirect("members", slug=project.slug)


def _page(request: HttpRequest, typed: Typed, *, status: int = 200) -> HttpResponse:
    return render(request, "new_project.html", {"form": typed, "fields": typed.fields}, status=status)
