"""Who belongs to the key's project, and invitations to it."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import ShownOnce, idempotent
from reflection_app.api.pages import NEWEST_FIRST, Number, Order, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters
from reflection_app.core.audit import AuditEntry
from reflection_app.core.errors import NotFound
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


class MemberAnswer(BaseModel):
    user_id: int
    name: str
    role: Role
    invited_by_key: UUID | None = Field(
        description="the key whose invitation made them a member, until a person gives them a role; they go with it"
    )
    is_active: bool = Field(description="false where the account is switched off")
    since: datetime


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


class InvitationAnswer(BaseModel):
    id: UUID
    role: Role
    email: str
    created_by: str
    created_at: datetime
    expires_at: datetime


class NewInvitationAnswer(InvitationAnswer):
    link: str | None = Field(description="shown this once; null where a repeated request is answered again")


class InvitationPage(BaseModel):
    results: list[InvitationAnswer]
    next: str | None
    previous: str | None


class MemberList(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("list_members", summary="The members, the oldest first", query=PageQuery, answer=MemberPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, PageQuery)
        rows = Membership.objects.filter(project=self.project).select_related("user")
        page = get_page(rows, request=request, query=query, order=OLDEST_FIRST)
        return Response(page.with_results([member_answer(member) for member in page.rows]))


class MemberDetail(DeskView):
    http_method_names: ClassVar[list[str]] = ["patch", "delete"]  # type: ignore[misc]
    permissions = needs(patch=Permission.MANAGE_MEMBERS, delete=Permission.MANAGE_MEMBERS)

    @described_post(
        "change_member",
        summary="Give a member another role; the last admin keeps theirs",
        body=RoleInput,
        answers={200: MemberAnswer},
        problems=(404, 409),
    )
    @idempotent
    def patch(self, request: Request, user_id: str) -> Response:
        told = read_input(request, RoleInput, what="role")
        member = change_role(self.project, _number(user_id), role=told.role, actor=self.actor)
        return Response(member_answer(member).model_dump(mode="json"))

    @described_post(
        "remove_member",
        summary="Remove a member; the last admin stays",
        answers={204: None},
        problems=(404, 409),
    )
    @idempotent
    def delete(self, request: Request, user_id: str) -> Response:
        remove_member(self.project, _number(user_id), actor=self.actor)
        return Response(status=204)


class InvitationList(DeskView):
    permissions = needs(get=Permission.MANAGE_MEMBERS, post=Permission.MANAGE_MEMBERS)

    @described_get("list_invitations", summary="Open invitations, newest first", query=PageQuery, answer=InvitationPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, PageQuery)
        rows = Invitation.objects.usable().filter(project=self.project)
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([invitation_answer(invitation) for invitation in page.rows]))

    @described_post(
        "create_invitation",
        summary="Make a link that makes one person a member",
        body=InvitationInput,
        answers={201: NewInvitationAnswer},
        problems=(409,),
    )
    @idempotent
    def post(self, request: Request) -> Response:
        told = read_input(request, InvitationInput, what="invitation")
        made = create_invitation(self.project, role=told.role, email=told.email, days=told.days, actor=self.actor)
        link = settings.PUBLIC_URL + reverse("open_invitation", args=[made.secret])
        kept = invitation_answer(made.invitation).model_dump(mode="json")
        return ShownOnce(kept | {"link": link}, kept=kept | {"link": None}, status=201)


class InvitationDetail(DeskView):
    http_method_names: ClassVar[list[str]] = ["delete"]  # type: ignore[misc]
    permissions = needs(delete=Permission.MANAGE_MEMBERS)

    @described_post(
        "revoke_invitation", summary="The link works no more; nothing changes where it was used", answers={204: None},
        problems=(404,),
    )  # fmt: skip
    @idempotent
    def delete(self, request: Request, invitation_id: UUID) -> Response:
        invitation = Invitation.objects.filter(project=self.project, pk=invitation_id).first()
        if invitation is None:
            raise NotFound("There is no such invitation.")
        revoke_invitation(invitation, actor=self.actor)
        return Response(status=204)


def _number(user_id: str) -> int:
    """The id; 0, which nobody has, where it is none."""
    number = int(user_id) if user_id.isascii() and user_id.isdigit() and len(user_id) <= 10 else 0
    return number if number <= BIGGEST_ID else 0


def member_answer(member: Membership) -> MemberAnswer:
    return MemberAnswer(
        user_id=member.user.pk,
        name=member.user.get_username(),
        role=Role(member.role),
        invited_by_key=member.invited_by_key_id,
        is_active=member.user.is_active,
        since=member.created_at,
    )


def invitation_answer(invitation: Invitation) -> InvitationAnswer:
    return InvitationAnswer(
        id=invitation.pk,
        role=Role(invitation.role),
        email=invitation.email,
        created_by=invitation.created_by_label,
        created_at=invitation.created_at,
        expires_at=invitation.expires_at,
    )


# The audit trail, entry by entry.


class AuditQuery(AuditFilter, PageQuery):
    """The filters, and the page."""


class AuditAnswer(BaseModel):
    id: UUID
    created_at: datetime
    actor: str = Field(description="a user name, `key <name>` or `system`, as it was then")
    key_made_by: str | None = Field(
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


class AuditEntryList(DeskView):
    permissions = needs(get=Permission.READ_AUDIT)

    @described_get(
        "list_audit_entries", summary="Who did what to what, newest first", query=AuditQuery, answer=AuditPage
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, AuditQuery)
        rows = entries_for(self.project, query, reader=self.actor)
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([audit_answer(entry) for entry in page.rows]))


def audit_answer(entry: AuditEntry) -> AuditAnswer:
    hidden = is_hidden(entry)
    return AuditAnswer(
        id=entry.pk,
        created_at=entry.created_at,
        actor=entry.actor_label,
        key_made_by=made_by(entry) or None,
        action=entry.action,
        target=entry.target,
        target_id=entry.target_id,
        before={} if hidden else entry.before,
        after={} if hidden else entry.after,
        is_hidden=hidden,
        address=entry.address,
    )


# The whole project as a file.


class ProjectExport(DeskView):
    permissions = needs(get=Permission.EXPORT_PROJECT)

    @described_get(
        "export_project",
        summary="The whole project as a zip of JSON lines, without secrets; manage.py import_project takes it in",
        answer=OpenApiTypes.BINARY,
        media_type="application/zip",
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        read_query(request, NoParameters)
        file = whole_file(self.project, actor=self.actor)
        asked = request._request  # noqa: SLF001 - the documented way to Django's own request
        body = PiecesOffTheLoop(file) if isinstance(asked, ASGIRequest) else Pieces(file)
        return StreamingHttpResponse(body, content_type="application/zip", headers=headers_of(self.project))
