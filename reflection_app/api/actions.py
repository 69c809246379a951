"""Calls of REST as methods of a view: the annotations say what is read and answered, the decorator the rest.

    class Runs(DeskView):
        def get_object(self, run_id: UUID) -> Run: ...

        @change("fork_run", "Begin a second run with this one's steps", may=Permission.HAND_IN, status=201)
        def fork(self, run: Run, body: ForkInput) -> RunAnswer: ...

`query` and `body` are the arguments that are read from the request, and any other is what `get_object` finds: without
one of the view's own, the id in the address.
`Runs.as_view({"post": "fork"})` has it at an address.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from types import NoneType
from typing import Any, get_type_hints

from django.db import transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import answer_once
from reflection_app.api.reading import PageAnswer, read_body, read_input, read_query
from reflection_app.api.schema import ETAG, IF_MATCH, JSON, LOCATION, described
from reflection_app.api.tags import refuse_stale, tag_now, tag_of
from reflection_app.api.view import DeskView, NoParameters
from reflection_app.core.permissions import Permission
from reflection_app.loops.json_paths import MOST_VALUES

Answered = BaseModel | HttpResponseBase | str | None
# Typed loosely, for each action has arguments of its own.
Action = Callable[..., Answered]
Decorator = Callable[[Action], Any]


@dataclass(frozen=True)
class Described:
    """What an action reads and answers, as `action.described`."""

    query: type[BaseModel]
    body: type[BaseModel] | None
    answer: Any


def read(
    operation: str,
    summary: str,
    *,
    may: Permission,
    answer: Any = None,
    media_type: str = JSON,
    also: Sequence[str] = (),
    problems: Sequence[int] = (),
    tagged: bool = False,
) -> Decorator:
    """An action that changes nothing, for keys whose scopes allow `may`. `tagged`, its answer has the thing's ETag.

    Where it makes the whole response itself, `answer` says what that holds. Text is answered as `media_type`; what is
    answered in other forms as well names them in `also`.
    """

    def decorate(action: Action) -> Any:
        hints = get_type_hints(action)
        query = hints.get("query", NoParameters)

        @described(
            operation,
            summary=summary,
            answers={(200, one): answer or hints["return"] for one in (media_type, *also)},
            query=query,
            problems=(*problems, 404) if _is_of_thing(hints) else problems,
            headers=[ETAG] if tagged else [],
        )
        @wraps(action)
        def respond(view: DeskView, request: Request, **ids: Any) -> HttpResponseBase:
            arguments = {"query": read_query(request, query)}
            things = [view.get_object(**ids)] if ids else []
            found = action(view, *things, **(arguments if "query" in hints else {}))
            if isinstance(found, str):
                return HttpResponse(found, content_type=f"{media_type}; charset=utf-8")
            if isinstance(found, HttpResponseBase):
                return found
            return response_of(found, headers={"ETag": tag_of(view, *things)} if tagged else None)

        respond.permission = may  # which `as_view` reads
        respond.described = Described(query=query, body=None, answer=answer or hints["return"])
        return respond

    return decorate


def change(
    operation: str,
    summary: str,
    *,
    may: Permission,
    what: str = "body",
    reader: Callable[[Any], BaseModel] | None = None,
    most_values: int = MOST_VALUES,
    status: int = 200,
    answers: Mapping[int, type[BaseModel] | None] | None = None,
    problems: Sequence[int] = (),
    examples: Mapping[str, Any] | None = None,
    once: bool = True,
    guarded: bool = False,
    location: str = "",
) -> Decorator:
    """An action that changes something. A refusal of its body calls that `what`; a `reader` makes
    of JSON what pydantic alone does not.

    `answers` are needed where they are more than one. With `once` it is carried out once per idempotency key; what
    waits says by `answer_once` which part of it is, since the wait is no part of the transaction. `guarded`, it is
    refused where `If-Match` is not the thing's ETag. `location` is the address, below /api/v1, of what a 201 made, with
    places for fields of the answer.
    """

    def decorate(action: Action) -> Any:
        hints = get_type_hints(action)
        query, body, returned = hints.get("query", NoParameters), hints.get("body"), hints["return"]
        answered = answers or ({204: None} if returned is NoneType else {status: returned})

        @described(
            operation,
            summary=summary,
            answers={(status, JSON): answer for status, answer in answered.items()},
            changes=True,
            body=body,
            query=query,
            problems=tuple({*problems, *((404,) if _is_of_thing(hints) else ()), *((412,) if guarded else ())}),
            examples=examples,
            headers=[*([IF_MATCH, ETAG] if guarded else []), *([LOCATION] if location else [])],
        )
        @wraps(action)
        def respond(view: DeskView, request: Request, **ids: Any) -> Response:
            # Refused whether or not it was asked before.
            parameters = read_query(request, query)

            def carry_out() -> Response:
                things = [view.get_object(**ids)] if ids else []
                if guarded:
                    refuse_stale(view, *things)
                arguments: dict[str, BaseModel] = {"query": parameters} if "query" in hints else {}
                if reader is not None:
                    arguments["body"] = reader(read_body(request, most_values=most_values))
                elif body is not None:
                    arguments["body"] = read_input(request, body, what=what, most_values=most_values)
                done = action(view, *things, **arguments)
                if isinstance(done, Response):
                    return done
                tagged = guarded and done is not None
                return response_of(done, status, headers={"ETag": tag_now(view, ids, *things)} if tagged else None)

            if guarded and IF_MATCH.name in request.headers:
                # Nobody changes it between the look at its tag and the deed.
                with transaction.atomic():
                    response = answer_once(view, carry_out)
            else:
                response = answer_once(view, carry_out) if once else carry_out()
            if location and response.status_code == 201 and response.data is not None:
                response["Location"] = f"/api/v1/{location.format_map(response.data)}"
            return response

        respond.permission = may  # which `as_view` reads
        respond.described = Described(query=query, body=body, answer=next(iter(answered.values())))
        return respond

    return decorate


def response_of(answer: Any, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    """The answer as JSON; 204 where there is none."""
    if answer is None:
        return Response(status=204)
    body = answer.model_dump(mode="json", by_alias=True)
    # The rows stand before the links.
    if isinstance(answer, PageAnswer):
        body = {"results": body.pop("results"), **body}
    return Response(body, status, headers=headers)


def _is_of_thing(hints: Mapping[str, Any]) -> bool:
    return bool(hints.keys() - {"query", "body", "return"})
