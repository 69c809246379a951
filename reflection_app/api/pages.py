"""Pages of a list by cursor: a cursor names the last row seen, so that rows which come meanwhile shift nothing."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from reflection_app.core.errors import wrong
from reflection_app.loops.storable import Moment

Number = Annotated[int, Field(ge=0, le=2**31 - 1)]


class PageQuery(BaseModel):
    """Query parameters of every list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(default=50, ge=1, le=200, description="maximum number of items to return")
    cursor: str | None = Field(default=None, max_length=500, description="cursor from `next` or `previous`")

    def get_filters(self) -> dict[str, Any]:
        """What was asked for beside the page, by the rows' names for it (a field's `serialization_alias`)."""
        return self.model_dump(exclude_none=True, by_alias=True, exclude={"limit", "cursor"})


@dataclass(frozen=True)
class Order:
    """By which fields a list is sorted. Together they are unique within the list."""

    fields: tuple[str, ...]
    descending: bool
    position: TypeAdapter[tuple[Any, ...]]


NEWEST_FIRST = Order(("created_at", "id"), descending=True, position=TypeAdapter(tuple[Moment, UUID]))
BY_SEQ = Order(("seq",), descending=False, position=TypeAdapter(tuple[Number]))
BY_NUMBER = Order(("number",), descending=False, position=TypeAdapter(tuple[Number]))


@dataclass(frozen=True)
class Page[M: Model]:
    rows: list[M]
    next: str | None
    previous: str | None


def get_page[M: Model](rows: QuerySet[M], *, request: Request, query: PageQuery, order: Order) -> Page[M]:
    """The page that the query names. Raises InvalidInput for a cursor that is not one of this list's."""
    back, position = False, None
    if query.cursor is not None:
        try:
            plain = urlsafe_b64decode(query.cursor.encode() + b"=" * (-len(query.cursor) % 4))
            if plain[:1] not in {b"<", b">"}:
                raise ValueError("no direction")
            back, position = plain[:1] == b"<", order.position.validate_json(plain[1:])
        except (ValueError, ValidationError):
            why = "take it from next or previous, unchanged"
            raise wrong("cursor", why, said="The cursor is not one of this list's.") from None
    descending = order.descending is not back
    if position is not None:
        rows = rows.filter(_beyond(order.fields, position, descending=descending))
    signed = [f"-{field}" if descending else field for field in order.fields]
    found = list(rows.order_by(*signed)[: query.limit + 1])
    has_more, found = len(found) > query.limit, found[: query.limit]
    if back:
        found.reverse()
    has_next, has_previous = (True, has_more) if back else (has_more, position is not None)
    return Page(
        rows=found,
        next=_link(request, found[-1], order=order, back=False) if has_next and found else None,
        previous=_link(request, found[0], order=order, back=True) if has_previous and found else None,
    )


def _beyond(fields: tuple[str, ...], position: tuple[Any, ...], *, descending: bool) -> Q:
    side = "lt" if descending else "gt"
    first, *rest = fields
    if not rest:
        return Q(**{f"{first}__{side}": position[0]})
    # The first condition follows from the second, and is what lets the index find where to begin.
    within = Q(**{f"{first}__{side}e": position[0]})
    return within & (Q(**{f"{first}__{side}": position[0]}) | _beyond(tuple(rest), position[1:], descending=descending))


def _link(request: Request, row: Model, *, order: Order, back: bool) -> str:
    position = order.position.dump_json(tuple(getattr(row, field) for field in order.fields))
    cursor = urlsafe_b64encode((b"<" if back else b">") + position).decode().rstrip("=")
    return str(replace_query_param(request.build_absolute_uri(), "cursor", cursor))
