"""The permission matrix: who may do what, for people by their role and for keys by their scopes. Pages and REST ask it.

A role may do all that the roles before it may. A key needs one of the scopes, or all where they are `together`; `admin`
stands for each of them. Where no scope is named, no key may do it, for it is a person's to do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from reflection_app.core.models import ApiKey, Membership, Role, Scope


class Permission(StrEnum):
    # Runs, tasks, sessions, tickets, reports, tools, the policy.
    READ = "read"
    # Speaking another protocol than REST at all; each thing asked for needs its own permission besides.
    CONNECT = "connect"
    # Reviews, questions and what is said about them.
    READ_QUEUE = "read_queue"
    READ_METRICS = "read_metrics"
    READ_NOTEBOOK = "read_notebook"
    READ_LIFT = "read_lift"
    # Being told what the notebook holds, as agents are.
    RECALL = "recall"
    READ_AUDIT = "read_audit"
    # Tasks, attempts, sessions, failures; cancelling and forking what runs.
    HAND_IN = "hand_in"
    ASK_FOR_REVIEW = "ask_for_review"
    REVIEW = "review"
    PROPOSE_ENTRIES = "propose_entries"
    CURATE = "curate"
    IMPORT_ENTRIES = "import_entries"
    IMPORT_JUDGEMENTS = "import_judgements"
    UNDO_OTHERS = "undo_others"
    DELETE_TASKS = "delete_tasks"
    CHANGE_TOOLS = "change_tools"
    CHANGE_SETTINGS = "change_settings"
    MANAGE_MEMBERS = "manage_members"
    MANAGE_KEYS = "manage_keys"
    MANAGE_WEBHOOKS = "manage_webhooks"
    EXPORT_PROJECT = "export_project"
    DELETE_DATA = "delete_data"


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
