"""Who belongs to the project: everybody reads it, admins change it and invite others by link."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.audit import Actor, client_address
from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.models import Membership, Role, Scope, digest_of
from reflection_app.core.permissions import GRANTS, Permission, member_may
from reflection_app.teams.members import (
    USUAL_DAYS,
    accept_invitation,
    change_role,
    create_invitation,
    find_invitation,
    is_for,
    remove_member,
    revoke_invitation,
)
from reflection_app.teams.models import Invitation
from reflection_app.teams.pages.accounts import INVITED, invitation_of
from reflection_app.teams.projects import USUAL_SCOPES, brought_by, create_api_key, revoke_api_key
from reflection_app.web.access import DeskRequest, get_api_key_for, project_page, refused
from reflection_app.web.forms import Typed, blame, in_plain_words, read_typed
from reflection_app.web.middleware import post_only

FIELDS = ("role", "email", "days")
NEW_LINK = "new_invitation"
MEANINGS = {
    Role.VIEWER: gettext_lazy("reads everything"),
    Role.REVIEWER: gettext_lazy("besides, hands in tasks and decides reviews"),
    Role.CURATOR: gettext_lazy("besides, curates the notebook"),
    Role.ADMIN: gettext_lazy("besides, changes settings, members, keys and tools"),
}


@dataclass(frozen=True)
class OfferedRole:
    value: str
    label: str
    meaning: str


@never_cache
@project_page()
@require_safe
def members_page(request: DeskRequest) -> HttpResponse:
    return _page(request, link=_new_link(request))


def _page(request: DeskRequest, *, form: Typed | None = None, link: str = "", status: int = 200) -> HttpResponse:
    project = request.place.project
    typed = form or Typed({"role": Role.REVIEWER, "email": "", "days": str(USUAL_DAYS)})
    may_manage = member_may(request.place.membership, Permission.MANAGE_MEMBERS)
    members = Membership.objects.filter(project=project).select_related("user", "invited_by_key")
    context = {
        "members": members.order_by("user__username"),
        "own_id": request.user.pk,
        "may_manage": may_manage,
        "roles": [OfferedRole(role.value, role.label, str(MEANINGS[role])) for role in Role],
        # The link's address stands in none of them: it was shown once.
        "invitations": Invitation.objects.usable().filter(project=project).order_by("-created_at")
        if may_manage
        else (),
        "form": typed,
        "fields": typed.fields,
        "link": link,
        "has_mail": bool(settings.MAIL_OPTIONS or settings.OIDC_APPS),
    }
    return render(request, "teams/settings/members.html", context, status=status)


@project_page(Permission.MANAGE_MEMBERS)
@post_only(page="members")
def invite(request: DeskRequest) -> HttpResponse:
    """Makes the link and goes back to the members, which show it once."""
    typed = read_typed(request.POST, FIELDS)
    try:
        made = create_invitation(
            request.place.project,
            role=typed.values["role"],
            email=typed.values["email"],
            days=_days(typed.values["days"]),
            actor=request.place.actor,
        )
    except InvalidInput as error:
        blame(typed, in_plain_words(error.errors))
        return _page(request, form=typed, status=400)
    request.session[NEW_LINK] = {"project": str(request.place.project.pk), "secret": made.secret}
    return redirect("members", slug=request.place.project.slug)


def _days(text: str) -> int:
    """The number of days; 0, which the action refuses at its field, where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else 0


def _new_link(request: DeskRequest) -> str:
    """The link of an invitation that was made just now, taken out of the session; else nothing."""
    made: dict[str, str] = request.session.get(NEW_LINK) or {}
    if request.method != "GET" or made.get("project") != str(request.place.project.pk):
        return ""
    del request.session[NEW_LINK]
    return request.build_absolute_uri(reverse("open_invitation", args=[made["secret"]]))


@project_page(Permission.MANAGE_MEMBERS)
@require_http_methods(["GET", "HEAD", "POST"])
def set_role(request: DeskRequest, user_id: int) -> HttpResponse:
    """Acts on POST; opened by hand, it leads to the members."""
    if request.method != "POST":
        return redirect("members", slug=request.place.project.slug)
    membership = change_role(
        request.place.project, user_id, role=request.POST.get("role", ""), actor=request.place.actor
    )
    told = {"name": membership.user.get_username(), "role": Role(membership.role).label}
    messages.success(request, _("%(name)s is %(role)s now.") % told)
    return redirect("members", slug=request.place.project.slug)


