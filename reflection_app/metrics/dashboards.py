"""Dashboards: what may stand on one, and making, changing and deleting them."""

from typing import Annotated
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, NotTheAuthor, wrong
from reflection_app.core.models import Membership, Project
from reflection_app.core.permissions import Permission, member_may
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.metrics.models import Dashboard

MOST_TILES = 24
MOST_OF_ONE = 20
LONGEST_NAME = 80
# What a tile can be, by what its name begins with.
FIGURE, CHART = "figure:", "chart:"


class DashboardInput(Value):
    """A dashboard as it is to be. `tiles` that the desk does not know are left out when it is shown."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(storable)]
    tiles: Annotated[tuple[Annotated[str, Field(max_length=80)], ...], Field(max_length=MOST_TILES)] = ()
    is_shared: bool = False


def dashboards_for(project: Project, *, user_id: int) -> QuerySet[Dashboard]:
    """What the user may see: their own, and those that are shared."""
    return Dashboard.objects.filter(Q(owner=user_id) | Q(is_shared=True), project=project).select_related("owner")


def may_change(dashboard: Dashboard, *, user_id: int, is_admin: bool) -> bool:
    """Whether the user may change or delete it: its owner, and an admin where it is shared."""
    return dashboard.owner_id == user_id or (dashboard.is_shared and is_admin)


def keep_dashboard(
    project: Project, data: DashboardInput, *, actor: Actor, dashboard: Dashboard | None = None
) -> Dashboard:
    """The dashboard as it was asked for: a new one, or `dashboard` changed.

    What is or becomes shared is audited. Raises InvalidInput for a name that its owner has given already and where
    who may not review would share; NotTheAuthor; and Conflict where the person has too many, or where somebody deleted
    it meanwhile.
    """
    name = data.name.strip()
    if not name:
        raise wrong("name", _("Enter a name."))
    values = {"name": name, "tiles": list(dict.fromkeys(data.tiles)), "is_shared": data.is_shared}
    try:
        with transaction.atomic():
            if dashboard is None:
                Project.objects.select_for_update(no_key=True).get(pk=project.pk)
                if Dashboard.objects.filter(project=project, owner=actor.user).count() >= MOST_OF_ONE:
                    raise Conflict(
                        _("You already have %(most)s dashboards in this project. Delete one first.")
                        % {"most": MOST_OF_ONE}
                    )
                kept = Dashboard.objects.create(project=project, owner=actor.user, owner_label=actor.label, **values)
                was_shared, before = False, {}
            else:
                locked = Dashboard.objects.select_for_update().filter(pk=dashboard.pk).first()
                if locked is None:
                    raise Conflict(_("Not saved: the dashboard no longer exists."))
                # As it and the person's role are now, not as they were when the page was opened.
                refuse_change(locked, actor=actor)
                kept, was_shared = locked, locked.is_shared
                before = {"name": kept.name, "tiles": kept.tiles, "is_shared": kept.is_shared}
                for field, value in values.items():
                    setattr(kept, field, value)
                kept.save()
            if kept.is_shared and not was_shared and not may_share(project, actor=actor):
                raise wrong("is_shared", _("Sharing a dashboard requires permission to review."))
            if was_shared or kept.is_shared:
                audit(project.pk, actor, "dashboard.changed", target=kept, before=before, after=values)
    except IntegrityError:
        raise wrong("name", _("A dashboard with this name already exists.")) from None
    return kept


@transaction.atomic
def delete_dashboard(dashboard: Dashboard, *, actor: Actor) -> None:
    """Takes it away; whoever does so after another changes nothing. Raises NotTheAuthor."""
    locked = Dashboard.objects.select_for_update().filter(pk=dashboard.pk).first()
    if locked is None:
        return
    refuse_change(locked, actor=actor)
    if locked.is_shared:
        before = {"name": locked.name, "tiles": locked.tiles}
        audit(locked.project_id, actor, "dashboard.deleted", target=locked, before=before)
    locked.delete()


def may_share(project: Project, *, actor: Actor) -> bool:
    """Whether the person may show the whole project what they made, as with saved views."""
    membership = Membership.objects.filter(project=project, user=actor.user).first()
    return membership is not None and member_may(membership, Permission.REVIEW)


def refuse_change(dashboard: Dashboard, *, actor: Actor) -> None:
    """Raises NotTheAuthor where it is not the person's to change or delete."""
    membership = Membership.objects.filter(project=dashboard.project_id, user=actor.user).first()
    is_admin = membership is not None and member_may(membership, Permission.CHANGE_SETTINGS)
    if membership is None or not may_change(dashboard, user_id=membership.user_id, is_admin=is_admin):
        raise NotTheAuthor(_("Only the creator can change this dashboard; admins can if it is shared."))


def get_dashboard(project: Project, dashboard_id: UUID, *, user_id: int) -> Dashboard | None:
    """The dashboard, where the user may see it."""
    return dashboards_for(project, user_id=user_id).filter(pk=dashboard_id).first()
