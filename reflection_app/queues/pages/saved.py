"""Saving views of lists in the browser, changing and deleting them; and the navigation of every page."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import ActionError, Conflict, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.queues.models import LONGEST_QUERY, ListName, SavedView
from reflection_app.queues.saving import (
    ViewChange,
    ViewInput,
    change_view,
    delete_view,
    may_change,
    save_view,
    views_for,
)
from reflection_app.queues.views.saved import LISTS, address_of, understood
from reflection_app.web.access import DeskRequest, Place, back_to, lead_to, project_page
from reflection_app.web.forms import Form, Problems, Refused, read_form
from reflection_app.web.middleware import fragment, post_only

FIELDS = ("name", "list", "query", "is_shared")
SENTENCES = {"name": gettext_noop("Enter 1 to 60 characters."), "list": gettext_noop("List not found.")}


def get_view_for(place: Place, view_id: UUID) -> SavedView:
    """The shared view, or one of the reader's own. Raises Http404."""
    return get_object_or_404(views_for(place.project.pk, place.actor), pk=view_id)


@project_page(Permission.READ)
@require_safe
def view_list(request: DeskRequest) -> HttpResponse:
    """All that the reader may open: their own, then what is shared."""
    project, actor = request.place.project, request.place.actor
    is_admin = request.place.may(Permission.CHANGE_SETTINGS)
    lines = [
        {
            "view": view,
            "address": address_of(view, slug=project.slug),
            "list": LISTS[ListName(view.list)],
            "may_change": may_change(view, actor=actor, is_admin=is_admin),
        }
        for view in views_for(project.pk, actor)
    ]
    own, shared = ([line for line in lines if line["view"].is_shared is is_shared] for is_shared in (False, True))  # type: ignore[attr-defined]
    return render(request, "queues/views.html", {"own": own, "shared": shared})


@project_page(Permission.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def new_view(request: DeskRequest) -> HttpResponse:
    """Saves what a list's address asks for under a name; refused, it asks again with all that was typed."""
    initial = {name: request.GET.get(name, "") for name in ("list", "query")}
    form = read_form(request, FIELDS, initial)
    name = form.values["list"] if form.values["list"] in ListName else ListName.REVIEWS.value
    form.values |= {"list": name, "query": understood(ListName(name), form.values["query"])}
    if request.method != "POST":
        return _form(request, form)
    try:
        with form.collect_errors(_problems):
            data = ViewInput.model_validate(
                {**form.given("name", "list", "query"), "is_shared": bool(form.values["is_shared"])}
            )
            if data.is_shared and not request.place.may(Permission.REVIEW):
                raise InvalidInput("", errors=[{"field": "is_shared", "message": _("Only reviewers can share views.")}])
            view = save_view(request.place.project, data, actor=request.place.actor)
            return lead_to(request, _address(request, view), message=_("View saved."))
    except Conflict as error:
        form.add_error("general", str(error))
    return _form(request, form)


@project_page(Permission.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_view(request: DeskRequest, view_id: UUID) -> HttpResponse:
    """Another name, and whether it is shared. Saving filters is `save_query`, on the list itself."""
    view = get_view_for(request.place, view_id)
    initial = {"name": view.name, "is_shared": "on" if view.is_shared else ""}
    form = read_form(request, ("name", "is_shared"), initial)
    if request.method != "POST":
        return _form(request, form, view=view)
    try:
        with form.collect_errors(_problems):
            wanted = bool(form.values["is_shared"])
            if wanted and not view.is_shared and not request.place.may(Permission.REVIEW):
                raise InvalidInput("", errors=[{"field": "is_shared", "message": _("Only reviewers can share views.")}])
            given = {"name": form.values["name"]} | ({"is_shared": wanted} if wanted != view.is_shared else {})
            change_view(view, ViewChange.model_validate(given), actor=request.place.actor)
            return back_to(request, "saved_views", message=_("Saved."))
    except ActionError as error:
        form.add_error("general", str(error))
        return _form(request, form, view=view, status=error.status)
    return _form(request, form, view=view)


@project_page(Permission.READ)
@post_only(page="edit_view")
def save_query(request: DeskRequest, view_id: UUID) -> HttpResponse:
    """The filters that are shown now become those of the view."""
    view = get_view_for(request.place, view_id)
    query = understood(ListName(view.list), request.POST.get("query", "")[:LONGEST_QUERY])
    changed = change_view(view, ViewChange(query=query), actor=request.place.actor)
    return lead_to(request, _address(request, changed), message=_("View filters updated."))


@project_page(Permission.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_view(request: DeskRequest, view_id: UUID) -> HttpResponse:
    """Asks first; the POST deletes."""
    view = get_view_for(request.place, view_id)
    if request.method != "POST":
        return render(request, "queues/delete_view.html", {"view": view})
    delete_view(view, actor=request.place.actor)
    return back_to(request, "saved_views", message=_("View deleted."))


@project_page(Permission.READ)
@require_safe
@fragment(page="project_overview")
def navigation(request: DeskRequest) -> HttpResponse:
    """All that changes in the navigation: the counts and the queues.

    In one answer: each open page of the project asks for it whenever somebody decides.
    """
    return render(request, "_navigation_news.html")


def _address(request: DeskRequest, view: SavedView) -> str:
    return address_of(view, slug=request.place.project.slug)


def _problems(error: Refused) -> Problems:
    """In plain sentences."""
    if isinstance(error, InvalidInput):
        return error.errors or [{"field": "general", "message": str(error)}]
    found = error.errors(include_url=False, include_input=False)
    names = dict.fromkeys(str(one["loc"][0]) if one["loc"] else "" for one in found)
    said = _("These filters are too long to save.")
    return [{"field": name, "message": _(SENTENCES[name]) if name in SENTENCES else said} for name in names]


def _form(
    request: DeskRequest, form: Form, *, view: SavedView | None = None, status: int | None = None
) -> HttpResponse:
    name = ListName(view.list if view else form.values["list"])
    query = view.query if view else form.values["query"]
    address = reverse(LISTS[name].page, args=(request.place.project.slug,))
    context = {
        "form": form,
        "fields": form.fields,
        "general": form.general,
        "view": view,
        "list": LISTS[name],
        "list_name": name.value,
        "query": query,
        "shows": f"{address}?{query}" if query else address,
        "may_share": request.place.may(Permission.REVIEW),
    }
    return render(request, "queues/view_form.html", context, status=status or form.status)
