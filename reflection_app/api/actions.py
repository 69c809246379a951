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
from functools import wraps
from types import NoneType
from typing import Any, get_type_hints

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import answer_once
from reflection_app.api.reading import PageAnswer, read_body, read_input, read_query
from reflection_app.api.schema import JSON, described_get, described_post
from reflection_app.api.view import DeskView, NoParameters
from reflection_app.core.permissions import Permission
from reflection_app.loops.json_paths import MOST_VALUES

Answered = BaseModel | HttpResponseBase | str | None
# Typed loosely, for each action has arguments of its own.
Action = Callable[..., Answered]
Decorator = Callable[[Action], Any]


def read(
    operation: str,
    summary: str,
    *,
    may: Permission,
    answer: Any = None,
    media_type: str = JSON,
    also: Sequence[str] = (),
    problems: Sequence[int] = (),
) -> Decorator:
    """An action that changes nothing, for keys whose scopes allow `may`.

    Where it makes the whole response itself, `answer` says what that holds. Text is answered as `media_type`; what is
    answered in other forms as well names them in `also`.
    """

    def decorate(action: Action) -> Any:
        hints = get_type_hints(action)
        query = hints.get("query", NoParameters)

        @described_get(
            operation,
            summary=summary,
            query=query,
            answer=answer or hints["return"],
            problems=(*problems, 404) if _is_of_thing(hints) else problems,
            media_types=(media_type, *also),
        )
        @wraps(action)
        def respond(view: DeskView, request: Request, **ids: Any) -> HttpResponseBase:
            arguments = {"query": read_query(request, query)}
            things = [view.get_object(**ids)] if ids else []
            found = action(view, *things, **(arguments if "query" in hints else {}))
            if isinstance(found, str):
                return HttpResponse(found, content_type=f"{media_type}; charset=utf-8")
            return found if isinstance(found, HttpResponseBase) else response_of(found)

        respond.permission = may  # which `as_view` reads
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
) -> Decorator:
    """An action that changes something. A refusal of its body calls that `what`; a `reader` makes
    of JSON what pydantic alone does not.

    `answers` are needed where they are more than one. With `once` it is carried out once per idempotency key; what
    waits says by `answer_once` which part of it is, since the wait is no part of the transaction.
    """

    def decorate(action: Action) -> Any:
        hints = get_type_hints(action)
        query, body, returned = hints.get("query", NoParameters), hints.get("body"), hints["return"]

        @described_post(
            operation,
            summary=summary,
            answers=answers or ({204: None} if returned is NoneType else {status: returned}),
            body=body,
            query=query,
            problems=(*problems, 404) if _is_of_thing(hints) else problems,
            examples=examples,
        )
        @wraps(action)
        def respond(view: DeskView, request: Request, **ids: Any) -> Response:
            # Refused whether or not it was asked before.
            parameters = read_query(request, query)

            def carry_out() -> Response:
                things = [view.get_object(**ids)] if ids else []
                arguments: dict[str, BaseModel] = {"query": parameters} if "query" in hints else {}
                if reader is not None:
                    arguments["body"] = reader(read_body(request, most_values=most_values))
                elif body is not None:
                    arguments["body"] = read_input(request, body, what=what, most_values=most_values)
                done = action(view, *things, **arguments)
                return done if isinstance(done, Response) else response_of(done, status)

            return answer_once(view, carry_out) if once else carry_out()

        respond.permission = may  # which `as_view` reads
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
