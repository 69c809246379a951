"""Commenting in the browser: the thread as a page and as a fragment, adding, changing and taking back."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from notebook_app.public import name_of
from reflection_app.core.errors import InvalidInput, NotFound
from reflection_app.core.permissions import Permission
from reflection_app.reviews.comments import CommentInput, add_comment, edit_comment, is_author, take_back_comment
from reflection_app.reviews.models import About, Comment
from reflection_app.reviews.views.comments import Thread, opened_thread, thread_of
from reflection_app.teams.notifications import comments_seen_by
from reflection_app.web.access import DeskRequest, Place, get_review_for, get_run_for, lead_to, project_page
from reflection_app.web.forms import read_input, read_text
from reflection_app.web.list_pages import wants_part
from reflection_app.web.middleware import post_only

PAGES = {About.REVIEW: "review", About.RUN: "run", About.ENTRY: "entry"}


def get_comment_for(place: Place, comment_id: UUID) -> Comment:
    """The project's comment, where the reader may see it. Raises Http404."""
    return get_object_or_404(comments_seen_by(place.actor.label, project_id=place.project.pk), pk=comment_id)


@project_page(Permission.READ_QUEUE, post=Permission.REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def comments(request: DeskRequest, about: str, about_id: UUID) -> HttpResponse:
    """The thread about something, alone on a page; for a page that is open, its list. A POST adds to it."""
    if about not in About:
        raise Http404("nothing of this kind has comments")
    thing = About(about)
    if thing is About.REVIEW:
        title = get_review_for(request.place, about_id).run.task.title
    elif thing is About.RUN:
        title = get_run_for(request.place, about_id).task.title
    else:
        name = name_of(request.place.project.pk, entry_id=about_id)
        if name is None:
            raise Http404("no such entry")
        title = name
    if request.method == "POST":
        typed = read_text(request, "text")
        try:
            comment = read_input(CommentInput, {"text": typed})
            added = add_comment(request.place.project, thing, about_id, comment, actor=request.place.actor)
        except InvalidInput as error:
            thread = thread_of(request, thing, about_id, typed=typed, errors=_said(error))
            if request.headers.get("HX-Request"):
                return render(request, "reviews/comments/_problem.html", {"thread": thread}, status=400)
            return _page(request, thread, title=title, status=400)
        except NotFound:
            raise Http404("gone meanwhile") from None
        if request.headers.get("HX-Request"):
            return _list(request, thread_of(request, thing, about_id))
        return redirect(_address_of(request.place, added))
    thread = opened_thread(request, thing, about_id)
    if not wants_part(request):
        return _page(request, thread, title=title)
    if request.GET.get("seen") == thread.stamp:
        # htmx leaves everything as it is: a link in the list that is focused stays so.
        return HttpResponse(status=204)
    return _list(request, thread)


@project_page(Permission.REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: DeskRequest, comment_id: UUID) -> HttpResponse:
    """The form with the comment's words; where they are refused, it comes back with all that was typed."""
    comment = get_comment_for(request.place, comment_id)
    context: dict[str, Any] = {"comment": comment, "typed": comment.text, "back": _address_of(request.place, comment)}
    if request.method != "POST":
        if comment.deleted_at or not is_author(comment, request.place.actor):
            return redirect(context["back"])
        return render(request, "reviews/comments/edit.html", context)
    typed = read_text(request, "text")
    try:
        edit_comment(comment, read_input(CommentInput, {"text": typed}), actor=request.place.actor)
    except InvalidInput as error:
        context |= {"typed": typed, "errors": _said(error)}
        return render(request, "reviews/comments/edit.html", context, status=400)
    return redirect(context["back"])


@project_page(Permission.REVIEW)
@post_only(page="edit_comment")
def take_back(request: DeskRequest, comment_id: UUID) -> HttpResponse:
    comment = get_comment_for(request.place, comment_id)
    take_back_comment(comment, actor=request.place.actor, is_admin=request.place.may(Permission.UNDO_OTHERS))
    if request.headers.get("HX-Request"):
        return _list(request, thread_of(request, About(comment.about), comment.about_id))
    return lead_to(request, _address_of(request.place, comment), message=_("Comment deleted."))


def _address_of(place: Place, comment: Comment) -> str:
    """Where the comment stands on the thing's own page."""
    return _thing_address(place, About(comment.about), comment.about_id) + f"#comment-{comment.pk}"


def _thing_address(place: Place, about: About, about_id: UUID) -> str:
    return reverse(PAGES[about], args=(place.project.slug, about_id))


def _said(error: InvalidInput) -> list[str]:
    return [str(problem["message"]) for problem in error.errors] or [str(error)]


def _list(request: DeskRequest, thread: Thread) -> HttpResponse:
    return render(request, "reviews/comments/_list.html", {"thread": thread, "alone": True})


def _page(request: DeskRequest, thread: Thread, *, title: str, status: int = 200) -> HttpResponse:
    back = _thing_address(request.place, About(thread.about), thread.about_id)
    context = {"thread": thread, "title": title, "back": back}
    return render(request, "reviews/comments/page.html", context, status=status)
