"""XLSX, DOCX, PPTX and Parquet."""

import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

from reflection_app.adapters.files.inside.found import CannotLook, Found
from reflection_app.loops.completeness.file_codes import FaultCode

HEADER_AMONG = 10
WIDEST = 2_000
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
# As Word, LibreOffice and WPS call their styles.
HEADINGS = ("heading", "title", "标题", "標題")


def inspect_workbook(content: bytes, found: Found) -> None:
    """The first row with the most texts names the columns of a sheet; rows are what follows it."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise CannotLook("openpyxl") from None
    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    found.sheets, found.rows = list(book.sheetnames), 0
    columns: dict[str, None] = {}
    for sheet in book.worksheets:
        sheet.reset_dimensions()
        rows = filled_rows(sheet, found)
        first = list(islice(rows, HEADER_AMONG))
        texts = [sum(isinstance(cell, str) for cell in row) for row in first]
        header = texts.index(max(texts)) if first else 0
        columns |= {str(cell).strip(): None for row in first[header : header + 1] for cell in row if cell is not None}
        for row in first:
            found.read_row(row)
        found.rows += max(0, len(first) - header - 1) + sum(1 for _row in rows)
    found.columns = list(columns)


def filled_rows(sheet: Any, found: Found) -> Iterator[tuple[Any, ...]]:
    for row in sheet.iter_rows(values_only=True):
        if any(cell is not None for cell in row):
            yield row[:WIDEST]
        if not found.has_time():
            return


def inspect_document(content: bytes, found: Found) -> None:
    try:
        import docx
    except ImportError:
        raise CannotLook("python-docx") from None
    document = docx.Document(io.BytesIO(content))
    styles = {style.style_id: (style.name or "").casefold() for style in document.styles}
    for paragraph in document.element.body.iter(f"{WORD}p"):
        text = "".join(node.text or " " for node in paragraph.iter(f"{WORD}t", f"{WORD}tab", f"{WORD}br"))
        found.read_text(text)
        if text.strip() and styles.get(paragraph.style or "", "").startswith(HEADINGS):
            found.headings.append(" ".join(text.split()))
        if not found.has_time():
            return
    if not found.words:
        found.fault(FaultCode.NO_TEXT)


def inspect_slides(content: bytes, found: Found) -> None:
    try:
        import pptx
    except ImportError:
        raise CannotLook("python-pptx") from None
    slides = list(pptx.Presentation(io.BytesIO(content)).slides)
    found.pages = len(slides)
    for slide in slides:
        title = slide.shapes.title
        if title is not None and title.has_text_frame and title.text_frame.text.strip():
            found.headings.append(" ".join(title.text_frame.text.split()))
        for paragraph in slide.element.iter(f"{DRAWING}p"):
            found.read_text("".join(node.text or "" for node in paragraph.iter(f"{DRAWING}t")))
        if not found.has_time():
            return
    if not found.words:
        found.fault(FaultCode.NO_TEXT)


def inspect_parquet(content: bytes, found: Found) -> None:
    """Each row is read: nothing else tells that none is damaged."""
    if content.endswith(b"PARE"):
        found.fault(FaultCode.ENCRYPTED)
        return
    if not content.endswith(b"PAR1") or len(content) < 12:
        found.fault(FaultCode.TRUNCATED, expected="PAR1", actual=content[-4:].hex(" "))
        return
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise CannotLook("pyarrow") from None
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    file = pq.ParquetFile(pa.BufferReader(content), memory_map=False)
    found.columns, found.rows = list(file.schema_arrow.names), file.metadata.num_rows
    found.read_row(found.columns)
    for batch in file.iter_batches(batch_size=10_000, use_threads=False):
        for row in batch.slice(0, HEADER_AMONG).to_pylist():
            found.read_row(tuple(row.values()))
        if not found.has_time():
            return
