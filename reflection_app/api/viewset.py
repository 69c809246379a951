"""What every call does before and after its own work: it reads what was sent, and writes the answer.

A class holds the calls about one thing, each with its description and the permission that it needs; `route` says which
of them a path has. A call is given the query or the body as a value, and gives back a row or an answer.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, get_args

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, Order, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters
from reflection_app.core.errors import NotFound
from reflection_app.core.permissions import Permission
from reflection_app.loops.json_paths import MOST_VALUES

JSON = "application/json"
type Call = Callable[..., Any]


class DeskViewSet(DeskView):
    http_method_names: ClassVar[list[str]] = ["get", "post", "patch", "delete", "head"]  # type: ignore[misc]

    @classmethod
    def route(cls, **calls: str) -> Callable[..., HttpResponseBase]:
        """The view of one path: by method of HTTP, the name of the call that answers it."""
        handlers = {method: getattr(cls, name) for method, name in calls.items()}
        queries = [handler.query for method, handler in handlers.items() if method != "get"]
        permissions = needs(**{method: handler.permission for method, handler in handlers.items()})
        made = {**handlers, "permissions": permissions, "post_query": next(iter(queries), NoParameters)}
        view: Any = type(cls.__name__, (cls,), made)
        at_path: Callable[..., HttpResponseBase] = view.as_view()
        return at_path

    def check_found(self, **ids: Any) -> None:
        """Raises NotFound where it is to be said before a word on what is wrong with the body."""


def needing(permission: Permission, *, query: type[BaseModel] | None = None) -> Callable[[Call], Call]:
    """Says what a key must be allowed to do for a call; of one that changes something, what its query may be."""

    def said(call: Any) -> Any:
        call.permission, call.query = permission, query or NoParameters
        return call

    return said


def answers_get(
    operation: str,
    permission: Permission,
    *,
    summary: str,
    answer: Any,
    query: type[BaseModel] | None = None,
    problems: Sequence[int] = (),
    media_type: str = JSON,
) -> Callable[[Call], Call]:
    """A call that reads one thing. It is given the query, where it takes one; of another `media_type` it gives text."""
    described = described_get(
        operation, summary=summary, answer=answer, query=query, problems=problems, media_type=media_type
    )

    def made(call: Call) -> Call:
        @needing(permission)
        @described
        @wraps(call)
        def get(view: DeskViewSet, request: Request, **ids: Any) -> HttpResponseBase:
            asked = read_query(request, query or NoParameters)
            found = call(view, asked, **ids) if query else call(view, **ids)
            if isinstance(found, str):
                return HttpResponse(found, content_type=f"{media_type}; charset=utf-8")
            return found if isinstance(found, HttpResponseBase) else _written(found, answer)

        return get

    return made


def answers_list(
    operation: str,
    permission: Permission,
    *,
    summary: str,
    answer: type[BaseModel],
    query: type[PageQuery] = PageQuery,
    order: Order = NEWEST_FIRST,
    shown: Callable[[list[Any]], Sequence[Any]] = list,
    problems: Sequence[int] = (),
) -> Callable[[Call], Call]:
    """A call that gives the rows of a list. `answer` is the page's form; `shown` makes of its rows what is told."""
    (item,) = get_args(answer.model_fields["results"].annotation)

    def made(call: Call) -> Call:
        @needing(permission)
        @described_get(operation, summary=summary, answer=answer, query=query, problems=problems)
        @wraps(call)
        def get(view: DeskViewSet, request: Request, **ids: Any) -> Response:
            asked = read_query(request, query)
            page = get_page(call(view, asked, **ids), request=request, query=asked, order=order)
            return Response(
                page.with_results([item.model_validate(row, from_attributes=True) for row in shown(page.rows)])
            )

        return get

    return made


def answers_post(
    operation: str,
    permission: Permission,
    *,
    summary: str,
    answer: type[BaseModel] | None = None,
    status: int = 200,
    body: type[BaseModel] | None = None,
    what: str = "body",
    most_values: int = MOST_VALUES,
    problems: Sequence[int] = (),
    examples: Mapping[str, Any] | None = None,
    statuses: Sequence[int] = (),
) -> Callable[[Call], Call]:
    """A call that changes something, once per idempotency key. It is given the body, where there is more than nothing
    in it. Without an `answer` there is nothing to tell; a call of several `statuses` gives a Response."""
    answers = dict.fromkeys(statuses or (status if answer else 204,), answer)
    described = described_post(
        operation, summary=summary, answers=answers, body=body, problems=problems, examples=examples
    )

    def made(call: Call) -> Call:
        @needing(permission)
        @described
        @idempotent
        @wraps(call)
        def post(view: DeskViewSet, request: Request, **ids: Any) -> Response:
            view.check_found(**ids)
            told = read_input(request, body, what=what, most_values=most_values) if body else None
            done = call(view, **ids) if told is None or not type(told).model_fields else call(view, told, **ids)
            return _written(done, answer, status=status)

        return post

    return made


def _written(found: Any, answer: type[BaseModel] | None, *, status: int = 200) -> Response:
    if isinstance(found, Response):
        return found
    if answer is None:
        return Response(status=204)
    return Response(answer_body(answer, found), status)


def answer_body(answer: type[BaseModel], found: Any) -> dict[str, Any]:
    """The answer as JSON, of the row or the value that it is about."""
    return answer.model_validate(found, from_attributes=True).model_dump(mode="json", by_alias=True)


def get_row[M: Model](rows: QuerySet[M], what: str, **ids: Any) -> M:
    """The one row of `rows` with these ids. Raises NotFound."""
    row = rows.filter(**ids).first()
    if row is None:
        raise NotFound(f"There is no such {what}.")
    return row
