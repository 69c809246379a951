"""A project's API keys: who has which, making one, revoking one."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Scope
from reflection_app.core.permissions import Permission, member_may
from reflection_app.teams.api_keys import USUAL_SCOPES, brought_by, create_api_key, revoke_api_key
from reflection_app.teams.models.invitation import Invitation
from reflection_app.web.access import DeskRequest, get_api_key_for, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.complaints import in_plain_words
from reflection_app.web.forms import Typed, blame, read_typed

KEY_FIELDS = ("name", "days")
NEW_KEY = "new_api_key"
SCOPES = {
    Scope.TASKS_WRITE: gettext_noop("hand in tasks, attempts and failures, cancel runs"),
    Scope.RUNS_READ: gettext_noop("read tasks, runs, reviews, tickets and reports"),
    Scope.REVIEWS_WRITE: gettext_noop(
        "decide reviews and instructions of others' work, answer questions, order a redo; for programs that review"
    ),
    Scope.NOTEBOOK_READ: gettext_noop("be told lessons of the notebook"),
    Scope.NOTEBOOK_WRITE: gettext_noop("propose entries to the notebook"),
    Scope.METRICS_READ: gettext_noop("read metrics"),
    Scope.ADMIN: gettext_noop("all of these, and settings, viewers and webhooks"),
}


@dataclass(frozen=True)
class OfferedScope:
    value: str
    words: str


@never_cache
@project_page()
@require_safe
def keys_page(request: DeskRequest) -> HttpResponse:
    return _page(request, secret=_new_secret(request))


def _page(
    request: DeskRequest,
    *,
    form: Typed | None = None,
    scopes: list[str] | None = None,
    secret: str = "",
    status: int = 200,
) -> HttpResponse:
    typed = form or Typed(dict.fromkeys(KEY_FIELDS, ""))
    context = {
        "may_change": member_may(request.place.membership, Permission.MANAGE_KEYS),
        "keys": request.place.project.api_keys.select_related("created_by"),
        "key_form": typed,
        "key_fields": typed.fields,
        "scopes_offered": [OfferedScope(scope.value, _(words)) for scope, words in SCOPES.items()],
        "chosen_scopes": [scope.value for scope in USUAL_SCOPES] if scopes is None else scopes,
        "secret": secret,
    }
    return render(request, "settings/keys.html", context, status=status)


@never_cache
@project_page(Permission.MANAGE_KEYS)
@post_only(page="keys")
def create_key(request: DeskRequest) -> HttpResponse:
    """Makes the key and goes back to the keys, which show its secret once: reloading them makes no second key."""
    typed = read_typed(request.POST, KEY_FIELDS)
    scopes = request.POST.getlist("scopes")
    try:
        expires_at = timezone.now() + timedelta(days=_days(typed)) if typed.values["days"] else None
        key, secret = create_api_key(
            request.place.project,
            name=typed.values["name"],
            scopes=scopes,
            actor=request.place.actor,
            expires_at=expires_at,
        )
    except InvalidInput as error:
        blame(typed, in_plain_words(error.errors))
        return _page(request, form=typed, scopes=scopes, status=400)
    request.session[NEW_KEY] = {"project": str(key.project_id), "secret": secret}
    return redirect("keys", slug=request.place.project.slug)


def _new_secret(request: DeskRequest) -> str:
    """The secret of a key that was made just now, taken out of the session; else nothing."""
    made: dict[str, str] = request.session.get(NEW_KEY) or {}
    if request.method != "GET" or made.get("project") != str(request.place.project.pk):
        return ""
    del request.session[NEW_KEY]
    return made["secret"]


def _days(typed: Typed) -> int:
    text = typed.values["days"]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 3650 and len(text) <= 4):
        raise InvalidInput(_("When should the key expire?"), errors=[{"field": "days", "message": _("1 to 3650 days")}])
    return int(text)


@project_page(Permission.MANAGE_KEYS)
@require_http_methods(["GET", "HEAD", "POST"])
def revoke_key(request: DeskRequest, key_id: UUID) -> HttpResponse:
    """Asks first; the POST revokes."""
    key = get_api_key_for(request.place, key_id)
    if request.method != "POST":
        open_ones = Invitation.objects.usable().filter(created_by_key=key).count()
        return render(request, "settings/revoke.html", {"key": key, "brought": brought_by(key), "open_ones": open_ones})
    revoke_api_key(key, actor=request.place.actor)
    messages.success(request, _("The key “%(name)s” no longer works.") % {"name": key.name})
    return redirect("keys", slug=request.place.project.slug)
