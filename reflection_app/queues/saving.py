"""Views of lists: saved, renamed, changed, shared, deleted.

What is somebody's own only they see and change. What is shared everybody sees, and who saved it, or an admin, changes.
A view's `query` is what its list understood of the address, so that nothing else is ever kept or asked for.
"""

from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from pydantic import Field

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, NotFound, NotTheAuthor, wrong
from reflection_app.core.models import Project
from reflection_app.loops.values import Value
from reflection_app.queues.changing import Name, audit_changes
from reflection_app.queues.eligibility import person_of
from reflection_app.queues.models import LONGEST_QUERY, ListName, SavedView

MOST_VIEWS = 100


class ViewInput(Value):
    """Filters and an order of a list, under a name."""

    list: ListName = ListName.REVIEWS
    name: Name = Field(examples=["Rejected, by planner"])
    query: str = Field(
        default="",
        max_length=LONGEST_QUERY,
        description="filters as the list's page has them in its address; what is no filter of the list is left out",
        examples=["agent=planner&verdict=REJECT&sort=score"],
    )
    is_shared: bool = Field(default=False, description="with the whole project")


class ViewChange(Value):
    """What is to be changed of a view; what is left out stays."""

    name: Name | None = None
    query: str | None = Field(default=None, max_length=LONGEST_QUERY)
    is_shared: bool | None = None


def views_for(project_id: UUID, actor: Actor) -> QuerySet[SavedView]:
    """Those that `actor` sees: what is shared, and a person's own."""
    return SavedView.objects.filter(Q(owner=None) | Q(owner=actor.user), project=project_id)


def may_change(view: SavedView, *, actor: Actor, is_admin: bool) -> bool:
    """Whether they may: their own, what they shared, and as an admin all that is shared."""
    if view.owner_id is not None:
        return view.owner_id == actor.person_id
    return is_admin or (view.created_by_id is not None and view.created_by_id == actor.person_id)


@transaction.atomic
def save_view(project: Project, data: ViewInput, *, actor: Actor) -> SavedView:
    """The view. Raises InvalidInput where its name is taken, or Conflict where there are too many."""
    owner = None if data.is_shared else actor.user
    if SavedView.objects.filter(project=project, owner=owner).count() >= MOST_VIEWS:
        raise Conflict(_("Too many saved views. Delete one that you no longer need."))
    view = SavedView(
        project=project,
        list=data.list.value,
        name=data.name,
        query=data.query,
        owner=owner,
        created_by=actor.user,
        created_by_label=actor.label,
    )
    _write(view)
    audit(project.pk, actor, "view.saved", target=view, after=_audit_fields(view))
    return view


@transaction.atomic
def change_view(view: SavedView, change: ViewChange, *, actor: Actor) -> SavedView:
    """The changed view. Raises InvalidInput where its name is taken, NotTheAuthor, or NotFound.

    What is taken back to be one's own alone is so for who saved it; an admin does not make it theirs.
    """
    locked = _lock(view, actor=actor)
    before = _audit_fields(locked)
    if change.name is not None:
        locked.name = change.name
    if change.query is not None:
        locked.query = change.query
    if change.is_shared is True:
        locked.owner = None
    elif change.is_shared is False and locked.is_shared:
        if actor.user is None or locked.created_by_id != actor.user.pk:
            raise NotTheAuthor(_("Only the owner of this view can stop sharing it. You can delete it."))
        locked.owner = actor.user
    _write(locked)
    audit_changes(locked, "view.changed", actor=actor, before=before, after=_audit_fields(locked))
    return locked


@transaction.atomic
def delete_view(view: SavedView, *, actor: Actor) -> None:
    """Deletes it. Raises NotTheAuthor, or NotFound the second time."""
    locked = _lock(view, actor=actor)
    audit(locked.project_id, actor, "view.deleted", target=locked, before=_audit_fields(locked))
    locked.delete()


def _lock(view: SavedView, *, actor: Actor) -> SavedView:
    locked = SavedView.objects.select_for_update(of=("self",)).filter(pk=view.pk).first()
    if locked is None:
        raise NotFound(_("Saved view not found."))
    is_admin = person_of(locked.project_id, actor=actor).is_admin
    if not may_change(locked, actor=actor, is_admin=is_admin):
        raise NotTheAuthor(_("Only the owner of this view or an admin can change it. You can save a copy."))
    return locked


def _write(view: SavedView) -> None:
    """Raises InvalidInput where another view of the same people has the name; the database says so."""
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:
        if "view_name_once" not in str(error):
            raise
        said = (
            _("Another shared view has this name.") if view.is_shared else _("You already have a view with this name.")
        )
        raise wrong("name", said) from None


def _audit_fields(view: SavedView) -> dict[str, object]:
    """What all admins read. How somebody calls what only they see is nobody else's business."""
    fields: dict[str, object] = {"list": view.list, "query": view.query, "is_shared": view.is_shared}
    return fields | ({"name": view.name} if view.is_shared else {})
