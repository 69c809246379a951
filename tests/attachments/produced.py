"""Files as agents produce them, whole and broken."""

import base64
import io
import zipfile
from typing import Any

GOOD_CSV = b"region,sales\nNorth,10\nSouth,20\n"
TORN_CSV = b"region,sales\nNorth,10\nSouth\n"
_SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="A1" t="inlineStr"><is><t>region</t></is></c><c r="B1" t="inlineStr"><is><t>sales</t></is></c></row>'
    '<row r="2"><c r="A2" t="inlineStr"><is><t>North</t></is></c><c r="B2"><v>10</v></c></row>'
    "</sheetData></worksheet>"
)
_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.'
    'sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://'
    'schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Sales" sheetId="1" r:id="rId1"/>'
    "</sheets></workbook>",
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/worksheets/sheet1.xml": _SHEET,
}


def workbook() -> bytes:
    """A workbook with one sheet of two columns and one row under their names."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in _PARTS.items():
            archive.writestr(name, content)
    return written.getvalue()


def file_part(content: bytes, *, name: str) -> dict[str, Any]:
    """The file as a part of the content, in OpenAI's form."""
    data = base64.b64encode(content).decode()
    return {"type": "file", "file": {"filename": name, "file_data": f"data:application/octet-stream;base64,{data}"}}
