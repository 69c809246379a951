"""Files as agents produce them, whole and broken."""

import base64
import io
from typing import Any

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

GOOD_CSV = b"region,sales\nNorth,10\nSouth,20\n"
TORN_CSV = b"region,sales\nNorth,10\nSouth\n"


def workbook() -> bytes:
    """A workbook with one sheet of two columns and one row under their names."""
    book, written = Workbook(), io.BytesIO()
    sheet = book.active
    assert isinstance(sheet, Worksheet)
    for row in (("region", "sales"), ("North", 10)):
        sheet.append(row)
    book.save(written)
    return written.getvalue()


def file_part(content: bytes, *, name: str) -> dict[str, Any]:
    """The file as a part of the content, in OpenAI's form."""
    data = base64.b64encode(content).decode()
    return {"type": "file", "file": {"filename": name, "file_data": f"data:application/octet-stream;base64,{data}"}}
