"""What an invitation's link leads to: who invites to what, and a button to join, or the way to an account first."""

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.audit import Actor, client_address
from reflection_app.core.errors import ActionError
from reflection_app.core.models import Membership, Role, digest_of
from reflection_app.teams.account_adapter import INVITED, invitation_of
from reflection_app.teams.invitations import accept_invitation, find_invitation, is_for
from reflection_app.web.refusals import refused


@never_cache
@require_safe
def open_invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """Keeps the invitation for this browser, and goes on without the secret in the address."""
    digest = digest_of(secret)
    if find_invitation(digest) is None:
        return render(request, "invitations/gone.html", status=404)
    request.session[INVITED] = digest
    return redirect("follow_invitation")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def follow_invitation(request: HttpRequest) -> HttpResponse:
    """The invitation that this browser has. POST joins, for who is logged in."""
    invitation = invitation_of(request)
    if invitation is None:
        return render(request, "invitations/gone.html", status=404)
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
    return render(request, "invitations/page.html", context)


def _join(request: HttpRequest, user: User) -> HttpResponse:
    actor = Actor(user=user, address=client_address(request.META))
    try:
        membership = accept_invitation(request.session[INVITED], actor=actor)
    except ActionError as error:
        return refused(request, error)
    del request.session[INVITED]
    messages.success(request, _("You are a member of %(project)s now.") % {"project": membership.project.name})
    return redirect("project_overview", slug=membership.project.slug)
