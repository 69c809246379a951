"""How the OpenAPI description is made: from the pydantic values that requests and answers are checked by."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drf_spectacular.contrib.pydantic import PydanticExtension
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from pydantic import BaseModel
from pydantic.json_schema import model_json_schema
from rest_framework.fields import empty

from reflection_app.api.permissions import permission_for
from reflection_app.api.problems import MEDIA_TYPE, Problem
from reflection_app.core.permissions import GRANTS

JSON = "application/json"
REF = "#/components/schemas/{model}"

MEANINGS = {
    400: "The request is invalid. `errors` names each invalid field.",
    401: "The API key is missing, unknown, revoked or expired.",
    403: "The key lacks the required scope.",
    404: "The resource does not exist or belongs to another project.",
    409: "The request conflicts with the current state; nothing was changed.",
    413: "The body is too large or contains too many values.",
    415: "The body is not JSON.",
    422: "The idempotency key was already used for another request.",
    412: "The resource changed after its `ETag` was returned; nothing was done.",
    429: "Rate limit exceeded. `Retry-After` gives the seconds to wait.",
    501: "This desk was installed without what that takes; `detail` names it.",
}
OF_EVERY_CALL = (400, 401, 403, 429)
OF_EVERY_POST = (413, 415, 422)

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="A repeated request with the same key returns the first response and is not executed again. The "
    "order of JSON keys does not matter.",
)
REPLAYED = OpenApiParameter(
    "Idempotency-Replayed",
    str,
    OpenApiParameter.HEADER,
    description="`true` if the response is that of an earlier request with the same key",
    response=[200, 201, 202, 204],
)

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="`ETag` of an earlier response. If the resource has changed since, it is not modified and 412 is "
    "returned.",
)
ETAG = OpenApiParameter(
    "ETag", str, OpenApiParameter.HEADER, description="changes when any editable field changes", response=[200]
)
LOCATION = OpenApiParameter(
    "Location", str, OpenApiParameter.HEADER, description="URL of the created resource", response=[201]
)


def described(
    operation: str,
    *,
    summary: str,
    answers: Mapping[tuple[int, str], Any],
    query: type[BaseModel],
    problems: Sequence[int],
    headers: Sequence[OpenApiParameter],
    changes: bool = False,
    body: type[BaseModel] | None = None,
    examples: Mapping[str, Any] | None = None,
) -> Callable[[Any], Any]:
    """Describe a call in the schema. `answers` are by status and media type; what `changes` has idempotency keys."""
    of_post = OF_EVERY_POST if changes else ()
    told = {at: answer or OpenApiResponse(description="No content.") for at, answer in answers.items()}
    return extend_schema(
        operation_id=operation,
        summary=summary,
        parameters=[*((IDEMPOTENCY_KEY, REPLAYED) if changes else ()), *headers, *_parameters_of(query)],
        request=body if changes else empty,
        responses=told | _problems((*OF_EVERY_CALL, *of_post, *problems)),
        examples=[OpenApiExample(name, value=value, request_only=True) for name, value in (examples or {}).items()],
    )


def _problems(statuses: Sequence[int]) -> dict[tuple[int, str], OpenApiResponse]:
    return {(status, MEDIA_TYPE): OpenApiResponse(Problem, description=MEANINGS[status]) for status in sorted(statuses)}


def _parameters_of(query: type[BaseModel]) -> list[OpenApiParameter]:
    """The query's fields as parameters, with the names of enums written out in place."""
    described = model_json_schema(query, mode="validation")
    known, parameters = described.get("$defs", {}), []
    for name, field in described["properties"].items():
        kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
        kind = {key: value for key, value in kinds[0].items() if key not in {"title", "description"}}
        if reference := kind.pop("$ref", None):
            kind = {**known[reference.rpartition("/")[2]], **kind}
        if field.get("default") is not None:
            kind["default"] = field["default"]
        kind.pop("title", None)
        kind.pop("description", None)
        description = field.get("description", "")
        parameters.append(OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=description))
    return parameters


class DeskSchema(AutoSchema):
    """Says which scope a call needs, and that a body may be left out where nothing in it is required."""

    def get_description(self) -> str:  # type: ignore[override]  # the stubs know DRF's own generator only
        permission = permission_for(self.view, self.method)
        grant = GRANTS[permission] if permission is not None else None
        needed = grant.scope_words("`") if grant is not None else ""
        described = (super().get_description() or "").strip()
        return "\n\n".join(part for part in (described, f"Needs the scope {needed}." if needed else "") if part)

    def _get_request_body(self, direction: str = "request") -> Any:
        body: dict[str, Any] | None = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        if body is None:
            return None
        sent: Any = self.get_request_serializer()
        # A form is written out by media type, and says itself what is required.
        if not isinstance(sent, dict) and not any(field.is_required() for field in sent.model_fields.values()):
            body.pop("required", None)
        return body


class NameTaken(Exception):
    """Two shapes would have one name, and whoever makes a client from the description would get one for the other."""

    def __init__(self, name: str, *, within: type) -> None:
        super().__init__(
            f"{name}, which {within.__module__}.{within.__qualname__} is or has, is the name of another shape already. "
            "Rename one of the classes; what is read in one shape and written in another gets a subclass for answers."
        )


class ValueExtension(PydanticExtension):  # type: ignore[no-untyped-call]
    """Values as they are accepted where they are sent, and as they are written where they are answered.

    A component has the name of its class alone: raises NameTaken where two would share it.
    """

    target_class = "pydantic.BaseModel"
    match_subclasses = True
    priority = 1

    def get_name(self, auto_schema: AutoSchema, direction: str) -> str:
        # Asked at every place where the value stands; `map_serializer` only at the first that has its name.
        name: str = super().get_name(auto_schema, direction)  # type: ignore[no-untyped-call]
        for part_name, part in self._describe(direction).items():
            # Of two of one name within a value pydantic tells the modules: other names as soon as one of them goes.
            if "__" in part_name or _shape_of(auto_schema.registry, part_name) not in (None, part):
                raise NameTaken(part_name, within=self.target)
        return name

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        described = self._describe(direction)
        itself: dict[str, Any] = described.pop(self.target.__name__)
        for name, part in described.items():
            component = ResolvedComponent(  # type: ignore[no-untyped-call]
                name=name, type=ResolvedComponent.SCHEMA, object=name, schema=part
            )
            auto_schema.registry.register_on_missing(component)
        return itself

    def _describe(self, direction: str) -> dict[str, dict[str, Any]]:
        """The shapes of the value and of all that is in it, by name."""
        mode = "validation" if direction == "request" else "serialization"
        described = model_json_schema(self.target, ref_template=REF, mode=mode)  # type: ignore[arg-type]
        # One that holds more of its own kind is among its parts itself.
        return {self.target.__name__: described, **described.pop("$defs", {})}


def _shape_of(registry: ComponentRegistry, name: str) -> Any:
    """What the name stands for so far; None where it is free."""
    try:
        return registry[name, ResolvedComponent.SCHEMA].schema
    except KeyError:
        return None


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "reflection_app.api.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "API key created on the settings page or with `manage.py create_api_key`.",
        }
