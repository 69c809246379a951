"""Who belongs to the key's project, and invitations to it."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.http import StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from pydantic import Field, TypeAdapter

from reflection_app.api.actions import change, read
from reflection_app.api.idempotency import ShownOnce
from reflection_app.api.pages import Number, Order, PageQuery
from reflection_app.api.reading import Answer, OrNull, PageAnswer, part
from reflection_app.api.view import DeskView, get_row
from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Membership, Role
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import Moment
from reflection_app.loops.values import Value
from reflection_app.teams.archive.writing import file_response
from reflection_app.teams.audit import AuditFilter, entries_for
from reflection_app.teams.members import (
    MOST_DAYS,
    USUAL_DAYS,
    change_role,
    create_invitation,
    remove_member,
    revoke_invitation,
)
from reflection_app.teams.models import Invitation

OLDEST_FIRST = Order(("created_at", "id"), descending=False, position=TypeAdapter(tuple[Moment, Number]))
BIGGEST_ID = 2**31 - 1


class MemberAnswer(Answer):
    user_id: int
    name: Annotated[str, part("username")] = Field(validation_alias="user")
    role: Role
    invited_by_key: UUID | None = Field(
        validation_alias="invited_by_key_id",
        description="API key whose invitation made them a member, until a person sets their role; revoking the key "
        "removes them",
    )
    is_active: Annotated[bool, part("is_active")] = Field(
        validation_alias="user", description="false if the account is disabled"
    )
    since: datetime = Field(validation_alias="created_at")


class MemberPage(PageAnswer):
    results: list[MemberAnswer]


class KeyLeft(Answer):
    """An API key of the member."""

    id: UUID
    name: str
    prefix: str = Field(validation_alias="hint", description="first characters of the key")


class KeysLeftAnswer(Answer):
    """What happened to the API keys that the member created."""

    revoked_keys: list[KeyLeft] = Field(
        default=[], validation_alias="revoked", description="keys revoked by this request"
    )
    remaining_keys: list[KeyLeft] = Field(
        default=[],
        validation_alias="remaining",
        description="keys that are still valid, without the scope `admin` unless their creator is an admin",
    )


class ChangedMemberAnswer(KeysLeftAnswer, MemberAnswer):
    """The member, and what happened to their API keys."""


RevokeKeys = Annotated[bool, Field(description="revoke the API keys that the member created")]


class RoleInput(Value):
    role: Role
    revoke_keys: RevokeKeys = Field(
        default=True, description="revoke the API keys that the member created, if the new role is lower"
    )


class RemoveQuery(Value):
    revoke_keys: RevokeKeys = True


class InvitationInput(Value):
    role: Role = Field(
        default=Role.VIEWER, description="API keys can invite viewers only; people give other roles in the web app"
    )
    email: str = Field(
        default="", max_length=254, description="the only email address that may accept; empty: any account"
    )
    days: int = Field(default=USUAL_DAYS, ge=1, le=MOST_DAYS, description="days until the link expires")


class InvitationAnswer(Answer):
    id: UUID
    role: Role
    email: str
    created_by: str = Field(validation_alias="created_by_label")
    created_at: datetime
    expires_at: datetime


class NewInvitationAnswer(InvitationAnswer):
    link: str | None = Field(description="returned only once; null in the response to a repeated request")


class InvitationPage(PageAnswer):
    results: list[InvitationAnswer]


class Members(DeskView):
    def get_object(self, user_id: str) -> int:
        """The user's id; 0, which nobody has, where it is none."""
        number = int(user_id) if user_id.isascii() and user_id.isdigit() and len(user_id) <= 10 else 0
        return number if number <= BIGGEST_ID else 0

    @read("list_members", "List members, oldest first", may=Permission.READ)
    def list(self, query: PageQuery) -> MemberPage:
        members = Membership.objects.filter(project=self.project).select_related("user")
        return self.page(MemberPage, members, query, order=OLDEST_FIRST)

    @change(
        "change_member",
        "Change a member's role, except the last admin's",
        may=Permission.MANAGE_MEMBERS,
        what="role",
        problems=(409,),
    )
    def partial_update(self, user_id: int, body: RoleInput) -> ChangedMemberAnswer:
        done = change_role(self.project, user_id, role=body.role, actor=self.actor, revoke_keys=body.revoke_keys)
        return ChangedMemberAnswer.from_row(
            done.membership, revoked_keys=done.keys.revoked, remaining_keys=done.keys.remaining
        )

    @change(
        "remove_member",
        "Remove a member, except the last admin",
        may=Permission.MANAGE_MEMBERS,
        problems=(409,),
    )
    def destroy(self, user_id: int, query: RemoveQuery) -> KeysLeftAnswer:
        """Releases the member's claims, assignments and queue places."""
        done = remove_member(self.project, user_id, actor=self.actor, revoke_keys=query.revoke_keys)
        return KeysLeftAnswer.from_row(done)


