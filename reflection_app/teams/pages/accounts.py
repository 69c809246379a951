"""How allauth's pages of accounts behave on this desk: who may sign up, what mail goes out, where one lands.

Nobody signs up but by an invitation, whose digest the session holds since its link was followed.
"""

from collections.abc import Callable
from typing import Any, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.usersessions.internal.flows.sessions import end_sessions
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from redis.exceptions import RedisError

from reflection_app.core.audit import Actor, client_address
from reflection_app.core.errors import ActionError
from reflection_app.core.models import Digest, Profile
from reflection_app.teams.members import accept_invitation, find_invitation
from reflection_app.teams.models import Invitation
from reflection_app.teams.projects import change_profile
from reflection_app.web.access import DeskRequest, lead_to
from reflection_app.web.forms import read_form
from reflection_app.web.language import greet, keep_language, keep_theme
from reflection_app.web.layout import stand_in_project

INVITED = "invitation"
NO_ADDRESS = "0.0.0.0"  # noqa: S104 - a session's address where none is known, nothing listens on it


def invitation_of(request: HttpRequest) -> Invitation | None:
    """The usable invitation whose link this browser followed, locked where a transaction is open."""
    digest = request.session.get(INVITED)
    return find_invitation(digest, lock=connection.in_atomic_block) if digest else None


class DeskAccounts(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is not typed
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return invitation_of(request) is not None

    def clean_email(self, email: str) -> str:
        """The address. Raises ValidationError where whoever signs up was invited at another one."""
        invitation = None if self.request.user.is_authenticated else invitation_of(self.request)
        if invitation and invitation.email and email.casefold() != invitation.email.casefold():
            raise ValidationError(_("The invitation is for %(email)s.") % {"email": invitation.email})
        return email

    def post_login(self, request: HttpRequest, user: AbstractBaseUser, **kwargs: Any) -> HttpResponse:
        """Where one lands, in one's own language; who signed up lands in the project they were invited to."""
        response: HttpResponse = super().post_login(request, user, **kwargs)
        assert isinstance(user, User)
        if kwargs["signup"] and (digest := request.session.get(INVITED)):
            try:
                membership = accept_invitation(digest, actor=Actor(user=user, address=client_address(request.META)))
            except ActionError:
                # The address has to be confirmed first, or somebody was quicker: the invitation's page says which.
                response = redirect("follow_invitation")
            else:
                del request.session[INVITED]
                response = redirect("project_overview", slug=membership.project.slug)
        return greet(response, user)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        # Of logins the brake counts the failures; this counts those of who is logged in and tells the password again.
        if request.user.is_authenticated:
            super().pre_authenticate(request, **credentials)

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request.META) or NO_ADDRESS

    def should_send_confirmation_mail(self, request: HttpRequest, email_address: EmailAddress, signup: bool) -> bool:
        return bool(settings.MAIL_OPTIONS)

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        return str(settings.PUBLIC_URL + reverse("account_confirm_email", args=[emailconfirmation.key]))

    def get_reset_password_from_key_url(self, key: str) -> str:
        uid, _dash, token = key.partition("-")
        return str(settings.PUBLIC_URL + reverse("account_reset_password_from_key", args=[uid, token]))

    def get_from_email(self) -> str:
        return str(settings.MAIL_FROM)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("profile")

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Sends it now, as the reader waits for it; without a mail server nothing is sent."""
        if settings.MAIL_OPTIONS:
            letter: EmailMessage = self.render_mail(template_prefix, email, {"request": self.request, **context})
            EmailBackend(alias="default", **settings.MAIL_OPTIONS).send_messages([letter])


class DeskSocialAccounts(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth is not typed
    """Providers of OIDC: signing up takes an invitation here, too."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Whether the invitation is one for whom the provider names: no form asks for the address on this way."""
        invitation = invitation_of(request)
        if invitation is None or not invitation.email:
            return invitation is not None
        addresses = {address.email.casefold() for address in sociallogin.email_addresses}
        return invitation.email.casefold() in addresses


# Accounts need what the broker counts (tries, used codes). Where it is away nothing is done, and that is said.

RETRY_AFTER_S = 30
ACCOUNTS = ("/account/", "/login/")


class BrokerAway:
    """A middleware: 503 in place of an error. Nobody is let in uncounted, for a second factor is guessed quickly."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, RedisError) or not request.path.startswith(ACCOUNTS):
            return None
        context = {
            "title": _("Temporarily unavailable"),
            "error": _("A required service is restarting. Nothing was changed; try again soon."),
        }
        response = render(request, "refused.html", context, status=503)
        response["Retry-After"] = str(RETRY_AFTER_S)
        return response


# Where a person is logged in, browser by browser, and logging out elsewhere.


@login_required
@require_safe
def session_list(request: HttpRequest) -> HttpResponse:
    # One that is older than the list of sessions is on it from now on.
    UserSession.objects.create_from_request(request)
    open_ones = UserSession.objects.purge_and_list(request.user)
    newest_first = sorted(open_ones, key=lambda session: session.created_at, reverse=True)
    return render(request, "usersessions/list.html", {"sessions": newest_first})


@login_required
@require_POST
def end_one(request: HttpRequest, session_id: int) -> HttpResponse:
    """Logs that browser out; one that is not the person's, or not there any more, stays as it is."""
    own = UserSession.objects.filter(user=request.user, pk=session_id)
    end_sessions(request, list(own))
    if not request.user.is_authenticated:
        return redirect("login")
    return lead_to(request, "usersessions_list", message=_("Browser logged out."))


@login_required
@require_POST
def end_others(request: HttpRequest) -> HttpResponse:
    others = UserSession.objects.filter(user=request.user).exclude(session_key=request.session.session_key)
    end_sessions(request, list(others))
    return lead_to(request, "usersessions_list", message=_("All other browsers logged out."))


# The pages of what is a person's in all projects: language, theme and mail.


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def profile_page(request: HttpRequest) -> HttpResponse:
    """The form, inside the project that the person came from, if there is one."""
    desk_request = cast("DeskRequest", request)
    stand_in_project(desk_request)
    user = desk_request.user
    profile = Profile.objects.filter(user=user).first() or Profile(user=user)
    saved = {"language": profile.language, "theme": profile.theme, "digest": profile.digest}
    form = read_form(request, tuple(saved), saved)
    wants_mail = "wants_mail" in request.POST if request.method == "POST" else profile.wants_mail
    if request.method == "POST":
        with form.collect_errors():
            profile = change_profile(user, **form.values, wants_mail=wants_mail)
            # What the browser asks for, whatever was chosen before and stands in its cookie.
            bare = HttpRequest()
            bare.META, bare.path_info = request.META, request.path_info
            # Said in the language that was just chosen: the page after this one is drawn in it.
            with translation.override(profile.language or translation.get_language_from_request(bare)):
                response = lead_to(request, request.get_full_path(), message=_("Profile saved."))
            return keep_theme(keep_language(response, profile.language), profile.theme)
    context = {
        "form": form,
        "wants_mail": wants_mail,
        "languages": settings.LANGUAGES,
        "digests": [
            ("", _("Never")),
            (Digest.DAILY.value, _("Daily, in the morning")),
            (Digest.WEEKLY.value, _("Weekly, on Monday")),
        ],
    }
    return render(request, "teams/profile.html", context, status=form.status)
