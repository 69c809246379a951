"""Answers that are sent piece by piece while they are made, and tables as text for spreadsheets."""

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

# A spreadsheet takes a cell that begins with one of these for a formula, and runs it.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def as_file[T: (str, bytes)](
    request: HttpRequest, pieces: Iterator[T], *, name: str, media_type: str, headers: Mapping[str, str] | None = None
) -> StreamingHttpResponse:
    """The pieces as a file to be kept, under this name; the next is made when the one before has been sent."""
    # Served by ASGI, an ordinary generator would be read to its end before the first byte is sent.
    body = _off_the_loop(pieces) if isinstance(request, ASGIRequest) else pieces
    named = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(body, content_type=media_type, headers=named | dict(headers or {}))


async def _off_the_loop[T: (str, bytes)](pieces: Iterator[T]) -> AsyncIterator[T]:
    def next_piece() -> T | None:
        return next(pieces, None)

    while (piece := await sync_to_async(next_piece)()) is not None:
        yield piece


def csv_lines(rows: Iterable[Iterable[object]]) -> str:
    """The rows as lines of CSV; lists, objects, true and false as JSON, and what is missing as an empty cell.

    A text that a spreadsheet would take for a formula begins with an apostrophe: agents and models write any text.
    """
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, bool | list | tuple | dict) else str(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
