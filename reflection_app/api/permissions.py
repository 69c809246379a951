"""What a key must be allowed to do: each view says it method by method; what says nothing is refused."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from rest_framework.exceptions import MethodNotAllowed, PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import BasePermission
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from reflection_app.core.models import ApiKey
from reflection_app.core.permissions import GRANTS, Permission, key_may

if TYPE_CHECKING:
    # Its module reads the settings, and they name this one.
    from rest_framework.views import APIView

Permissions = Mapping[str, Permission]


def needs(**permissions: Permission) -> Permissions:
    """The declaration of a view, by lower-case method."""
    return MappingProxyType({method.upper(): permission for method, permission in permissions.items()})


def permission_for(view: type | object, method: str) -> Permission | None:
    """What the view asks of a key for the method; None where no key gets in."""
    declared: Permissions = getattr(view, "permissions", {})
    return declared.get("GET" if method == "HEAD" else method)


class HasScope(BasePermission):
    """Lets a key in whose scopes allow what the view declares for the method."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        requested = request.method or ""
        method = "get" if requested == "HEAD" else requested.lower()
        if requested.lower() not in view.http_method_names or not hasattr(view, method):
            raise MethodNotAllowed(requested)
        if not isinstance(request.auth, ApiKey):
            return False
        permission = permission_for(view, requested)
        if permission is None or not key_may(request.auth, permission):
            wanted = GRANTS[permission].scope_words() if permission is not None else ""
            raise PermissionDenied(f"This needs a key with the scope {wanted or 'that nobody can have'}.")
        return True


class AlwaysJson(BaseContentNegotiation):
    """JSON, whatever the Accept header wishes: there is nothing else, and an answer is better than a refusal."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        return next(iter(parsers), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        only = next(iter(renderers))
        return only, only.media_type or "application/json"
