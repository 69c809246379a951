"""Workbooks and Parquet: sheets, columns, rows, and formulas whose last result is an error."""

import io
import itertools
import zipfile
from collections.abc import Iterator
from typing import Any

from reflection_app.adapters.files.inside.data import RowReader, SchemaCheck
from reflection_app.adapters.files.inside.found import LONGEST_BEGIN, CannotLook, Found
from reflection_app.loops.completeness.file_codes import FaultCode

HEADER_AMONG = 10
ERRORS = frozenset({"#REF!", "#DIV/0!", "#NAME?", "#VALUE!", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"})
WIDEST = 2_000
WIDEST_BEGIN = 20
ROWS_BEGIN = 10
BATCH = 10_000
CELLS_AT_ONCE = 10_000


def look_at_workbook(content: bytes, found: Found, *, schema: dict[str, Any] | None) -> None:
    try:
        from openpyxl import load_workbook
        from openpyxl.utils import get_column_letter
    except ImportError:
        raise CannotLook("openpyxl") from None
    try:
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    except (KeyError, ValueError, TypeError, AttributeError, SyntaxError, zipfile.BadZipFile) as error:
        found.fault(FaultCode.UNREADABLE, actual=f"{type(error).__name__}: {error}")
        return
    found.sheets = list(book.sheetnames)
    found.rows = 0
    checked = False
    for sheet in book.worksheets:
        sheet.reset_dimensions()
        try:
            rows = filled_rows(sheet, found, letter=get_column_letter)
            first = list(itertools.islice(rows, HEADER_AMONG))
            header = header_of([row for _, row in first])
            names = [as_name(cell) for cell in first[header][1]] if first else []
            found.columns = found.columns or [name for name in names if name]
            found.more_columns |= {as_name(cell) for _, row in first for cell in row} - {""}
            wanted = schema if first and not checked else None
            checked = checked or bool(first)
            below = itertools.chain(first[header + 1 :], rows)
            found.rows += count_rows(below, found, schema=wanted, columns=names, sheet=sheet.title)
        except (KeyError, ValueError, TypeError, AttributeError, SyntaxError, zipfile.BadZipFile) as error:
            found.fault(FaultCode.UNREADABLE, place=sheet.title, actual=f"{type(error).__name__}: {error}")


def filled_rows(sheet: Any, found: Found, *, letter: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Rows with anything in them; cells that hold an error are faults on the way."""
    read = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        read += 1 + len(row)  # some rows have sixteen thousand cells
        if read > CELLS_AT_ONCE:
            read = 0
            if not found.has_time():
                return
        if all(cell is None for cell in row):
            continue
        for column, cell in enumerate(row, 1):
            if isinstance(cell, str) and cell in ERRORS:
                found.fault(FaultCode.FORMULA_ERROR, place=f"{sheet.title}!{letter(column)}{number}", actual=cell)
        begin_with(found, row)
        yield number, row[:WIDEST]


def begin_with(found: Found, row: tuple[Any, ...]) -> None:
    """Adds the row to the beginning as long as there is room: a line of its own, its cells parted by tabs."""
    if len(found.begins) < LONGEST_BEGIN:
        cells = ["" if cell is None else " ".join(str(cell)[:200].split()) for cell in row[:WIDEST_BEGIN]]
        found.begins = f"{found.begins}\n{'\t'.join(cells)}".lstrip("\n")[:LONGEST_BEGIN]


def header_of(rows: list[tuple[Any, ...]]) -> int:
    """Which of the first rows names the columns: the first with as many texts as any."""
    counts = [sum(isinstance(cell, str) for cell in row) for row in rows]
    return counts.index(max(counts)) if counts and max(counts) > 0 else 0


def as_name(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def count_rows(
    rows: Iterator[tuple[int, tuple[Any, ...]]],
    found: Found,
    *,
    schema: dict[str, Any] | None,
    columns: list[str],
    sheet: str,
) -> int:
    check = SchemaCheck(schema, found) if schema is not None else None
    reader = RowReader(schema, columns) if schema is not None else None
    count = 0
    for number, row in rows:
        count += 1
        if check is not None and reader is not None:
            check.check(reader.read([plain(cell) for cell in row]), place=f"{sheet}!A{number}")
    return count


def plain(cell: Any) -> Any:
    """A cell as JSON has it: points in time as texts."""
    return cell if cell is None or isinstance(cell, bool | int | float | str) else str(cell)


def look_at_parquet(content: bytes, found: Found, *, schema: dict[str, Any] | None) -> None:
    if content.startswith(b"PARE") or content.endswith(b"PARE"):
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
    try:
        file = pq.ParquetFile(pa.BufferReader(content), memory_map=False)
        found.columns = list(file.schema_arrow.names)
        found.rows = file.metadata.num_rows
        count = read_batches(file, found, schema=schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        found.fault(FaultCode.UNREADABLE, actual=str(error).split("\n", 1)[0])
        return
    if found.is_whole and count != found.rows:
        found.fault(FaultCode.UNREADABLE, expected=found.rows, actual=count)


def read_batches(file: Any, found: Found, *, schema: dict[str, Any] | None) -> int:
    """How many rows there truly are; reading them is what tells that none is torn."""
    check = SchemaCheck(schema, found) if schema is not None else None
    count = 0
    begin_with(found, tuple(found.columns))
    for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
        if not count:
            for row in batch.slice(0, ROWS_BEGIN).to_pylist():
                begin_with(found, tuple(row.values()))
        if check is not None:
            for number, row in enumerate(batch.to_pylist(), count + 1):
                check.check({name: plain_deep(cell) for name, cell in row.items()}, place=f"row {number}")
        count += batch.num_rows
        if not found.has_time():
            break
    return count


def plain_deep(cell: Any) -> Any:
    match cell:
        case dict():
            return {str(key): plain_deep(part) for key, part in cell.items()}
        case list() | tuple():
            return [plain_deep(part) for part in cell]
    return plain(cell)
