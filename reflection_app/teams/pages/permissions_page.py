"""Who may do what: the permission matrix as the project's members see it."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reflection_app.core.models import Role, Scope
from reflection_app.core.permissions import GRANTS
from reflection_app.teams.pages.permission_words import PERMISSIONS
from reflection_app.web.access import DeskRequest, project_page


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
    return render(request, "settings/permissions.html", context)
