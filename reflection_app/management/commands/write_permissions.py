"""Writes docs/permissions.md: the permission matrix, and which page and call asks for which permission."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import translation

from reflection_app.config.guarded_routes import GuardedRoute, guarded_routes
from reflection_app.core.models import Role, Scope
from reflection_app.core.permissions import GRANTS, Grant, Permission
from reflection_app.teams.pages.members import PERMISSIONS

WHERE = Path(settings.BASE_DIR) / "docs" / "permissions.md"

HEAD = """# Who may do what

One table in the code (`reflection_app/core/permissions.py`) says it for pages, REST and MCP alike; this page is
written from it by `manage.py write_permissions`, and a test compares them. A member's role may do all that the roles
before it may. A key needs one of the scopes, or all of them where they are joined by "and"; `admin` stands for each.
Whoever is no member of a project is told that there is none, and another project's things are not found.
"""


class Command(BaseCommand):
    help = "Writes docs/permissions.md from the permission matrix and the routes."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        WHERE.write_text(written())
        self.stdout.write(f"Wrote {WHERE}.")


def written() -> str:
    """The page as it should be."""
    with translation.override("en"):
        return "\n".join([HEAD, *_matrix(), "", *_routes()]) + "\n"


def _matrix() -> Iterator[str]:
    yield "| may | " + " | ".join(role.value for role in Role) + " | a key with |"
    yield "|---|" + ":-:|" * len(Role) + "---|"
    for permission, grant in GRANTS.items():
        roles = " | ".join("yes" if role.rank >= grant.role.rank else "–" for role in Role)
        yield f"| {PERMISSIONS[permission]} | {roles} | {_scopes(grant)} |"


def _scopes(grant: Grant) -> str:
    return "any scope" if set(grant.scopes) == set(Scope) else grant.scope_words("`") or "no key"


def _routes() -> Iterator[str]:
    routes = guarded_routes()
    for permission in GRANTS:
        asking = [route for route in routes if route.permission is permission]
        if asking:
            yield from _asking(permission, asking)


def _asking(permission: Permission, routes: list[GuardedRoute]) -> Iterator[str]:
    yield f"## To {PERMISSIONS[permission]}"
    yield ""
    for name, is_page in (("Pages", True), ("Calls", False)):
        lines = sorted({(route.path, route.method) for route in routes if route.is_page is is_page})
        if lines:
            yield f"{name}:"
            yield ""
            yield from (f"- {_in_words(method, path, is_page=is_page)}" for path, method in lines)
            yield ""


def _in_words(method: str, path: str, *, is_page: bool) -> str:
    if not is_page:
        return f"`{method} {path}`"
    return f"`{path}`" + (", to change something" if method == "POST" else "")
