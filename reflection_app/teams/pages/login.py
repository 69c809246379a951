"""Logging in: the brake on guessing, one-time links, the first password, second factors at rest."""

import base64
import hashlib
import logging
import secrets
from collections.abc import Callable
from typing import Any, cast

from allauth.account.forms import LoginForm, SetPasswordForm
from allauth.account.internal.flows.password_change import finalize_password_set
from allauth.account.signals import password_changed, password_reset, password_set
from allauth.account.views import LoginView
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.usersessions.models import UserSession
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.cache import cache
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import base36_to_int, urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect
from redis.exceptions import RedisError

from reflection_app.adapters.tools.secrets import cipher
from reflection_app.core.audit import client_address, counted_address
from reflection_app.core.models import Profile
from reflection_app.web.access import MARK, must_change_password
from reflection_app.web.language import greet

# Guessing passwords is slow: a name that failed too often from one address has to wait, and so has an address that
# fails with ever other names.


log = logging.getLogger(__name__)

MOST_FAILURES = 10
# Of all names together; behind one address there may be a whole office.
MOST_FAILURES_OF_ADDRESS = 100
WITHIN_S = 15 * 60


class DeskLoginForm(LoginForm):  # type: ignore[misc]  # allauth is not typed
    """Asks for the name as `username`, the word that the keepers of passwords know."""

    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else field_name


class BrakedLoginView(LoginView):  # type: ignore[misc]  # allauth is not typed
    """The login page; 429 for a name and address with too many failures, be the password right or wrong."""

    def post(self, request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
        who = f"{request.POST.get('username', '').strip().casefold()}\n{counted_address(request.META)}"
        key = f"login:{hashlib.sha256(who.encode(errors='replace')).hexdigest()}"
        key_of_address = f"login-from:{counted_address(request.META)}"
        # Counted before the password is looked at: of many requests at once none slips past the count.
        tries = _asked(lambda: _count(key))
        # A broker that did not answer is asked nothing more for this login: each question takes a second.
        tries_of_address = None if tries is None else _asked(lambda: _count(key_of_address))
        if (tries or 0) > MOST_FAILURES or (tries_of_address or 0) > MOST_FAILURES_OF_ADDRESS:
            log.warning("a login from %s was refused: too many failures", client_address(request.META))
            context = self.get_context_data(too_many=True, wait_minutes=WITHIN_S // 60)
            wait = {"Retry-After": str(WITHIN_S)}
            refusal: HttpResponse = self.response_class(
                request, self.get_template_names(), context, status=429, headers=wait
            )
            return refusal
        response: HttpResponse = super().post(request, *args, **kwargs)
        # It leads on where the password was right, be it to the second factor.
        if tries_of_address is not None and 300 <= response.status_code < 400:
            _asked(lambda: cache.delete(key))
            _asked(lambda: _uncount(key_of_address))
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"next": self.get_next_url() or ""}


def _count(key: str) -> int:
    """How often it was tried with this key within the time, this one included."""
    if cache.add(key, 1, timeout=WITHIN_S):
        return 1
    try:
        return cache.incr(key)
    except ValueError:
        # It ran out between the two.
        return 1


def _uncount(key: str) -> int:
    try:
        return cache.decr(key)
    except ValueError:
        return 0


def _asked[T](question: Callable[[], T]) -> T | None:
    """The cache's answer, or None without one: then nobody is locked out."""
    try:
        return question()
    except (RedisError, OSError) as error:
        log.warning("logins are not counted, the broker is away: %s", error)
        return None


# One-time login links: whoever holds one may log in as its user, once, while it is fresh.

# They are printed, and so may stand in a log: long enough to come up and be followed, on a slow machine too.
LIVES_FOR_MIN = 15


class LoginLinkTokens(PasswordResetTokenGenerator):
    """Tokens that die with the next login (they hash `last_login`), with another password or soon by themselves."""

    key_salt = "reflection_app.teams.pages.login"

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
        with transaction.atomic():
            # Locked, so that of two requests with one token the second sees the first one's login.
            user = _user_of(uidb64, lock=True)
            if user is None or not tokens.check_token(user, token):
                return render(request, "account/login_link.html", {"link_user": None}, status=404)
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            UserSession.objects.create_from_request(request)
            return greet(redirect("overview"), user)
    user = _user_of(uidb64)
    usable = user is not None and tokens.check_token(user, token)
    context = {"link_user": user if usable else None}
    return render(request, "account/login_link.html", context, status=200 if usable else 404)


def _user_of(uidb64: str, *, lock: bool = False) -> User | None:
    users = User.objects.select_for_update() if lock else User.objects.all()
    try:
        pk = int(urlsafe_base64_decode(uidb64).decode())
    except ValueError:
        return None
    if pk.bit_length() > 31:
        return None
    return users.filter(pk=pk, is_active=True).first()


# The password of a first start was seen by whoever reads along: nothing is open to its owner until they chose another.
#
# That is looked up at each login and noted in the session, so that no page has to ask the database for it. Choosing one
# ends all other sessions of the person.

# By the names of their addresses. Everything else is closed, what is not written yet included.
OPEN = frozenset({"first_password", "logout", "account_logout", "set_language"})


class OwnPasswordFirst:
    """A middleware: who has yet to choose a password is led to where they do."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        if settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return None
        # The mark of a session that ended with another password is nobody's.
        if not must_change_password(request.session) or not request.user.is_authenticated:
            return None
        if request.resolver_match and request.resolver_match.url_name in OPEN:
            return None
        # Of a part of a page the whole has to go.
        address = reverse("first_password")
        return HttpResponseClientRedirect(address) if "HX-Request" in request.headers else redirect(address)


def _note(sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
    if Profile.objects.filter(user=user, must_change_password=True).exists():
        request.session[MARK] = True


def _forget(sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
    Profile.objects.filter(user=user).update(must_change_password=False)
    request.session.pop(MARK, None)


def listen() -> None:
    """Notes at each login who has yet to choose a password, and forgets it however one is chosen."""
    user_logged_in.connect(_note, dispatch_uid="note-first-password")
    for chosen in (password_set, password_changed, password_reset):
        chosen.connect(_forget, dispatch_uid="forget-first-password")


# Where the owner of a password that was printed chooses their own.


@login_required
@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def choose_first_password(request: HttpRequest) -> HttpResponse:
    """A page that asks for a password, and for none of before: who is here has just logged in, perhaps by a link."""
    if not must_change_password(request.session):
        return redirect("overview")
    user = cast("User", request.user)
    form = SetPasswordForm(data=request.POST if request.method == "POST" else None, user=user)
    if form.is_valid():
        if not user.check_password(form.cleaned_data["password1"]):
            with transaction.atomic():
                form.save()
                finalize_password_set(request, user)
            return redirect("overview")
        form.add_error("password1", _("This is the initial password. Choose a different one."))
    return render(request, "account/first_password.html", {"form": form}, status=400 if form.errors else 200)


# How second factors are kept: sealed like all secrets, so that whoever reads the database can make no codes.

PURPOSE = b"reflection-desk: second factors"
SECRET_BYTES = 20


class DeskSecondFactors(DefaultMFAAdapter):  # type: ignore[misc]  # allauth is not typed
    def encrypt(self, text: str) -> str:
        return cipher(PURPOSE).encrypt(text.encode()).decode("ascii")

    def decrypt(self, encrypted_text: str) -> str:
        """The secret; where SECRET_KEY has changed, one that no code fits. An empty one would let anybody count."""
        try:
            return cipher(PURPOSE).decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            log.warning("a second factor cannot be read: SECRET_KEY has changed. Its owner has to set it up anew")
            return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()
