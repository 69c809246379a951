"""Pages that people go to by name. Their addresses declare a title, which navigation, tabs and search read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.urls.resolvers import RoutePattern
from django.utils.functional import Promise

from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission


class Page(URLPattern):
    """An address with a title. `words` are other names that search finds it by; `within` is its parent's title."""

    def __init__(
        self,
        route: str,
        view: Callable[..., Any],
        name: str,
        title: Promise | str,
        icon: str = "sliders",
        *,
        within: Promise | str = "",
        words: str = "",
    ) -> None:
        super().__init__(RoutePattern(route, name=name, is_endpoint=True), view, name=name)
        self.name: str = name
        self.title, self.icon, self.within, self.words = title, icon, within, words

    @property
    def permission(self) -> Permission | None:
        """What its view asks of a member; None for pages outside of projects."""
        permissions: Mapping[str, Permission] = getattr(self.callback, "permissions", {})
        return permissions.get("GET")

    def path(self, project: Project) -> str:
        return reverse(self.name, args=() if self.permission is None else (project.slug,))


@cache
def all_pages() -> Mapping[str, Page]:
    """Map the name of each page to it, in the order of the addresses."""
    return {page.name: page for page in _pages(get_resolver().url_patterns)}


def _pages(patterns: Sequence[URLPattern | URLResolver]) -> Iterator[Page]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _pages(pattern.url_patterns)
        elif isinstance(pattern, Page):
            yield pattern
