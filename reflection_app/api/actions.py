"""Calls of REST as methods of a view: the annotations say what is read and answered, the decorator the rest.

    class Runs(DeskView):
        def get_object(self, run_id: UUID) -> Run: ...

        @change("fork_run", "Begin a second run with this one's steps", may=Permission.HAND_IN, status=201)
        def fork(self, run: Run, body: ForkInput) -> RunAnswer: ...

`query` and `body` are the arguments that are read from the request, and any other is what `get_object` finds.
`Runs.as_view({"post": "fork"})` has it at an address.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, get_type_hints

from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent
from reflection_app.api.reading import PageAnswer, read_body, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters
from reflection_app.core.permissions import Permission

Answered = BaseModel | Response | None
# Typed loosely, for each action has arguments of its own.
Action = Callable[..., Answered]
Decorator = Callable[[Action], Any]


def read(operation: str, summary: str, *, may: Permission) -> Decorator:
    """An action that changes nothing, for keys whose scopes allow `may`."""

    def decorate(action: Action) -> Any:
        hints = get_type_hints(action)
        query, problems = hints.get("query"), (404,) if _is_of_thing(hints) else ()

        @described_get(operation, summary=summary, query=query, answer=hints["return"], problems=problems)
        @wraps(action)
        def respond(view: DeskView, request: Request, **ids: Any) -> Response:
            given = read_query(request, query or NoParameters)
            things = [view.get_object(**ids)] if ids else []
            return response_of(action(view, *things, **({"query": given} if query else {})))

        return _allowing(respond, may)

    return decorate


def change(
    operation: str,
    summary: str,
    *,
    may: Permission,
    what: str = "body",
    reader: Callable[[Any], BaseModel] | None = None,
    status: int = 200,
    answers: Mapping[int, type[BaseModel] | None] | None = None,
    problems: Sequence[int] = (),
    examples: Mapping[str, Any] | None = None,
    once: bool = True,
) -> Decorator:
    """An action that changes something. A refusal of its body calls that `what`; a `reader` makes
    of JSON what pydantic alone does not.

    `answers` are needed where they are more than one. With `once` it is carried out once per idempotency key; what
    waits sees to that itself, since the wait is no part of the transaction.
    """

    def decorate(action: Action) -> Any:
        hints = get_type_hints(action)
        query, body = hints.get("query", NoParameters), hints.get("body")

        @wraps(action)
        def carry_out(view: DeskView, request: Request, **ids: Any) -> Response:
            given = {"query": read_query(request, query)} if "query" in hints else {}
            things = [view.get_object(**ids)] if ids else []
            if body is not None:
                given["body"] = reader(read_body(request)) if reader else read_input(request, body, what=what)
            return response_of(action(view, *things, **given), status)

        carried_out = idempotent(carry_out) if once else carry_out

        @described_post(
            operation,
            summary=summary,
            answers=answers or {status: hints["return"]},
            body=body,
            query=hints.get("query"),
            problems=(*problems, 404) if _is_of_thing(hints) else problems,
            examples=examples,
        )
        @wraps(action)
        def respond(view: DeskView, request: Request, **ids: Any) -> Response:
            # Refused whether or not it was asked before.
            read_query(request, query)
            return carried_out(view, request, **ids)

        return _allowing(respond, may)

    return decorate


def response_of(answer: Answered, status: int = 200) -> Response:
    if isinstance(answer, Response):
        return answer
    if answer is None:
        return Response(status=204)
    body = answer.model_dump(mode="json")
    # The rows stand before the links.
    return Response({"results": body.pop("results"), **body} if isinstance(answer, PageAnswer) else body, status)


def _is_of_thing(hints: Mapping[str, Any]) -> bool:
    return bool(hints.keys() - {"query", "body", "return"})


def _allowing(respond: Any, may: Permission) -> Any:
    respond.permission = may
    return respond
