"""The pages of what is a person's in all projects: language, theme, mail, and the keys that they made."""

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import ApiKey, Profile, Project
from reflection_app.teams.change_profile import change_profile
from reflection_app.web.access import DeskRequest
from reflection_app.web.forms import Typed, blame, read_typed
from reflection_app.web.language import keep_language
from reflection_app.web.surroundings import stand_in_project
from reflection_app.web.theme import keep_theme


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def profile_page(request: HttpRequest) -> HttpResponse:
    """The form, inside the project that the person came from, if there is one."""
    desk_request = cast("DeskRequest", request)
    stand_in_project(desk_request)
    return _change(desk_request) if request.method == "POST" else _show(desk_request)


def _show(request: DeskRequest) -> HttpResponse:
    profile = Profile.objects.filter(user=request.user).first() or Profile(user=request.user)
    form = Typed({"language": profile.language, "theme": profile.theme})
    return _page(request, form, wants_mail=profile.wants_mail)


def _page(request: DeskRequest, form: Typed, *, wants_mail: bool, status: int = 200) -> HttpResponse:
    context = {"form": form, "wants_mail": wants_mail, "languages": settings.LANGUAGES}
    return render(request, "profile.html", context, status=status)


def _change(request: DeskRequest) -> HttpResponse:
    form = read_typed(request.POST, ("language", "theme"))
    wants_mail = "wants_mail" in request.POST
    try:
        profile = change_profile(request.user, **form.values, wants_mail=wants_mail)
    except InvalidInput as error:
        blame(form, error.errors)
        return _page(request, form, wants_mail=wants_mail, status=400)
    # Said in the language that was just chosen: the page after this one is drawn in it.
    chosen = profile.language or translation.get_language_from_request(_without_cookie(request))
    with translation.override(chosen):
        messages.success(request, _("Your profile was saved."))
    return keep_theme(keep_language(redirect(request.get_full_path()), profile.language), profile.theme)


@login_required
@require_safe
def own_keys(request: HttpRequest) -> HttpResponse:
    """The keys that the person made, in the projects that they are a member of."""
    desk_request = cast("DeskRequest", request)
    stand_in_project(desk_request)
    mine = ApiKey.objects.filter(created_by=desk_request.user, project__in=Project.objects.of(desk_request.user))
    keys = mine.select_related("project").order_by("project__name", "-created_at")
    return render(request, "account/keys.html", {"keys": keys})


def _without_cookie(request: HttpRequest) -> HttpRequest:
    bare = HttpRequest()
    bare.META = request.META
    bare.path_info = request.path_info
    return bare
