"""Who belongs to the project: everybody reads it, admins change it and invite others by link."""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Membership, Role
from reflection_app.core.permissions import Permission, member_may
from reflection_app.teams.invitations import USUAL_DAYS, create_invitation, revoke_invitation
from reflection_app.teams.members import change_role, remove_member
from reflection_app.teams.models.invitation import Invitation
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.complaints import in_plain_words
from reflection_app.web.forms import Typed, blame, read_typed

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
    return render(request, "settings/members.html", context, status=status)


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
        return render(request, "settings/remove_member.html", {"member": member, "is_self": is_self})
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
