"""How allauth's pages of accounts behave on this desk: who may sign up, what mail goes out, where one lands.

Nobody signs up but by an invitation, whose digest the session holds since its link was followed.
"""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, client_address
from reflection_app.core.errors import ActionError
from reflection_app.teams.invitations import accept_invitation, find_invitation
from reflection_app.teams.models.invitation import Invitation
from reflection_app.web.language import greet

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

    def post_login(self, request: HttpRequest, user: AbstractBaseUser, **told: Any) -> HttpResponse:
        """Where one lands, in one's own language; who signed up lands in the project they were invited to."""
        response: HttpResponse = super().post_login(request, user, **told)
        assert isinstance(user, User)
        return greet(_landed(request, user) or response if told["signup"] else response, user)

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


def _landed(request: HttpRequest, user: User) -> HttpResponse | None:
    digest = request.session.get(INVITED)
    if not digest:
        return None
    actor = Actor(user=user, address=client_address(request.META))
    try:
        membership = accept_invitation(digest, actor=actor)
    except ActionError:
        # The address has to be confirmed first, or somebody was quicker: the invitation's page says which.
        return redirect("follow_invitation")
    del request.session[INVITED]
    return redirect("project_overview", slug=membership.project.slug)


class DeskSocialAccounts(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth is not typed
    """Providers of OIDC: signing up takes an invitation here, too."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Whether the invitation is one for whom the provider names: no form asks for the address on this way."""
        invitation = invitation_of(request)
        if invitation is None or not invitation.email:
            return invitation is not None
        told = {address.email.casefold() for address in sociallogin.email_addresses}
        return invitation.email.casefold() in told
