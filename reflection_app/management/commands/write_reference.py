"""Write the reference pages that the code declares: permissions and configuration."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import translation

from reflection_app.config.env import DOCUMENTED
from reflection_app.config.guarded_routes import guarded_routes
from reflection_app.core.models import Role, Scope
from reflection_app.core.permissions import GRANTS

REFERENCE = Path(settings.BASE_DIR) / "docs" / "reference"

HEAD = """# Who may do what

One table in the code (`reflection_app/core/permissions.py`) says it for pages, REST and MCP alike; this page is
written from it by `manage.py write_reference`, and a test compares them. A member's role may do all that the roles
before it may. A key needs one of the scopes, or all of them where they are joined by "and"; `admin` stands for each.
Whoever is no member of a project is told that there is none, and another project's things are not found.

## When a role or an account ends

- Removing a member, giving them a lower role or disabling their account (`manage.py deactivate_user NAME`) revokes the
  API keys that they made, unless you untick the box (pages) or send `revoke_keys=false` (REST). The answer of
  `PATCH` and `DELETE /members/{id}` names the keys: `revoked_keys` and `remaining_keys`.
- A key that remains keeps its scopes without `admin`: that scope works only while the key's maker is an admin of
  the project. Keys of the `create_api_key` command have no maker and keep it.
- No key of a disabled account works.
- When the right to review ends, so do the person's holds of reviews and pairs, their assignments and their places in
  named queues, each with an entry of the audit trail. Nothing comes back with a new role. What a revoked key holds is
  released too, runs that an agent claimed included.
- A queue whose last member leaves is open to everybody who may review.
- What they decided and wrote stays. Webhooks and channels belong to the project and go on.
"""


CONFIGURATION_HEAD = """# Configuration

Set these environment variables to configure the server. An invalid value stops the start with the reason. Limits,
thresholds, the review policy and completeness checks belong to a project: change them on its settings page.

`manage.py write_reference` writes this page from `reflection_app/config/settings.py`."""


def permissions_page() -> str:
    """Return the permission matrix, and the pages and calls that need each permission, as Markdown."""
    with translation.override("en"):
        lines = [HEAD, "| may | " + " | ".join(role.value for role in Role) + " | a key with |"]
        lines.append("|---|" + ":-:|" * len(Role) + "---|")
        for permission, grant in GRANTS.items():
            roles = " | ".join("yes" if role.rank >= grant.role.rank else "–" for role in Role)
            scopes = "any scope" if set(grant.scopes) == set(Scope) else grant.scope_words("`") or "no key"
            lines.append(f"| {permission.label} | {roles} | {scopes} |")
        lines.append("")
        routes = guarded_routes()
        for permission in GRANTS:
            asking = [route for route in routes if route.permission is permission]
            pages = sorted({(route.path, route.method) for route in asking if route.is_page})
            calls = sorted({(route.path, route.method) for route in asking if not route.is_page})
            if asking:
                lines += [f"## To {permission.label}", ""]
            if pages:
                changes = {"POST": ", to change something"}
                lines += ["Pages:", "", *(f"- `{path}`{changes.get(method, '')}" for path, method in pages), ""]
            if calls:
                lines += ["Calls:", "", *(f"- `{method} {path}`" for path, method in calls), ""]
        return "\n".join(lines) + "\n"


def configuration_page() -> str:
    """Return the settings with their defaults, grouped, as Markdown."""
    lines = [CONFIGURATION_HEAD]
    for section in dict.fromkeys(variable.section for variable in DOCUMENTED.values()):
        lines += ["", f"## {section}", "", "| variable | default | meaning |", "|---|---|---|"]
        for variable in (one for one in DOCUMENTED.values() if one.section == section):
            default = f"`{variable.default}`" if variable.default else "unset"
            lines.append(f"| `{variable.name}` | {default} | {variable.meaning} |")
    return "\n".join(lines) + "\n"


PAGES = {"permissions.md": permissions_page, "configuration.md": configuration_page}


class Command(BaseCommand):
    help = "Write docs/reference/permissions.md and docs/reference/configuration.md."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        for name, page in PAGES.items():
            (REFERENCE / name).write_text(page())
            self.stdout.write(f"Wrote {REFERENCE / name}.")