@project_page()
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: DeskRequest, user_id: int) -> HttpResponse:
    """Asks first; the POST removes. Whoever may not manage members may still leave."""
    is_self = user_id == request.user.pk
    if not is_self and not member_may(request.place.membership, Permission.MANAGE_MEMBERS):
        raise PermissionDenied
    member = Membership.objects.filter(project=request.place.project, user=user_id).select_related("user").first()
    if member is None:
        raise Http404("no such member")
    if request.method != "POST":
        return render(request, "teams/settings/remove_member.html", {"member": member, "is_self": is_self})
    remove_member(request.place.project, user_id, actor=request.place.actor)
    if is_self:
        messages.success(request, _("You left %(project)s.") % {"project": request.place.project.name})
        return redirect("overview")
    messages.success(request, _("%(name)s is no longer a member.") % {"name": member.user.get_username()})
    return redirect("members", slug=request.place.project.slug)


@project_page(Permission.MANAGE_MEMBERS)
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: DeskRequest, invitation_id: UUID) -> HttpResponse:
    """Acts on POST; opened by hand, it leads to the members."""
    invitation = Invitation.objects.filter(project=request.place.project, pk=invitation_id).first()
    if invitation is None:
        raise Http404("no such invitation")
    if request.method != "POST":
        return redirect("members", slug=request.place.project.slug)
    revoke_invitation(invitation, actor=request.place.actor)
    messages.success(request, _("The invitation no longer works."))
    return redirect("members", slug=request.place.project.slug)


# What an invitation's link leads to: who invites to what, and a button to join, or the way to an account first.


@never_cache
@require_safe
def open_invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """Keeps the invitation for this browser, and goes on without the secret in the address."""
    digest = digest_of(secret)
    if find_invitation(digest) is None:
        return render(request, "teams/invitations/gone.html", status=404)
    request.session[INVITED] = digest
    return redirect("follow_invitation")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def follow_invitation(request: HttpRequest) -> HttpResponse:
    """The invitation that this browser has. POST joins, for who is logged in."""
    invitation = invitation_of(request)
    if invitation is None:
        return render(request, "teams/invitations/gone.html", status=404)
    user = request.user
    if request.method == "POST":
        return _join(request, user) if isinstance(user, User) else redirect("login")
    context = {
        "invitation": invitation,
        "role": Role(invitation.role).label,
        "is_member": isinstance(user, User)
        and Membership.objects.filter(project=invitation.project, user=user).exists(),
        "is_for_another": isinstance(user, User) and not is_for(invitation, user),
    }
    return render(request, "teams/invitations/page.html", context)


def _join(request: HttpRequest, user: User) -> HttpResponse:
    actor = Actor(user=user, address=client_address(request.META))
    try:
        membership = accept_invitation(request.session[INVITED], actor=actor)
    except ActionError as error:
        return refused(request, error)
    del request.session[INVITED]
    messages.success(request, _("You are a member of %(project)s now.") % {"project": membership.project.name})
    return redirect("project_overview", slug=membership.project.slug)


# A project's API keys: who has which, making one, revoking one.

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
    return _keys_page(request, secret=_new_secret(request))


