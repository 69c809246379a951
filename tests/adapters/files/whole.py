"""Whole files, each by a writer that is not ours, always the same bytes or nearly so."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

import docx
import openpyxl
import pptx
import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter
from docx.document import Document
from PIL import Image
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

ROWS: list[tuple[Any, ...]] = [
    ("region", "quarter", "sales"),
    ("North", "Q1", 120),
    ("South", "Q1", 95),
    ("East", "Q2", 143),
]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["region", "sales"],
    "properties": {"region": {"type": "string"}, "sales": {"type": "integer", "minimum": 0}},
}


def records() -> list[dict[str, Any]]:
    return [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]


def json_file() -> bytes:
    return json.dumps(records(), indent=2).encode()


def json_lines() -> bytes:
    return "".join(json.dumps(one) + "\n" for one in records()).encode()


def csv_file(delimiter: str = ",") -> bytes:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in ROWS).encode()


def workbook(sheets: dict[str, list[tuple[Any, ...]]] | None = None) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in (sheets or {"Sales": list(ROWS), "Notes": [("note",), ("checked",)]}).items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return written(book.save)


def workbook_of_xlsxwriter(result: str | float = 358) -> bytes:
    """With a formula, and the result that its last writer saw."""
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet("Sales")
        for number, row in enumerate(ROWS):
            sheet.write_row(number, 0, row)
        sheet.write_formula(4, 2, "=SUM(C2:C4)", None, result)
        sheet.write(4, 0, "Total")
    return file.getvalue()


def parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records() * 500), file)
    return file.getvalue()


def document(build: Callable[[Document], object] | None = None) -> bytes:
    made = docx.Document()
    made.add_heading("Quarterly report", 0)
    made.add_heading("1. Summary", 1)
    made.add_paragraph("Sales rose in the East, and nowhere else.")
    made.add_heading("2. Risks", 1)
    made.add_paragraph("The South falls behind.")
    if build is not None:
        build(made)
    return written(made.save)


def slides(count: int = 3) -> bytes:
    made = pptx.Presentation()
    for number in range(1, count + 1):
        slide = made.slides.add_slide(made.slide_layouts[1])
        assert slide.shapes.title is not None
        slide.shapes.title.text = f"Part {number}"
        slide.placeholders[1].text = "What was sold, and where."
    return written(made.save)


def pdf(pages: int = 2, *, text: bool = True, password: str = "") -> bytes:
    file = io.BytesIO()
    lock = StandardEncryption(password) if password else None
    canvas = Canvas(file, pagesize=(300, 400), encrypt=lock, invariant=True)
    for number in range(1, pages + 1):
        canvas.rect(20, 20, 200, 100, fill=1)
        if text:
            canvas.drawString(40, 350, f"Sales of the quarter, page {number}")
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def picture(form: str = "PNG", size: tuple[int, int] = (64, 48), mode: str = "RGB") -> bytes:
    """No two rows are the same, so that a picture that was cut off has lost something."""
    made = Image.new(mode, size)
    made.putdata(
        [
            tuple((x * 3 + y * 7 + c * 50) % 256 for c in range(len(mode)))
            for y in range(size[1])
            for x in range(size[0])
        ]
    )
    return written(lambda file: made.save(file, form))


def animation() -> bytes:
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "green", "blue")]
    return written(lambda file: frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=50))


HTML = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Report</title></head>
<body><h1 id="top">Report</h1><p>See <a href="#risks">risks</a> and <a href="data.csv">the data</a>.</p>
<h2 id="risks">Risks</h2><p>None &amp; nothing.</p><img src="charts/sales.png" alt="Sales"></body></html>
"""
MARKDOWN = """# Report

See [the risks](#what-may-go-wrong), [the data](data.csv) and [our site](https://example.org/#x).

## What may go wrong?

| region | sales |
|---|---|
| North | 120 |

```python
print("# no heading")
```
"""
PYTHON = '"""Adds."""\n\n\ndef add(left: int, right: int) -> int:\n    return left + right\n'


def zip_file(entries: dict[str, bytes] | None = None) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (entries or {"report.md": MARKDOWN.encode(), "data/sales.csv": csv_file()}).items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def tar_file(mode: str = "w:gz", members: list[tarfile.TarInfo] | None = None) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
        content = csv_file() * 400
        info = tarfile.TarInfo("data/sales.csv")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
        for member in members or ():
            archive.addfile(member)
    return file.getvalue()


def gzip_file(content: bytes | None = None) -> bytes:
    return gzip.compress(csv_file() * 50 if content is None else content, mtime=0)


def written(save: Callable[[Any], object]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def without_part(package: bytes, name: str) -> bytes:
    return changed_part(package, name, None)


def changed_part(package: bytes, name: str, change: Callable[[bytes], bytes] | None) -> bytes:
    """The package with one of its parts changed, or left out."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info, old.read(info))
            elif change is not None:
                new.writestr(info, change(old.read(info)))
    return made.getvalue()
