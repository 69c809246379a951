"""The base of every view: JSON only, a key with a scope, and rows of the key's project alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django.db import DatabaseError
from django.db.models import Model, QuerySet
from pydantic import BaseModel, ConfigDict
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.views import APIView

from reflection_app.api.pages import NEWEST_FIRST, Order, PageQuery, get_page
from reflection_app.api.permissions import AlwaysJson, Permissions, needs, permission_for
from reflection_app.api.rate_limits import Limit, Quota, TooManyRequests, buckets, limit_of_addresses, limit_of_keys
from reflection_app.api.reading import PageAnswer, read_query
from reflection_app.api.waiting import note_told
from reflection_app.core.audit import Actor, client_address, counted_address
from reflection_app.core.errors import NotFound
from reflection_app.core.models import ApiKey, Project
from reflection_app.core.permissions import GRANTS
from reflection_app.loops.values import Value
from reflection_app.repairs.answers.reports import reports_to_show, tickets_to_show
from reflection_app.repairs.models import AgentInstruction, Report, Ticket
from reflection_app.reviews.answers import reviews_to_show
from reflection_app.reviews.models import Review
from reflection_app.runs.answers import runs_to_show
from reflection_app.runs.models import Run
from reflection_app.sessions.models import Transcript
from reflection_app.tasks.models import Task


class NoParameters(BaseModel):
    """Of a call that takes no query parameters."""

    model_config = ConfigDict(extra="forbid")


class Nothing(Value):
    """An empty object; the body may as well be left out."""


class DeskView(APIView):
    http_method_names: ClassVar[list[str]] = ["get", "post", "head"]  # type: ignore[misc]
    content_negotiation_class = AlwaysJson
    permissions: ClassVar[Permissions] = needs()
    # None where the call reads it itself, as those of api/actions.py do.
    post_query: ClassVar[type[BaseModel] | None] = NoParameters
    # What the caller may still ask, once it is known who calls; None where that is not counted.
    quota: Quota | None = None
    # Of the actions of a thing: finds it by the ids in the address, or raises NotFound.
    get_object: Callable[..., Any]

    @classmethod
    def as_view(cls, actions: Mapping[str, str] | None = None, **initkwargs: Any) -> Any:
        """As of DRF's viewsets: `{"get": "list"}` says which action answers which method at one address.

        Each address is a view class of its own, unlike there: what walks over the routes, as the schema and the tests
        do, finds at it just the methods that it has, with the permissions that they need.
        """
        if actions is None:
            return super().as_view(**initkwargs)
        calls: dict[str, Any] = {method: getattr(cls, name) for method, name in actions.items()}
        declared = {
            "permissions": needs(**{method: call.permission for method, call in calls.items()}),
            "http_method_names": [*calls, *(["head"] if "get" in calls else [])],
            "post_query": None,
        }
        at_address: Any = type(cls.__name__, (cls,), calls | declared)
        return at_address.as_view(**initkwargs)

    def perform_authentication(self, request: Request) -> None:
        """Takes one request off what the key, or the address that shows none that works, may ask."""
        address = counted_address(request.META)
        try:
            super().perform_authentication(request)
        except AuthenticationFailed:
            self._take_request(limit_of_addresses(), of=address)
            raise
        if isinstance(request.auth, ApiKey):
            self._take_request(limit_of_keys(), of=str(request.auth.pk))
        else:
            self._take_request(limit_of_addresses(), of=address)

    def _take_request(self, limit: Limit, *, of: str) -> None:
        self.quota = buckets.take(limit, of=of)
        if self.quota is not None and self.quota.wait_s:
            raise TooManyRequests(self.quota)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in {"POST", "PUT", "PATCH", "DELETE"} and self.post_query is not None:
            read_query(request, self.post_query)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The answer, kept as told; where that cannot be kept nothing is told, and the caller may ask again."""
        try:
            self._note_told(request, response)
        except DatabaseError as error:
            response = self.handle_exception(error)
        for name, value in self.quota.headers.items() if self.quota is not None else ():
            response[name] = value
        return super().finalize_response(request, response, *args, **kwargs)

    def _note_told(self, request: Request, response: Any) -> None:
        # Whoever is refused, as one without a key, learns nothing.
        if response.status_code >= 300 or not isinstance(request.auth, ApiKey):
            return
        permission = permission_for(self, request.method or "")
        scopes = GRANTS[permission].scopes if permission is not None else ()
        note_told(request.auth, scopes=scopes, ids=self.kwargs, answer=getattr(response, "data", None))

    def page[M: Model, A: PageAnswer](
        self,
        answer: type[A],
        rows: QuerySet[M],
        query: PageQuery,
        *,
        order: Order = NEWEST_FIRST,
        answers: Callable[[list[M]], Sequence[BaseModel]] | None = None,
    ) -> A:
        """The page of `rows` that the query names; `answers` makes the results where the rows alone do not."""
        page = get_page(rows, request=self.request, query=query, order=order)
        results = answers(page.rows) if answers else page.rows
        return answer.model_validate({"results": results, "next": page.next, "previous": page.previous})

    @property
    def key(self) -> ApiKey:
        """The caller's key; there is one, or the permission would have refused."""
        assert isinstance(self.request.auth, ApiKey)
        return self.request.auth

    @property
    def project(self) -> Project:
        return self.key.project

    @property
    def actor(self) -> Actor:
        return Actor(api_key=self.key, address=client_address(self.request.META))

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {**super().default_response_headers, "Cache-Control": "no-store"}


# Rows by their id, for a key: another project's row is as good as none.


def get_task_for(project: Project, task_id: UUID) -> Task:
    """The task. Raises NotFound."""
    task = Task.objects.filter(project=project, pk=task_id).first()
    if task is None:
        raise NotFound("There is no such task.")
    return task


def get_run_for(project: Project, run_id: UUID) -> Run:
    """The run. Raises NotFound."""
    run = runs_to_show(Run.objects.filter(project=project, pk=run_id)).first()
    if run is None:
        raise NotFound("There is no such run.")
    return run


def get_transcript_for(project: Project, transcript_id: UUID) -> Transcript:
    """The session. Raises NotFound."""
    transcript = Transcript.objects.filter(project=project, pk=transcript_id).first()
    if transcript is None:
        raise NotFound("There is no such session.")
    return transcript


def get_review_for(project: Project, review_id: UUID) -> Review:
    """The review. Raises NotFound."""
    review = reviews_to_show(Review.objects.filter(project=project, pk=review_id)).first()
    if review is None:
        raise NotFound("There is no such review.")
    return review


def get_ticket_for(project: Project, ticket_id: str) -> Ticket:
    """The rewind ticket. Raises NotFound."""
    ticket = tickets_to_show(Ticket.objects.filter(project=project, ticket_id=ticket_id)).first()
    if ticket is None:
        raise NotFound("There is no such ticket.")
    return ticket


def get_report_for(project: Project, reflection_id: str) -> Report:
    """The reflection report. Raises NotFound."""
    rows = reports_to_show(Report.objects.filter(project=project, reflection_id=reflection_id))
    report = rows.prefetch_related("corrections").first()
    if report is None:
        raise NotFound("There is no such report.")
    return report


def get_instruction_for(project: Project, instruction_id: UUID) -> AgentInstruction:
    """The instruction. Raises NotFound."""
    rows = AgentInstruction.objects.filter(project=project, pk=instruction_id).select_related("report")
    instruction = rows.first()
    if instruction is None:
        raise NotFound("There is no such instruction.")
    return instruction
