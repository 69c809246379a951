"""Members and invitations, API keys, and who may do what."""

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.audit import Actor, client_address
from reflection_app.core.errors import ActionError, wrong
from reflection_app.core.models import ApiKey, Membership, Role, Scope, digest_of
from reflection_app.core.permissions import GRANTS, Permission
from reflection_app.teams.members import (
    USUAL_DAYS,
    KeysLeft,
    accept_invitation,
    brought_by,
    change_role,
    create_invitation,
    find_invitation,
    is_for,
    keys_made_by,
    remove_member,
    revoke_api_key,
    revoke_invitation,
)
from reflection_app.teams.models import Invitation
from reflection_app.teams.pages.accounts import INVITED, invitation_of
from reflection_app.teams.projects import USUAL_SCOPES, create_api_key
from reflection_app.web.access import (
    DeskRequest,
    back_to,
    get_api_key_for,
    keep_secret_once,
    lead_to,
    project_page,
    refused,
    take_secret_once,
)
from reflection_app.web.forms import Form, Offered, plain_problems_of, read_form
from reflection_app.web.middleware import post_only

# Who belongs to the project: everybody reads it, admins change it and invite others by link.


NEW_LINK = "new_invitation"
MEANINGS = {
    Role.VIEWER: gettext_lazy("views everything"),
    Role.REVIEWER: gettext_lazy("also submits tasks and decides reviews"),
    Role.CURATOR: gettext_lazy("also curates the notebook"),
    Role.ADMIN: gettext_lazy("also changes settings, members, keys and tools"),
}


@never_cache
@project_page()
@require_safe
def members_page(request: DeskRequest) -> HttpResponse:
    return _page(request, Form({"role": Role.REVIEWER, "email": "", "days": str(USUAL_DAYS)}))


def _page(request: DeskRequest, form: Form) -> HttpResponse:
    project, may_manage = request.place.project, request.place.may(Permission.MANAGE_MEMBERS)
    secret = take_secret_once(request, NEW_LINK, of=project.pk)
    members = Membership.objects.filter(project=project).select_related("user", "invited_by_key")
    invitations = Invitation.objects.usable().filter(project=project).order_by("-created_at")
    context = {
        "members": members.order_by("user__username"),
        "own_id": request.user.pk,
        "may_manage": may_manage,
        "roles": [(role, MEANINGS[role]) for role in Role],
        # The link's address stands in none of them: it was shown once.
        "invitations": invitations if may_manage else (),
        "form": form,
        "fields": form.fields,
        "link": request.build_absolute_uri(reverse("open_invitation", args=[secret])) if secret else "",
        "has_mail": bool(settings.MAIL_OPTIONS or settings.OIDC_APPS),
    }
    return render(request, "teams/settings/members.html", context, status=form.status)


@project_page(Permission.MANAGE_MEMBERS)
@post_only(page="members")
def invite(request: DeskRequest) -> HttpResponse:
    """Makes the link and goes back to the members, which show it once."""
    project, form = request.place.project, read_form(request, ("role", "email", "days"))
    with form.collect_errors(plain_problems_of):
        role, email, days = form.values.values()
        made = create_invitation(project, role=role, email=email, days=_days(days), actor=request.place.actor)
        keep_secret_once(request, NEW_LINK, made.secret, of=project.pk)
        return back_to(request, "members")
    return _page(request, form)


