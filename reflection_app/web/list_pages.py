"""Lists, newest first, page by page. A page begins after the row shown last, so that new rows shift nothing."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from reflection_app.core.ids import id_from
from reflection_app.loops.storable import agent_name, storable

PAGE = 50
LONGEST_NAME = 60
LONGEST_SEARCH = 200
MOST_NAMES = 100
NEWEST = ("-created_at", "-pk")


# How one filter of a list is read: what cannot be understood is "", which is no filter.
type ReadFilter = Callable[[str], str]


def one_of(values: Iterable[str], default: str = "") -> ReadFilter:
    known = frozenset(values)
    return lambda text: text if text in known else default


def whole_number(default: int, most: int) -> ReadFilter:
    """From 1 to `most`."""

    def read(text: str) -> str:
        is_number = text.isascii() and text.isdigit() and len(text) < 8
        return str(max(1, min(int(text), most)) if is_number else default)

    return read


def text_of(longest: int | None = LONGEST_SEARCH) -> ReadFilter:
    return lambda text: storable(text.strip())[:longest]


def agent_of(text: str) -> str:
    """Return an agent's name as it is stored, with the white space that it begins or ends with."""
    return agent_name(storable(text))


def typed_agent_of(text: str) -> str:
    """Return an agent's name that was typed, without the white space around it."""
    return agent_of(text.strip())


def day_of(text: str) -> str:
    """A day as the browser's own field for days writes it."""
    try:
        return date.fromisoformat(text.strip()).isoformat() if len(text.strip()) == 10 else ""
    except ValueError:
        return ""


def number_of(text: str) -> str:
    """A number that is no more than a few digits long."""
    return text.strip() if re.fullmatch(r"\s*[0-9]{1,6}(?:\.[0-9]{1,4})?\s*", text, re.ASCII) else ""


def id_of(text: str) -> str:
    return str(id_from(text) or "")


class Filters(dict[str, str]):
    """What of the address is understood, by the names of the fields; anything else in it is left aside."""

    @classmethod
    def read(cls, data: Mapping[str, str], **fields: ReadFilter) -> "Filters":
        return cls({name: read(data.get(name, "")) for name, read in fields.items()})

    @property
    def given(self) -> dict[str, str]:
        return {name: value for name, value in self.items() if value}

    @property
    def any(self) -> bool:
        return bool(self.given)

    @property
    def query(self) -> str:
        return urlencode(self.given)


def names_in[M: Model](rows: QuerySet[M], field: str, *, most: int = MOST_NAMES) -> list[str]:
    """What the rows have there, each once, in order."""
    return list(rows.exclude(**{field: ""}).order_by(field).values_list(field, flat=True).distinct()[:most])


# A page begins after the row shown last, in whatever order: by its values there.


def position_of[M: Model](rows: QuerySet[M], pk: Any, *, order: Sequence[str]) -> tuple[Any, ...] | None:
    """Where the row stands in the order; None where it is not among `rows`, or has no place there."""
    position = rows.filter(pk=pk).values_list(*(field.lstrip("-") for field in order)).first()
    return position if position and None not in position else None


def beyond(order: Sequence[str], position: tuple[Any, ...] | None) -> Q:
    """What comes after `position`; everything where there is none."""
    if position is None:
        return Q()
    found, same = Q(pk__in=[]), Q()
    for column, value in zip(order, position, strict=True):
        name, side = column.lstrip("-"), "lt" if column.startswith("-") else "gt"
        found |= same & Q(**{f"{name}__{side}": value})
        same &= Q(**{name: value})
    return found


def list_page[M: Model](
    request: HttpRequest,
    template: str,
    rows: QuerySet[M],
    *,
    called: str,
    among: QuerySet[M],
    filters: object = None,
    named_by: str = "pk",
    view: Callable[[list[M]], Iterable[Any]] = list,
    order: Sequence[str] = NEWEST,
    **context: Any,
) -> HttpResponse:
    """A list whose results htmx may ask for alone: the template gets those of the page as `called`, in their `view`."""
    found = list_context(
        request, rows, called=called, among=among, filters=filters, named_by=named_by, view=view, order=order
    )
    return list_response(request, template, found | context)


def list_context[M: Model](
    request: HttpRequest,
    rows: QuerySet[M],
    *,
    called: str,
    among: QuerySet[M],
    filters: object = None,
    named_by: str = "pk",
    view: Callable[[list[M]], Iterable[Any]] = list,
    order: Sequence[str] = NEWEST,
) -> dict[str, Any]:
    """The page of `rows` that the address asks for, and what _pager.html needs: in this order what comes after the row
    that is named there as `before`, else the first.

    That row is looked for `among` all of the project, since it may have changed out of a filter; and among no others,
    which would tell that they exist.
    """
    before, shown_last = request.GET.get("before", ""), None
    if name := storable(before)[:LONGEST_NAME]:
        # What is no id at all names no row.
        with suppress(ValidationError):
            shown_last = among.filter(**{named_by: name}).values_list("pk", flat=True).first()
    if shown_last is not None:
        rows = rows.filter(beyond(order, position_of(among, shown_last, order=order)))
    page = list(rows.order_by(*order)[: PAGE + 1])
    return {
        called: view(page[:PAGE]),
        "older": getattr(page[PAGE - 1], named_by) if len(page) > PAGE else None,
        "before": before,
        "filters": filters,
    }


def wants_part(request: HttpRequest) -> bool:
    """Return True if htmx asks for a part of a page. A page restored from the history is wanted whole."""
    return "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers


def list_response(request: HttpRequest, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """The whole page, or only its results where htmx asks for them."""
    response = render(request, f"{template}#results" if wants_part(request) else template, dict(context))
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response
