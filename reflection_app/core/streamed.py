"""Answers that are sent piece by piece while they are made, and tables as text for spreadsheets."""

import csv
import io
import json
import unicodedata
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

# A spreadsheet takes a cell that begins with one of these for a formula, and runs it.
FORMULA_STARTS = frozenset("=+-@")
CELL_STARTS = frozenset("\t\r\n")
# Format characters such as the zero-width ones, controls, and combining marks, which show nothing by themselves.
INVISIBLE = frozenset({"Cf", "Cc", "Mn", "Me"})


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
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """True if a spreadsheet may run the text: by its first visible character, also in its full-width form."""
    if text[:1] in CELL_STARTS:
        return True
    visible = next((char for char in text if not (char.isspace() or unicodedata.category(char) in INVISIBLE)), "")
    return unicodedata.normalize("NFKC", visible)[:1] in FORMULA_STARTS