def _days(text: str) -> int:
    """The number of days; 0, which the action refuses at its field, where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else 0


@project_page(Permission.MANAGE_MEMBERS)
@post_only(page="members")
def set_role(request: DeskRequest, user_id: int) -> HttpResponse:
    """Gives another role. A lower role asks first what becomes of their keys."""
    project, role = request.place.project, request.POST.get("role", "")
    member = Membership.objects.select_related("user").filter(project=project, user=user_id).first()
    if member is not None and ASKED not in request.POST and role in Role.values:
        is_lower = Role(role).rank < Role(member.role).rank
        if is_lower and (keys := keys_made_by(project, user_id)):
            context = {"member": member, "role": Role(role), **_about_keys(keys)}
            return render(request, "teams/settings/lower_role.html", context)
    done = change_role(project, user_id, role=role, actor=request.place.actor, revoke_keys=_revokes_keys(request))
    name = done.membership.user.get_username()
    message = _("%(name)s is now %(role)s.") % {"name": name, "role": Role(done.membership.role).label}
    return back_to(request, "members", message=f"{message} {_keys_message(done.keys)}".strip())


# What the forms that end a right say of the keys of whom it concerns.

# The form asked about the keys, so that a box without a tick is an answer.
ASKED = "asked_about_keys"


def _about_keys(keys: QuerySet[ApiKey]) -> dict[str, object]:
    return {"keys": keys, "brought": [member for key in keys for member in brought_by(key)]}


def _revokes_keys(request: DeskRequest) -> bool:
    return ASKED not in request.POST or "revoke_keys" in request.POST


def _keys_message(keys: KeysLeft) -> str:
    names = ", ".join(key.name for key in keys.revoked)
    return _("Revoked API keys: %(names)s.") % {"names": names} if names else ""


@project_page()
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: DeskRequest, user_id: int) -> HttpResponse:
    """Asks first; the POST removes. Whoever may not manage members may still leave."""
    is_self = user_id == request.user.pk
    if not is_self and not request.place.may(Permission.MANAGE_MEMBERS):
        raise PermissionDenied
    members = Membership.objects.select_related("user")
    member = get_object_or_404(members, project=request.place.project, user=user_id)
    project = request.place.project
    if request.method != "POST":
        context = {"member": member, "is_self": is_self, **_about_keys(keys_made_by(project, user_id))}
        return render(request, "teams/settings/remove_member.html", context)
    keys = remove_member(project, user_id, actor=request.place.actor, revoke_keys=_revokes_keys(request))
    if is_self:
        message = _("You left %(project)s.") % {"project": project.name}
        return lead_to(request, "overview", message=f"{message} {_keys_message(keys)}".strip())
    message = _("%(name)s is no longer a member.") % {"name": member.user.get_username()}
    return back_to(request, "members", message=f"{message} {_keys_message(keys)}".strip())


@project_page(Permission.MANAGE_MEMBERS)
@post_only(page="members")
def revoke(request: DeskRequest, invitation_id: UUID) -> HttpResponse:
    invitation = get_object_or_404(Invitation, project=request.place.project, pk=invitation_id)
    revoke_invitation(invitation, actor=request.place.actor)
    return back_to(request, "members", message=_("The invitation is no longer valid."))


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
    user = request.user if isinstance(request.user, User) else None
    if request.method == "POST":
        if user is None:
            return redirect("login")
        actor = Actor(user=user, address=client_address(request.META))
        try:
            membership = accept_invitation(request.session[INVITED], actor=actor)
        except ActionError as error:
            return refused(request, error)
        del request.session[INVITED]
        message = _("You are now a member of %(project)s.") % {"project": membership.project.name}
        return lead_to(request, "project_overview", membership.project.slug, message=message)
    context = {
        "invitation": invitation,
        "role": Role(invitation.role).label,
        "is_member": user and Membership.objects.filter(project=invitation.project, user=user).exists(),
        "is_for_another": user and not is_for(invitation, user),
    }
    return render(request, "teams/invitations/page.html", context)


# A project's API keys: who has which, making one, revoking one.

KEY_FIELDS = ("name", "days")
NEW_KEY = "new_api_key"
SCOPES = {
    Scope.TASKS_WRITE: gettext_noop("submit tasks, attempts and failures; cancel runs"),
    Scope.RUNS_READ: gettext_noop("read tasks, runs, reviews, tickets and reports"),
    Scope.REVIEWS_WRITE: gettext_noop(
        "decide reviews and instructions of others' work, answer questions, request redos; for automated reviewers"
    ),
    Scope.NOTEBOOK_READ: gettext_noop("retrieve lessons from the notebook"),
    Scope.NOTEBOOK_WRITE: gettext_noop("propose notebook entries"),
    Scope.METRICS_READ: gettext_noop("read metrics"),
    Scope.ADMIN: gettext_noop("all of these, plus settings, viewers, webhooks and channels"),
}


@never_cache
@project_page()
@require_safe
def keys_page(request: DeskRequest) -> HttpResponse:
    return _keys_page(request, read_form(request, KEY_FIELDS), scopes=[scope.value for scope in USUAL_SCOPES])


def _keys_page(request: DeskRequest, form: Form, *, scopes: list[str]) -> HttpResponse:
    project = request.place.project
    context = {
        "may_change": request.place.may(Permission.MANAGE_KEYS),
        "keys": project.api_keys.select_related("created_by"),
        "key_form": form,
        "key_fields": form.fields,
        "scopes_offered": [Offered(scope.value, _(words)) for scope, words in SCOPES.items()],
        "chosen_scopes": scopes,
        "secret": take_secret_once(request, NEW_KEY, of=project.pk),
    }
    return render(request, "teams/settings/keys.html", context, status=form.status)


@never_cache
@project_page(Permission.MANAGE_KEYS)
@post_only(page="keys")
def create_key(request: DeskRequest) -> HttpResponse:
    """Create the key and redirect to the page that shows its secret once: reloading that page creates no second key."""
    project, form, scopes = request.place.project, read_form(request, KEY_FIELDS), request.POST.getlist("scopes")
    with form.collect_errors(plain_problems_of):
        expires_at = None
        if form.values["days"]:
            if not 1 <= (days := _days(form.values["days"])) <= 3650:
                raise wrong("days", _("1 to 3650 days"), said=_("Set when the key expires."))
            expires_at = timezone.now() + timedelta(days=days)
        key, secret = create_api_key(
            project, name=form.values["name"], scopes=scopes, actor=request.place.actor, expires_at=expires_at
        )
        keep_secret_once(request, NEW_KEY, secret, of=project.pk)
        if request.POST.get("from") == "get_started":
            return redirect(f"{reverse('get_started', args=(project.slug,))}?key={key.pk}")
        return back_to(request, "keys")
    return _keys_page(request, form, scopes=scopes)


@project_page(Permission.MANAGE_KEYS)
@require_http_methods(["GET", "HEAD", "POST"])
def revoke_key(request: DeskRequest, key_id: UUID) -> HttpResponse:
    """Asks first; the POST revokes."""
    key = get_api_key_for(request.place, key_id)
    if request.method != "POST":
        open_ones = Invitation.objects.usable().filter(created_by_key=key).count()
        context = {"key": key, "brought": brought_by(key), "open_ones": open_ones}
        return render(request, "teams/settings/revoke.html", context)
    revoke_api_key(key, actor=request.place.actor)
    return back_to(request, "keys", message=_("API key “%(name)s” revoked.") % {"name": key.name})


# Who may do what: the permission matrix as the project's members see it, in its own order.


@project_page()
@require_safe
def permissions_page(request: DeskRequest) -> HttpResponse:
    own = Role(request.place.membership.role)
    lines = [
        (permission.label, [role.rank >= grant.role.rank for role in Role], grant)
        for permission, grant in GRANTS.items()
    ]
    context = {"lines": lines, "every_scope": tuple(Scope), "roles": [(role.label, role is own) for role in Role]}
    return render(request, "teams/settings/permissions.html", context)