def _keys_page(
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
    return render(request, "teams/settings/keys.html", context, status=status)


@never_cache
@project_page(Permission.MANAGE_KEYS)
@post_only(page="keys")
def create_key(request: DeskRequest) -> HttpResponse:
    """Makes the key and goes back to the keys, which show its secret once: reloading them makes no second key."""
    typed = read_typed(request.POST, KEY_FIELDS)
    scopes = request.POST.getlist("scopes")
    try:
        expires_at = timezone.now() + timedelta(days=_days_of_key(typed)) if typed.values["days"] else None
        key, secret = create_api_key(
            request.place.project,
            name=typed.values["name"],
            scopes=scopes,
            actor=request.place.actor,
            expires_at=expires_at,
        )
    except InvalidInput as error:
        blame(typed, in_plain_words(error.errors))
        return _keys_page(request, form=typed, scopes=scopes, status=400)
    request.session[NEW_KEY] = {"project": str(key.project_id), "secret": secret}
    return redirect("keys", slug=request.place.project.slug)


def _new_secret(request: DeskRequest) -> str:
    """The secret of a key that was made just now, taken out of the session; else nothing."""
    made: dict[str, str] = request.session.get(NEW_KEY) or {}
    if request.method != "GET" or made.get("project") != str(request.place.project.pk):
        return ""
    del request.session[NEW_KEY]
    return made["secret"]


def _days_of_key(typed: Typed) -> int:
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
        return render(
            request, "teams/settings/revoke.html", {"key": key, "brought": brought_by(key), "open_ones": open_ones}
        )
    revoke_api_key(key, actor=request.place.actor)
    messages.success(request, _("The key “%(name)s” no longer works.") % {"name": key.name})
    return redirect("keys", slug=request.place.project.slug)


# The permissions of the matrix in the words of the page that shows it, and of the written table.

PERMISSIONS: Mapping[Permission, Promise] = MappingProxyType(
    {
        Permission.READ: gettext_lazy("read tasks, runs, sessions, tickets, reports, tools and settings"),
        Permission.CONNECT: gettext_lazy("speak MCP at all; each tool needs what the same call over REST needs"),
        Permission.READ_QUEUE: gettext_lazy("read reviews, questions and comments"),
        Permission.READ_METRICS: gettext_lazy("read metrics, calibration and how far reviewers agree"),
        Permission.READ_NOTEBOOK: gettext_lazy("read entries of the notebook, their versions and conflicts"),
        Permission.READ_LIFT: gettext_lazy("read what lessons do"),
        Permission.RECALL: gettext_lazy("be told lessons and rules, and take the notebook along"),
        Permission.READ_AUDIT: gettext_lazy("read who did what"),
        Permission.HAND_IN: gettext_lazy("hand in tasks, attempts, sessions and failures; cancel and fork runs"),
        Permission.ASK_FOR_REVIEW: gettext_lazy("ask for a review"),
        Permission.REVIEW: gettext_lazy("decide reviews and instructions, answer questions, comment, order a redo"),
        Permission.PROPOSE_ENTRIES: gettext_lazy("propose entries to the notebook, and tell how it went with lessons"),
        Permission.CURATE: gettext_lazy("decide on entries, edit and merge them, settle conflicts"),
        Permission.IMPORT_ENTRIES: gettext_lazy("bring entries in from files"),
        Permission.IMPORT_JUDGEMENTS: gettext_lazy("bring judgements in that were made elsewhere"),
        Permission.UNDO_OTHERS: gettext_lazy("take back what others decided, began or said"),
        Permission.CHANGE_TOOLS: gettext_lazy("add, change, try and delete tools and their secrets"),
        Permission.CHANGE_SETTINGS: gettext_lazy("change limits, the review policy and how the project learns"),
        Permission.MANAGE_MEMBERS: gettext_lazy("invite and remove members, and change their roles"),
        Permission.MANAGE_KEYS: gettext_lazy("create and revoke API keys"),
        Permission.MANAGE_WEBHOOKS: gettext_lazy("add, change and test webhooks"),
        Permission.EXPORT_PROJECT: gettext_lazy("take the whole project along"),
        Permission.DELETE_DATA: gettext_lazy("decide how long things are kept, and delete the project"),
    }
)


# Who may do what: the permission matrix as the project's members see it.


@dataclass(frozen=True)
class Line:
    """One permission: whether each role has it, and which scopes a key needs for it."""

    words: str
    roles: tuple[bool, ...]
    scopes: tuple[str, ...]
    together: bool
    any_scope: bool


def lines() -> list[Line]:
    """The matrix, in its own order."""
    return [
        Line(
            words=str(PERMISSIONS[permission]),
            roles=tuple(role.rank >= grant.role.rank for role in Role),
            scopes=tuple(scope.value for scope in grant.scopes),
            together=grant.together,
            any_scope=set(grant.scopes) == set(Scope),
        )
        for permission, grant in GRANTS.items()
    ]


@project_page()
@require_safe
def permissions_page(request: DeskRequest) -> HttpResponse:
    own = Role(request.place.membership.role)
    context = {"lines": lines(), "roles": [(role.label, role is own) for role in Role]}
    return render(request, "teams/settings/permissions.html", context)
