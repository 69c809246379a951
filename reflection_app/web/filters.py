"""Lists narrowed down by their address: what of it is understood, and the page of rows that it asks for."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from reflection_app.loops.storable import storable
from reflection_app.web.list_pages import page_before

LONGEST_SEARCH = 200
MOST_NAMES = 100


class Filters(dict[str, str]):
    """What of the address is understood, by name; anything else in it is left aside, and empty."""

    @property
    def any(self) -> bool:
        return any(self.values())

    @property
    def query(self) -> str:
        return urlencode({name: value for name, value in self.items() if value})


def one_of(request: HttpRequest, name: str, known: Iterable[str]) -> str:
    typed = request.GET.get(name, "")
    return typed if typed in set(known) else ""


def searched(request: HttpRequest, name: str) -> str:
    return storable(request.GET.get(name, "").strip())[:LONGEST_SEARCH]


def names_in[M: Model](rows: QuerySet[M], field: str, *, most: int = MOST_NAMES) -> list[str]:
    """What the rows have there, each once, in order."""
    return list(rows.exclude(**{field: ""}).order_by(field).values_list(field, flat=True).distinct()[:most])


def listed[M: Model](
    request: HttpRequest, rows: QuerySet[M], *, called: str, among: QuerySet[M], named_by: str = "pk"
) -> dict[str, Any]:
    """What the template of a list names: its rows, and the one after which there are older ones."""
    page = page_before(rows, request, among=among, named_by=named_by)
    return {called: page.rows, "older": getattr(page.last, named_by, None), "before": request.GET.get("before", "")}
