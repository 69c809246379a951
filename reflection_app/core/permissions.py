"""The permission matrix: who may do what, for people by their role and for keys by their scopes. Pages and REST ask it.

A role may do all that the roles before it may. A key needs one of the scopes, or all where they are `together`; `admin`
stands for each of them. Where no scope is named, no key may do it, for it is a person's to do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from reflection_app.core.models import ApiKey, Membership, Role, Scope


class Permission(TextChoices):
    """What somebody may do; the label completes "may"."""

    READ = "read", _("read tasks, runs, sessions, tickets, reports, tools and settings")
    CONNECT = "connect", _("use MCP; each tool needs the permission of the matching REST call")
    READ_QUEUE = "read_queue", _("read reviews, questions and comments")
    READ_METRICS = "read_metrics", _("read metrics, calibration and reviewer agreement")
    READ_NOTEBOOK = "read_notebook", _("read notebook entries, versions and conflicts")
    READ_LIFT = "read_lift", _("read the effect of lessons")
    RECALL = "recall", _("retrieve lessons and rules, and export the notebook")
    READ_AUDIT = "read_audit", _("read the audit trail")
    HAND_IN = "hand_in", _("submit tasks, attempts, sessions and failures; cancel and fork runs")
    ASK_FOR_REVIEW = "ask_for_review", _("request a review")
    REVIEW = "review", _("decide reviews and instructions, answer questions, comment, request redos")
    PROPOSE_ENTRIES = "propose_entries", _("propose notebook entries and report lesson outcomes")
    CURATE = "curate", _("decide on, edit and merge entries; resolve conflicts")
    IMPORT_ENTRIES = "import_entries", _("import entries from files")
    IMPORT_JUDGEMENTS = "import_judgements", _("import labels for calibration, and delete imports")
    UNDO_OTHERS = "undo_others", _("undo decisions, actions and comments of others")
    DELETE_TASKS = "delete_tasks", _("delete tasks with their runs")
    CHANGE_TOOLS = "change_tools", _("add, change, test and delete tools and their secrets")
    CHANGE_SETTINGS = "change_settings", _("change limits, the review policy and learning settings")
    MANAGE_MEMBERS = "manage_members", _("invite and remove members, and change their roles")
    MANAGE_KEYS = "manage_keys", _("create and revoke API keys")
    MANAGE_WEBHOOKS = "manage_webhooks", _("add, change and test webhooks and channels")
    EXPORT_PROJECT = "export_project", _("export the project")
    DELETE_DATA = "delete_data", _("change data retention and delete the project")


@dataclass(frozen=True)
class Grant:
    role: Role
    scopes: tuple[Scope, ...]
    together: bool = False

    def scope_words(self, mark: str = "") -> str:
        """The scopes as sentences name them, each between two marks; nothing where there is none."""
        return (" and " if self.together else " or ").join(f"{mark}{scope.value}{mark}" for scope in self.scopes)


GRANTS: Mapping[Permission, Grant] = MappingProxyType(
    {
        Permission.READ: Grant(Role.VIEWER, (Scope.RUNS_READ,)),
        Permission.CONNECT: Grant(Role.VIEWER, tuple(Scope)),
        Permission.READ_QUEUE: Grant(Role.VIEWER, (Scope.RUNS_READ, Scope.REVIEWS_WRITE)),
        Permission.READ_METRICS: Grant(Role.VIEWER, (Scope.METRICS_READ,)),
        Permission.READ_NOTEBOOK: Grant(Role.VIEWER, (Scope.NOTEBOOK_READ, Scope.NOTEBOOK_WRITE)),
        Permission.READ_LIFT: Grant(Role.VIEWER, (Scope.NOTEBOOK_READ, Scope.METRICS_READ)),
        Permission.RECALL: Grant(Role.VIEWER, (Scope.NOTEBOOK_READ,)),
        Permission.READ_AUDIT: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.HAND_IN: Grant(Role.REVIEWER, (Scope.TASKS_WRITE,)),
        Permission.ASK_FOR_REVIEW: Grant(Role.REVIEWER, (Scope.TASKS_WRITE, Scope.REVIEWS_WRITE)),
        Permission.REVIEW: Grant(Role.REVIEWER, (Scope.REVIEWS_WRITE,)),
        Permission.PROPOSE_ENTRIES: Grant(Role.REVIEWER, (Scope.NOTEBOOK_WRITE,)),
        # A pipeline proposes with notebook:write alone. Whoever has entries approved by it would let an agent write
        # into its own next prompt; deciding is what reviews:write stands for everywhere.
        Permission.CURATE: Grant(Role.CURATOR, (Scope.NOTEBOOK_WRITE, Scope.REVIEWS_WRITE), together=True),
        Permission.IMPORT_ENTRIES: Grant(Role.CURATOR, (Scope.ADMIN,)),
        Permission.IMPORT_JUDGEMENTS: Grant(Role.CURATOR, (Scope.ADMIN,)),
        Permission.UNDO_OTHERS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.DELETE_TASKS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.CHANGE_TOOLS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.CHANGE_SETTINGS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.MANAGE_MEMBERS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.MANAGE_KEYS: Grant(Role.ADMIN, ()),
        Permission.MANAGE_WEBHOOKS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.EXPORT_PROJECT: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.DELETE_DATA: Grant(Role.ADMIN, ()),
    }
)


def member_may(membership: Membership, permission: Permission) -> bool:
    """Whether the member's role allows it."""
    return membership.may(GRANTS[permission].role)


def roles_that_may(permission: Permission) -> list[Role]:
    """The roles that allow it."""
    return [role for role in Role if role.rank >= GRANTS[permission].role.rank]


def key_may(key: ApiKey, permission: Permission) -> bool:
    """Whether the key's scopes allow it."""
    grant = GRANTS[permission]
    has = [key.has_scope(scope) for scope in grant.scopes]
    return bool(has) and (all(has) if grant.together else any(has))
