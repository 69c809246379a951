"""One-time login links: whoever holds one may log in as its user, once, while it is fresh."""

from allauth.usersessions.models import UserSession
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import base36_to_int, urlsafe_base64_decode, urlsafe_base64_encode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from reflection_app.web.language import greet

# They are printed, and so may stand in a log: long enough to come up and be followed, on a slow machine too.
LIVES_FOR_MIN = 15


class LoginLinkTokens(PasswordResetTokenGenerator):
    """Tokens that die with the next login (they hash `last_login`), with another password or soon by themselves."""

    key_salt = "reflection_app.teams.login_links"

    def check_token(self, user: User | None, token: str | None) -> bool:
        if not token or not super().check_token(user, token):
            return False
        made_at_s = base36_to_int(token.partition("-")[0])
        return self._num_seconds(self._now()) - made_at_s <= LIVES_FOR_MIN * 60


tokens = LoginLinkTokens()


def one_time_login_path(user: User) -> str:
    """The path that logs `user` in once."""
    uidb64 = urlsafe_base64_encode(str(user.pk).encode())
    return reverse("login_link", kwargs={"uidb64": uidb64, "token": tokens.make_token(user)})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_link(request: HttpRequest, uidb64: str, token: str) -> HttpResponse:
    """A page with one button, which logs in. Not by GET: mail scanners and prefetching browsers follow links."""
    if request.method == "POST":
        return _use(request, uidb64, token)
    user = _user_of(uidb64)
    usable = user is not None and tokens.check_token(user, token)
    context = {"link_user": user if usable else None}
    return render(request, "account/login_link.html", context, status=200 if usable else 404)


@transaction.atomic
def _use(request: HttpRequest, uidb64: str, token: str) -> HttpResponse:
    # Locked, so that of two requests with one token the second sees the first one's login.
    user = _user_of(uidb64, lock=True)
    if user is None or not tokens.check_token(user, token):
        return render(request, "account/login_link.html", {"link_user": None}, status=404)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    UserSession.objects.create_from_request(request)
    return greet(redirect("overview"), user)


def _user_of(uidb64: str, *, lock: bool = False) -> User | None:
    users = User.objects.select_for_update() if lock else User.objects.all()
    try:
        pk = int(urlsafe_base64_decode(uidb64).decode())
    except ValueError:
        return None
    if pk.bit_length() > 31:
        return None
    return users.filter(pk=pk, is_active=True).first()
