"""Every route of the desk with the permission that it asks for, read off the views themselves."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

from reflection_app.core.permissions import Permission

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class GuardedRoute:
    """One method of an address. `permission` is None where the route is for everybody, or asks in another way."""

    method: str
    path: str
    permission: Permission | None
    is_page: bool


def guarded_routes() -> list[GuardedRoute]:
    """All routes below the root. Of a page, POST is told apart only where it needs more than reading."""
    return list(_routes(get_resolver().url_patterns, prefix="/"))


def _routes(patterns: list[URLPattern | URLResolver], *, prefix: str) -> Iterator[GuardedRoute]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, prefix=path)
        elif (view := getattr(pattern.callback, "cls", None)) is None:
            declared = getattr(pattern.callback, "permissions", {"GET": None})
            reading = declared["GET"]
            yield GuardedRoute("GET", path, reading, is_page=True)
            if declared.get("POST", reading) is not reading:
                yield GuardedRoute("POST", path, declared["POST"], is_page=True)
        else:
            for method in METHODS:
                if hasattr(view, method.lower()):
                    asked = getattr(view, "permissions", {}).get(method)
                    yield GuardedRoute(method, path, asked, is_page=False)
