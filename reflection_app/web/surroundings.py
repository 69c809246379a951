"""The project whose navigation stands around a page that belongs to a person and not to a project."""

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.http import HttpRequest, HttpResponseBase

from reflection_app.core.models import Membership
from reflection_app.web.access import DeskRequest, place_of

CAME_FROM = "project"


def stand_in_project(request: DeskRequest) -> None:
    """Draws the page inside the project that the address names, else the one before, else the person's first."""
    rows = Membership.objects.select_related("project").filter(user=request.user, project__deleted_at__isnull=True)
    own = list(rows.order_by("project__name"))
    named, before = request.GET.get("project", ""), request.session.get(CAME_FROM, "")
    by_slug = {membership.project.slug: membership for membership in own}
    membership = by_slug.get(named) or by_slug.get(before) or (own[0] if own else None)
    if membership is None:
        return
    if named in by_slug and named != before:
        request.session[CAME_FROM] = named
    request.place = place_of(request, membership)


def inside_project[**P, R: HttpResponseBase](view: Callable[P, R]) -> Callable[P, R]:
    """The view, drawn inside a project for who is logged in."""

    @wraps(view)
    def standing(*args: P.args, **kwargs: P.kwargs) -> R:
        request = cast("HttpRequest", args[0])
        if request.user.is_authenticated:
            stand_in_project(cast("DeskRequest", request))
        return view(*args, **kwargs)

    return standing
