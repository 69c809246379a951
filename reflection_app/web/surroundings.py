"""The project whose navigation stands around a page that belongs to a person and not to a project."""

from reflection_app.models import Membership
from reflection_app.web.access import DeskRequest, place_of


def stand_in_project(request: DeskRequest) -> None:
    """Draws the page inside the project that the address names, else inside the person's first."""
    rows = Membership.objects.select_related("project").filter(user=request.user, project__deleted_at__isnull=True)
    own = rows.order_by("project__name")
    membership = own.filter(project__slug=request.GET.get("project", "")).first() or own.first()
    if membership is not None:
        request.place = place_of(request, membership)
