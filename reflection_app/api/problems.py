"""Every refusal as application/problem+json (RFC 9457). The one place where exceptions become statuses."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from django.utils.text import slugify
from pydantic import BaseModel, ConfigDict, Field
from rest_framework.exceptions import APIException
from rest_framework.response import Response

from reflection_app.core.errors import ActionError

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"


class FieldError(BaseModel):
    """Error in one field. `index` is the position of the item if several were sent."""

    index: int | None = Field(default=None, exclude_if=lambda value: value is None)
    field: str = Field(description="path of the field, such as limits.max_iterations")
    message: str


class Problem(BaseModel):
    """Error details for programs (`type`, `status`, `errors`) and for people (`title`, `detail`)."""

    model_config = ConfigDict(
        json_schema_serialization_defaults_required=True,
        json_schema_extra={
            "example": {
                "type": "urn:reflection-desk:invalid-input",
                "title": "Invalid input",
                "status": 400,
                "detail": "The task is invalid; nothing was saved.",
                "errors": [{"field": "objective", "message": "must not be blank"}],
            }
        },
    )

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] = []
    task_id: UUID | None = Field(
        default=None, exclude_if=lambda value: value is None, description="task that already has this external ID"
    )
    run_id: UUID | None = Field(
        default=None, exclude_if=lambda value: value is None, description="newest run of that task"
    )
    conflicts: list[UUID] = Field(
        default=[],
        exclude_if=lambda value: not value,
        description="open contradictions that block approval of the entry",
    )


class UnsupportedBody(ActionError):
    """The body is of a kind that is not read here."""

    status = 415
    title = "Unsupported media type"


class TooManyValues(ActionError):
    """The body is made of more values than are read."""

    status = 413
    title = "Too many values"


class KeyReused(ActionError):
    """The idempotency key was used for another request before."""

    status = 422
    title = "Idempotency key reused"


# What Django raises, with a text of ours: its own may tell of the inside.
FROM_BELOW: tuple[tuple[type[Exception], int, str], ...] = (
    (RequestDataTooBig, 413, "The body is too large."),
    (SuspiciousOperation, 400, "The request has too many or unreadable fields."),
    (UnreadablePostError, 400, "The body could not be read completely."),
    # Found a moment ago, and deleted before it could be locked.
    (ObjectDoesNotExist, 404, "Deleted in the meantime."),
    (Http404, 404, "Not found, or not accessible to you."),
    (PermissionDenied, 403, "Not allowed."),
    (OperationalError, 503, "The database cannot be reached. Try again in a moment."),
    (InterfaceError, 503, "The database cannot be reached. Try again in a moment."),
)
# By PostgreSQL's error codes (its manual, appendix A): what waiting a moment does not mend.
OF_DATABASE = {
    "53100": "The database's disk is full; nothing was stored. Free disk space on the server.",
    "25006": "The database is read-only at the moment; nothing was stored.",
}


def problem_response(error: Exception, context: Mapping[str, Any]) -> Response:
    """The answer to `error`. An unexpected one is logged, and its text stays here."""
    problem = problem_of(error)
    if problem.status == 503:
        log.error("%s %s could not be served: %s", *_request_line(context), error)
    elif problem.status >= 500:
        log.error("%s %s failed", *_request_line(context), exc_info=error)
    headers = {}
    if authenticate := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = authenticate
    if retry_after_s := getattr(error, "retry_after_s", None):
        headers["Retry-After"] = str(retry_after_s)
    return Response(problem.model_dump(mode="json"), problem.status, headers=headers, content_type=MEDIA_TYPE)


def problem_of(error: Exception) -> Problem:
    if isinstance(error, ActionError):
        problem = _problem(
            error.status, str(error), title=error.title, slug=error.slug, errors=getattr(error, "errors", [])
        )
        # Of ExternalIdTaken, and of Contradicts.
        told = {name: getattr(error, name) for name in ("task_id", "run_id", "conflicts") if hasattr(error, name)}
        return problem.model_copy(update=told)
    if isinstance(error, APIException):
        return _problem(error.status_code, _text_of(error.detail))
    if detail := OF_DATABASE.get(getattr(error.__cause__, "sqlstate", None) or ""):
        return _problem(503, detail)
    for kind, status, detail in FROM_BELOW:
        if isinstance(error, kind):
            return _problem(status, detail)
    return _problem(500, "Internal error. It was logged.")


def _problem(status: int, detail: str, *, title: str = "", slug: str = "", errors: list[Any] | None = None) -> Problem:
    title = title or HTTPStatus(status).phrase.capitalize()
    return Problem(
        type=f"urn:reflection-desk:{slug or slugify(title)}",
        title=title,
        status=status,
        detail=detail,
        errors=[FieldError.model_validate(one) for one in errors or []],
    )


def _text_of(detail: Any) -> str:
    if isinstance(detail, dict):
        return " ".join(_text_of(part) for part in detail.values())
    return " ".join(_text_of(part) for part in detail) if isinstance(detail, list) else str(detail)


def _request_line(context: Mapping[str, Any]) -> tuple[str, str]:
    request = context.get("request")
    return (request.method, request.path) if request is not None else ("?", "?")
