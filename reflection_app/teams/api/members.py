"""Who belongs to the key's project, and invitations to it."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from reflection_app.api.idempotency import ShownOnce
from reflection_app.api.pages import Number, Order, PageQuery
from reflection_app.api.reading import Answer, OrNull, part
from reflection_app.api.viewset import DeskViewSet, answer_body, answers_get, answers_list, answers_post, get_row
from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Membership, Role
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import Moment
from reflection_app.loops.values import Value
from reflection_app.teams.archive.writing import Pieces, PiecesOffTheLoop, headers_of, whole_file
from reflection_app.teams.audit import AuditFilter, entries_for, is_hidden, made_by
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
        description="the key whose invitation made them a member, until a person gives them a role; they go with it",
    )
    is_active: Annotated[bool, part("is_active")] = Field(
        validation_alias="user", description="false where the account is switched off"
    )
    since: datetime = Field(validation_alias="created_at")


class MemberPage(BaseModel):
    results: list[MemberAnswer]
    next: str | None
    previous: str | None


class RoleInput(Value):
    model_config = ConfigDict(extra="forbid")

    role: Role


class InvitationInput(Value):
    model_config = ConfigDict(extra="forbid")

    role: Role = Field(default=Role.VIEWER, description="a key makes viewers only; other roles are given at the desk")
    email: str = Field(default="", max_length=254, description="the only address that may accept; empty: any account")
    days: int = Field(default=USUAL_DAYS, ge=1, le=MOST_DAYS, description="how long the link works")


class InvitationAnswer(Answer):
    id: UUID
    role: Role
    email: str
    created_by: str = Field(validation_alias="created_by_label")
    created_at: datetime
    expires_at: datetime


class NewInvitationAnswer(InvitationAnswer):
    link: str | None = Field(description="shown this once; null where a repeated request is answered again")


class InvitationPage(BaseModel):
    results: list[InvitationAnswer]
    next: str | None
    previous: str | None


class Members(DeskViewSet):
    @answers_list(
        "list_members",
        Permission.READ,
        summary="The members, the oldest first",
        answer=MemberPage,
        order=OLDEST_FIRST,
    )
    def list(self, _query: PageQuery) -> QuerySet[Membership]:
        return Membership.objects.filter(project=self.project).select_related("user")

    @answers_post(
        "change_member",
        Permission.MANAGE_MEMBERS,
        summary="Give a member another role; the last admin keeps theirs",
        body=RoleInput,
        what="role",
        answer=MemberAnswer,
        problems=(404, 409),
    )
    def change(self, told: RoleInput, user_id: str) -> Membership:
        return change_role(self.project, _number(user_id), role=told.role, actor=self.actor)

    @answers_post(
        "remove_member",
        Permission.MANAGE_MEMBERS,
        summary="Remove a member; the last admin stays",
        problems=(404, 409),
    )
    def remove(self, user_id: str) -> None:
        remove_member(self.project, _number(user_id), actor=self.actor)


def _number(user_id: str) -> int:
    """The id; 0, which nobody has, where it is none."""
    number = int(user_id) if user_id.isascii() and user_id.isdigit() and len(user_id) <= 10 else 0
    return number if number <= BIGGEST_ID else 0


class Invitations(DeskViewSet):
    @answers_list(
        "list_invitations",
        Permission.MANAGE_MEMBERS,
        summary="Open invitations, newest first",
        answer=InvitationPage,
    )
    def list(self, _query: PageQuery) -> QuerySet[Invitation]:
        return Invitation.objects.usable().filter(project=self.project)

    @answers_post(
        "create_invitation",
        Permission.MANAGE_MEMBERS,
        summary="Make a link that makes one person a member",
        body=InvitationInput,
        what="invitation",
        answer=NewInvitationAnswer,
        status=201,
        problems=(409,),
    )
    def create(self, told: InvitationInput) -> ShownOnce:
        made = create_invitation(self.project, role=told.role, email=told.email, days=told.days, actor=self.actor)
        link = settings.PUBLIC_URL + reverse("open_invitation", args=[made.secret])
        kept = answer_body(InvitationAnswer, made.invitation)
        return ShownOnce(kept | {"link": link}, kept=kept | {"link": None}, status=201)

    @answers_post(
        "revoke_invitation",
        Permission.MANAGE_MEMBERS,
        summary="The link works no more; nothing changes where it was used",
        problems=(404,),
    )
    def revoke(self, invitation_id: UUID) -> None:
        rows = Invitation.objects.filter(project=self.project)
        revoke_invitation(get_row(rows, "invitation", pk=invitation_id), actor=self.actor)


# The audit trail, entry by entry.


class AuditQuery(AuditFilter, PageQuery):
    """The filters, and the page."""


class AuditAnswer(Answer):
    id: UUID
    created_at: datetime
    actor: str = Field(
        validation_alias="actor_label", description="a user name, `key <name>` or `system`, as it was then"
    )
    key_made_by: Annotated[str | None, OrNull] = Field(
        description="of a key, the user who made it; null of people, and of keys made by the desk's command"
    )
    action: str
    target: str = Field(description="the kind of thing")
    target_id: UUID
    before: dict[str, Any]
    after: dict[str, Any]
    is_hidden: bool = Field(description="whether before and after are withheld while others judge the same blindly")
    address: str | None


class AuditPage(BaseModel):
    results: list[AuditAnswer]
    next: str | None
    previous: str | None


class AuditEntries(DeskViewSet):
    @answers_list(
        "list_audit_entries",
        Permission.READ_AUDIT,
        summary="Who did what to what, newest first",
        query=AuditQuery,
        answer=AuditPage,
        shown=lambda rows: [_audit_answer(row) for row in rows],
    )
    def list(self, query: AuditQuery) -> QuerySet[AuditEntry]:
        return entries_for(self.project, query, reader=self.actor)


def _audit_answer(entry: AuditEntry) -> AuditAnswer:
    hidden = is_hidden(entry)
    withheld: dict[str, Any] = {"before": {}, "after": {}} if hidden else {}
    return AuditAnswer.from_row(entry, key_made_by=made_by(entry), is_hidden=hidden, **withheld)


# The whole project as a file.


class Export(DeskViewSet):
    @answers_get(
        "export_project",
        Permission.EXPORT_PROJECT,
        summary="The whole project as a zip of JSON lines, without secrets; manage.py import_project takes it in",
        answer=OpenApiTypes.BINARY,
        media_type="application/zip",
    )
    def whole(self) -> StreamingHttpResponse:
        file = whole_file(self.project, actor=self.actor)
        asked = self.request._request  # noqa: SLF001 - the documented way to Django's own request
        body = PiecesOffTheLoop(file) if isinstance(asked, ASGIRequest) else Pieces(file)
        return StreamingHttpResponse(body, content_type="application/zip", headers=headers_of(self.project))
