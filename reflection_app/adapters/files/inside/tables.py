"""CSV and its kin: which sign parts the cells, and rows that are torn."""

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from reflection_app.adapters.files.inside.data import RowReader, SchemaCheck
from reflection_app.adapters.files.inside.found import Found, line_place
from reflection_app.loops.completeness.file_codes import FaultCode, FileKind

SAMPLE = 65_536
LEAST_ALIKE = 0.6
LARGEST_CELL = 50_000_000
NUMBER = re.compile(r"[\s$€£¥]*[+-]?[\d.,]+\s*%?")
type Row = tuple[int, list[str]]


def look_at_table(text: str, found: Found, *, kind: FileKind, schema: dict[str, Any] | None) -> None:
    csv.field_size_limit(LARGEST_CELL)
    found.rows = 0
    text = text.removeprefix("\ufeff")
    found.begins = text[:1_000].strip()
    delimiter, text = named_delimiter(text)
    delimiter = delimiter or delimiter_of(text[:SAMPLE], is_tsv=kind is FileKind.TSV)
    rows = read_rows(text, delimiter, found)
    first = list(itertools.islice(rows, 1_000))
    width = width_of([row for _, row in first])
    # Lines above the table say what it is, each in one cell, or begin with the sign of a comment.
    table: Iterator[Row] = itertools.dropwhile(
        lambda one: len(one[1]) != width and (sum(map(bool, one[1])) <= 1 or one[1][0].startswith("#")),
        itertools.chain(first, rows),
    )
    header = next(table, None)
    if header is None:
        return
    if len(header[1]) == width - 1 and all(len(row) == width and not row[-1] for _, row in first[1:]):
        width -= 1  # some writers end each row but the first with one more delimiter
    if all(NUMBER.fullmatch(cell) for cell in header[1] if cell):
        table = itertools.chain([header], table)
    else:
        found.columns = [cell.strip() for cell in header[1]]
        found.more_columns.add(found.columns[0].lstrip("# "))
        if len(header[1]) != width:
            found.fault(FaultCode.TORN_ROW, place=line_place(header[0]), expected=width, actual=len(header[1]))
    read_table(table, found, width=width, ends_open=not text.endswith(("\n", "\r")), schema=schema)


def named_delimiter(text: str) -> tuple[str, str]:
    """Excel reads a first line `sep=;` and shows none."""
    match = re.match(r"sep=(.)\r?\n", text, re.IGNORECASE)
    return (match.group(1), text[match.end() :]) if match else ("", text)


def delimiter_of(sample: str, *, is_tsv: bool) -> str:
    """The sign that parts the most rows into the same number of cells, at least two."""
    if len(sample) == SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, delimiter = (0.0, 0), "\t" if is_tsv else ","
    for sign in ("\t", ",", ";", "|") if is_tsv else (",", ";", "\t", "|"):
        rows = [row for _, row in parsed(sample, sign) if row]
        if not rows:
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        share = count / len(rows)
        if width > 1 and (share >= LEAST_ALIKE or len(rows[0]) == width) and (round(share, 2), width) > best:
            best, delimiter = (round(share, 2), width), sign
    return delimiter


def parsed(text: str, delimiter: str, *, strict: bool = False) -> Iterator[Row]:
    """Rows with the line on which they begin."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
    line = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise TornQuote(line, str(error)) from None
        yield line, row
        line = reader.line_num + 1


class TornQuote(Exception):
    """The row that begins on this line has quotes that do not fit."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line, self.why = line, why


def read_rows(text: str, delimiter: str, found: Found) -> Iterator[Row]:
    """Rows that are neither blank nor a comment, up to the first torn quote."""
    try:
        for line, row in parsed(text, delimiter, strict=has_open_quote(text, delimiter)):
            if not any(row) or (len(row) == 1 and row[0].startswith("#")):
                continue
            yield line, row
    except TornQuote as torn:
        is_last = text.count("\n", 0, len(text.rstrip())) + 1 == torn.line
        found.fault(FaultCode.TRUNCATED if is_last else FaultCode.TORN_ROW, place=line_place(torn.line), actual='"')


def has_open_quote(text: str, delimiter: str) -> bool:
    """Whether the last quote is never closed: only then is a quote that stands in the wrong place more than untidy."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for _ in reader:
            pass
    except csv.Error as error:
        return "unexpected end of data" in str(error)
    return False


def width_of(rows: list[list[str]]) -> int:
    """The number of cells that most rows have; of the first row, where no row has more: some leave out empty ends."""
    counts = Counter(map(len, rows))
    if not counts:
        return 0
    first = len(rows[0])
    return first if first == max(counts) or counts[first] == max(counts.values()) else counts.most_common(1)[0][0]


def read_table(
    table: Iterator[Row], found: Found, *, width: int, ends_open: bool, schema: dict[str, Any] | None
) -> None:
    """Counts rows, finds the torn ones, and checks each against the schema."""
    check = SchemaCheck(schema, found) if schema is not None else None
    reader = RowReader(schema, found.columns) if schema is not None else None
    count, held = 0, None
    for line, row in table:
        if len(row) != width and row[0].startswith("#"):
            continue
        count += 1
        found.rows = count
        if count % 5_000 == 0 and not found.has_time():
            return
        if held is not None:
            torn(*held, width=width, found=found, is_end=False)
            held = None
        if len(row) != width and not (len(row) == width + 1 and not row[-1]):
            held = (line, row)
        elif check is not None and reader is not None:
            check.check(reader.read(list(row)), place=line_place(line))
    found.rows = count
    if held is not None:
        torn(*held, width=width, found=found, is_end=ends_open)


def torn(line: int, row: list[str], *, width: int, found: Found, is_end: bool) -> None:
    """A row of another width; the last one, if it is too short and its line does not end, was cut off."""
    code = FaultCode.TRUNCATED if is_end and len(row) < width else FaultCode.TORN_ROW
    found.fault(code, place=line_place(line), expected=width, actual=len(row))
