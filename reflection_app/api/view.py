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
from reflection_app.api.problems import UnsupportedBody
from reflection_app.api.rate_limits import Limit, Quota, TooManyRequests, buckets, limit_of_addresses, limit_of_keys
from reflection_app.api.waiting import note_delivered
from reflection_app.core.audit import Actor, client_address, counted_address
from reflection_app.core.errors import NotFound
from reflection_app.core.models import ApiKey, Project
from reflection_app.core.permissions import GRANTS
from reflection_app.loops.storable import storable
from reflection_app.loops.texts import cut
from reflection_app.loops.values import Value
from reflection_app.runs.answers import run_by_id
from reflection_app.runs.models import Run
from reflection_app.sessions.models import Transcript

LONGEST_ENCODING = 40


def encoding_of(request: Request) -> str:
    """The `Content-Encoding` of the body, in lower case."""
    return (request.headers.get("Content-Encoding") or "identity").strip().lower()


class NoParameters(BaseModel):
    """Of a call that takes no query parameters."""

    model_config = ConfigDict(extra="forbid")


class Nothing(Value):
    """An empty object; the body may be omitted."""


class DeskView(APIView):
    content_negotiation_class = AlwaysJson
    permissions: ClassVar[Permissions] = needs()
    # What the caller may still ask, once it is known who calls; None where that is not counted.
    quota: Quota | None = None
    # How a body may be encoded. A view that names more decodes them itself.
    content_encodings: ClassVar[tuple[str, ...]] = ("identity",)

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
        }
        at_address: Any = type(cls.__name__, (cls,), calls | declared)
        return at_address.as_view(**initkwargs)

    def get_object(self, *_: Any, **ids: Any) -> Any:
        """What an action of a thing is about, by the ids in the address, or NotFound.

        Here it is the one id alone, for actions of which the deed itself finds the thing.
        """
        (found,) = ids.values()
        return found

    def get_edited(self, *things: Any) -> Any:
        """Of a thing that can be edited: what can be, as JSON can hold it. Its ETag is made of it."""
        raise NotImplementedError

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise UnsupportedBody if the body is encoded in a way that is not decoded here."""
        super().initial(request, *args, **kwargs)
        encoding = encoding_of(request)
        if request.method not in {"GET", "HEAD"} and encoding not in self.content_encodings:
            others = " or ".join(one for one in self.content_encodings if one != "identity")
            raise UnsupportedBody(
                f"Content-Encoding {cut(storable(encoding), LONGEST_ENCODING)!r} is not supported here. Send the body "
                f"without Content-Encoding{f', or with {others}' if others else ''}; nothing was stored."
            )

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

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The answer, kept as told; where that cannot be kept nothing is told, and the caller may ask again."""
        try:
            # Whoever is refused, as one without a key, learns nothing.
            if response.status_code < 300 and isinstance(request.auth, ApiKey):
                permission = permission_for(self, request.method or "")
                scopes = GRANTS[permission].scopes if permission is not None else ()
                note_delivered(request.auth, scopes=scopes, ids=self.kwargs, answer=getattr(response, "data", None))
        except DatabaseError as error:
            response = self.handle_exception(error)
        for name, value in self.quota.headers.items() if self.quota is not None else ():
            response[name] = value
        return super().finalize_response(request, response, *args, **kwargs)

    def page[M: Model, A: BaseModel](
        self,
        answer: type[A],
        rows: QuerySet[M],
        query: PageQuery,
        *,
        order: Order = NEWEST_FIRST,
        each: Callable[[M], BaseModel] | None = None,
        answers: Callable[[list[M]], Sequence[BaseModel]] | None = None,
    ) -> A:
        """The page of `rows` that the query names.

        `each` makes a result of a row, or `answers` all of them together, where the rows alone do not say it all.
        """
        page = get_page(rows, request=self.request, query=query, order=order)
        results: Sequence[Any] = page.rows
        if each is not None:
            results = [each(row) for row in page.rows]
        elif answers is not None:
            results = answers(page.rows)
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


def get_row[M: Model](rows: QuerySet[M], what: str) -> M:
    """The one of `rows`, which are those of one id. Raises NotFound, which calls it `what`."""
    row = rows.first()
    if row is None:
        raise NotFound(f"There is no such {what}.")
    return row


def get_run_for(project: Project, run_id: UUID) -> Run:
    run = run_by_id.first(project.pk, run_id)
    if run is None:
        raise NotFound("There is no such run.")
    return run


def get_transcript_for(project: Project, transcript_id: UUID) -> Transcript:
    return get_row(Transcript.objects.filter(project=project, pk=transcript_id), "session")
