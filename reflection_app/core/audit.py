"""The audit trail: who did what to what, before and after. Rows are only ever added; the database refuses all else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import ApiKey, Project


def hand_of(user_id: int) -> str:
    """Whose work it is that a person hands in, as runs and reviews keep it."""
    return f"user:{user_id}"


# The number of no user.
UNKNOWN_MAKER = 0
# What the label of a key begins with. No user name has a space.
KEY_LABEL = "key "


@dataclass(frozen=True)
class Actor:
    """Who acts: a person, a pipeline's key, or (neither) the system itself."""

    user: User | None = None
    api_key: ApiKey | None = None
    address: str | None = None

    @property
    def person_id(self) -> int | None:
        """Whose judgement it is: the user's, or that of whoever made the key; None of the system.

        Nobody knows who made the keys of the desk's own command. They are no people, so all of them count as one.
        """
        if self.user:
            return self.user.pk
        return (self.api_key.created_by_id or UNKNOWN_MAKER) if self.api_key else None

    @property
    def hand(self) -> str | None:
        """Whose work it is that is handed in: a person's, also by keys that they made, or of a key that nobody did."""
        if self.person_id:
            return hand_of(self.person_id)
        return f"key:{self.api_key.pk}" if self.api_key else None

    @property
    def label(self) -> str:
        if self.user:
            return self.user.get_username()
        return f"{KEY_LABEL}{self.api_key.name}" if self.api_key else "system"


@dataclass(frozen=True)
class Target:
    """What was acted on where its row is another package's: the kind of thing, and its id."""

    kind: str
    pk: UUID


class AuditEntry(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # No row may change when a project or a person goes: the columns stay, and names are copied.
    project = models.ForeignKey(Project, on_delete=models.DO_NOTHING, db_constraint=False, related_name="audit_entries")
    actor_label = models.CharField(max_length=200)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    api_key_id = models.UUIDField(null=True)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=60)
    target_id = models.UUIDField()
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # Of the rows of teams/audit.py alone: whether its contents are kept from the reader for now, and who made the key
    # that it tells of; nothing of people, and of keys that nobody did.
    is_hidden: bool
    made_by: str

    class Meta:
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="audit_newest"),
            models.Index(fields=("project", "actor_label", "-created_at", "-id"), name="audit_by_actor"),
            models.Index(fields=("project", "action", "-created_at", "-id"), name="audit_by_action"),
            models.Index(fields=("target_id", "-created_at", "-id"), name="audit_of_target"),
        )

    def __str__(self) -> str:
        return f"{self.actor_label}: {self.action}"


def audit(
    project_id: UUID,
    actor: Actor,
    action: str,
    *,
    target: models.Model | Target,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    write: Callable[[models.Model], None] = models.Model.save,
) -> None:
    """Adds to the trail, by `write` where that is to go with other rows; call it in the transaction of the change."""
    entry = AuditEntry(
        project_id=project_id,
        actor_label=actor.label,
        user=actor.user,
        api_key_id=actor.api_key.id if actor.api_key else None,
        action=action,
        target=target.kind if isinstance(target, Target) else type(target).__name__.lower(),
        target_id=target.pk,
        before=before or {},
        after=after or {},
        address=actor.address,
    )
    write(entry)


def newest_deed(target: models.Model, action: str) -> AuditEntry | None:
    """When this was last done to the row, and by whom; None where nobody did."""
    return AuditEntry.objects.filter(target_id=target.pk, action=action).order_by("-created_at", "-id").first()


# The address of who asked, as it is audited. The pages and the REST interface both ask here.

# What providers give to one customer, at the least (RFC 6177).
OWN_NETWORK_BITS = 64


def client_address(meta: Mapping[str, Any]) -> str | None:
    """The caller's IP address by the request's META; None where what is said is none.

    In production a proxy stands in front and appends the address it sees: only that last one is not the caller's word.
    """
    said = str(meta.get("REMOTE_ADDR") or "")
    if settings.PRODUCTION:
        said = str(meta.get("HTTP_X_FORWARDED_FOR") or said).rpartition(",")[2]
    try:
        # PostgreSQL has no zones: fe80::1%eth0
        return str(ip_address(said.strip().partition("%")[0]))
    except ValueError:
        return None


def counted_address(meta: Mapping[str, Any]) -> str:
    """What tries are counted by: the address; of IPv6 the network, in which a caller has any number of them."""
    told = client_address(meta)
    if told is None:
        return "unknown"
    address = ip_address(told)
    if not isinstance(address, IPv6Address):
        return told
    return str(address.ipv4_mapped or ip_network((address, OWN_NETWORK_BITS), strict=False))