class Invitations(DeskView):
    def get_object(self, invitation_id: UUID) -> Invitation:
        return get_row(Invitation.objects.filter(project=self.project, pk=invitation_id), "invitation")

    @read("list_invitations", "List open invitations, newest first", may=Permission.MANAGE_MEMBERS)
    def list(self, query: PageQuery) -> InvitationPage:
        return self.page(InvitationPage, Invitation.objects.usable().filter(project=self.project), query)

    @change(
        "create_invitation",
        "Create an invitation link for one member",
        may=Permission.MANAGE_MEMBERS,
        what="invitation",
        answers={201: NewInvitationAnswer},
        problems=(409,),
    )
    def create(self, body: InvitationInput) -> ShownOnce:
        made = create_invitation(self.project, role=body.role, email=body.email, days=body.days, actor=self.actor)
        link = settings.PUBLIC_URL + reverse("open_invitation", args=[made.secret])
        kept = NewInvitationAnswer.from_row(made.invitation, link=None).model_dump(mode="json")
        return ShownOnce(kept | {"link": link}, kept=kept, status=201)

    @change(
        "revoke_invitation",
        "Revoke an invitation; existing members remain",
        may=Permission.MANAGE_MEMBERS,
    )
    def destroy(self, invitation: Invitation) -> None:
        revoke_invitation(invitation, actor=self.actor)


# The audit trail, entry by entry.


class AuditQuery(AuditFilter, PageQuery):
    """The filters, and the page."""


class AuditAnswer(Answer):
    id: UUID
    created_at: datetime
    actor: str = Field(
        validation_alias="actor_label", description="a user name, `key <name>` or `system`, as recorded at the time"
    )
    key_made_by: Annotated[str | None, OrNull] = Field(
        validation_alias="made_by",
        description="user who created the key, if a key acted; null for people and for keys created on the command "
        "line",
    )
    action: str
    target: str = Field(description="type of object")
    target_id: UUID
    before: dict[str, Any]
    after: dict[str, Any]
    is_hidden: bool = Field(description="whether before and after are hidden while others judge the same item blindly")
    address: str | None


class AuditPage(PageAnswer):
    results: list[AuditAnswer]


class AuditEntries(DeskView):
    @read("list_audit_entries", "List audit entries, newest first", may=Permission.READ_AUDIT)
    def list(self, query: AuditQuery) -> AuditPage:
        return self.page(AuditPage, entries_for(self.project, query, reader=self.actor), query, each=audit_answer)


def audit_answer(entry: AuditEntry) -> AuditAnswer:
    withheld: dict[str, Any] = {"before": {}, "after": {}} if entry.is_hidden else {}
    return AuditAnswer.from_row(entry, **withheld)


# The whole project as a file.


class Export(DeskView):
    @read(
        "export_project",
        "Export the project for manage.py import_project, without secrets",
        may=Permission.EXPORT_PROJECT,
        answer=OpenApiTypes.BINARY,
        media_type="application/zip",
    )
    def retrieve(self) -> StreamingHttpResponse:
        """A zip of JSON Lines files."""
        # The documented way to Django's own request.
        return file_response(self.request._request, self.project, actor=self.actor)  # noqa: SLF001
