"""The permission matrix: who may do what, for people by their role and for keys by their scopes. Pages and REST ask it.

A role may do all that the roles before it may. A key needs one of the scopes; `admin` stands for each of them. Where no
scope is named, no key may do it, for it is a person's to do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from reflection_app.models.api_key import ApiKey, Scope
from reflection_app.models.project import Membership, Role


class Permission(StrEnum):
    # Runs, tasks, sessions, tickets, reports, tools, the queue.
    READ = "read"
    READ_METRICS = "read_metrics"
    READ_NOTEBOOK = "read_notebook"
    READ_AUDIT = "read_audit"
    # Tasks, attempts, sessions, failures; cancelling and forking what runs.
    HAND_IN = "hand_in"
    REVIEW = "review"
    PROPOSE_ENTRIES = "propose_entries"
    CURATE = "curate"
    CHANGE_TOOLS = "change_tools"
    CHANGE_SETTINGS = "change_settings"
    MANAGE_MEMBERS = "manage_members"
    MANAGE_KEYS = "manage_keys"
    MANAGE_WEBHOOKS = "manage_webhooks"
    IMPORT_JUDGEMENTS = "import_judgements"
    EXPORT_PROJECT = "export_project"
    DELETE_DATA = "delete_data"


@dataclass(frozen=True)
class Grant:
    role: Role
    scopes: tuple[Scope, ...]


GRANTS: Mapping[Permission, Grant] = MappingProxyType(
    {
        Permission.READ: Grant(Role.VIEWER, (Scope.RUNS_READ,)),
        Permission.READ_METRICS: Grant(Role.VIEWER, (Scope.METRICS_READ,)),
        Permission.READ_NOTEBOOK: Grant(Role.VIEWER, (Scope.NOTEBOOK_READ,)),
        Permission.READ_AUDIT: Grant(Role.VIEWER, (Scope.ADMIN,)),
        Permission.HAND_IN: Grant(Role.REVIEWER, (Scope.TASKS_WRITE,)),
        Permission.REVIEW: Grant(Role.REVIEWER, (Scope.REVIEWS_WRITE,)),
        Permission.PROPOSE_ENTRIES: Grant(Role.REVIEWER, (Scope.NOTEBOOK_WRITE,)),
        Permission.CURATE: Grant(Role.CURATOR, (Scope.NOTEBOOK_WRITE,)),
        Permission.CHANGE_TOOLS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.CHANGE_SETTINGS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.MANAGE_MEMBERS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.MANAGE_KEYS: Grant(Role.ADMIN, ()),
        Permission.MANAGE_WEBHOOKS: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.IMPORT_JUDGEMENTS: Grant(Role.CURATOR, (Scope.ADMIN,)),
        Permission.EXPORT_PROJECT: Grant(Role.ADMIN, (Scope.ADMIN,)),
        Permission.DELETE_DATA: Grant(Role.ADMIN, ()),
    }
)


def member_may(membership: Membership, permission: Permission) -> bool:
    """Whether the member's role allows it."""
    return membership.may(GRANTS[permission].role)


def key_may(key: ApiKey, permission: Permission) -> bool:
    """Whether one of the key's scopes allows it."""
    return any(key.has_scope(scope) for scope in GRANTS[permission].scopes)
