"""Scopes: each view says what a key must be allowed to do, method by method; what says nothing is refused."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from rest_framework.exceptions import MethodNotAllowed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from reflection_app.models import ApiKey, Scope

if TYPE_CHECKING:
    # Its module reads the settings, and they name this one.
    from rest_framework.views import APIView

Scopes = Mapping[str, tuple[Scope, ...]]


def needs(**sufficient: tuple[Scope, ...]) -> Scopes:
    """The declaration of a view, by lower-case method: any one of the scopes lets a key in."""
    return MappingProxyType({method.upper(): scopes for method, scopes in sufficient.items()})


class HasScope(BasePermission):
    """Lets a key in that has one of the scopes which the view declares for the method."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        asked = request.method or ""
        method = "GET" if asked == "HEAD" else asked
        if asked.lower() not in view.http_method_names or not hasattr(view, method.lower()):
            raise MethodNotAllowed(asked)
        if not isinstance(request.auth, ApiKey):
            return False
        declared: Scopes = getattr(view, "scopes", {})
        sufficient = declared.get(method, ())
        if not any(request.auth.has_scope(scope) for scope in sufficient):
            wanted = " or ".join(sufficient) or "that nobody can have"
            raise PermissionDenied(f"This needs a key with the scope {wanted}.")
        return True
