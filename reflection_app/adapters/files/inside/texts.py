"""Text formats: JSON, JSON Lines, CSV and TSV, HTML, Markdown, XML and plain text."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile, islice, pairwise
from typing import Any, NoReturn
from xml.parsers import expat

from reflection_app.adapters.files.inside.found import CannotLook, Found
from reflection_app.adapters.files.inside.kinds import SVG, TABLES, XML
from reflection_app.loops.completeness.file_codes import FaultCode, FileKind

MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*+=\s*+["']?\s*+([A-Za-z0-9_\-]+)""", re.IGNORECASE)
# Of Chinese text in GB 18030 nearly all characters are in GB 2312; of other texts read as such, few are.
LEAST_COMMON = 0.9
ROWS_FOR_COLUMNS = 200
FIRST_ROWS = 1_000
LARGEST_CELL = 50_000_000
LARGEST_PATTERN_BYTES = 10_000_000
MOST_VIOLATIONS = 5


def inspect_text(content: bytes, found: Found, *, schema: dict[str, Any] | None) -> None:
    if found.media_type in {XML, SVG}:
        inspect_xml(content, found)
        return
    text = decode(content, found)
    if not text.strip("\ufeff \t\r\n\0"):
        found.fault(FaultCode.EMPTY)
    elif found.kind is FileKind.JSON:
        inspect_json(text, found, schema=schema)
    elif found.kind is FileKind.JSON_LINES:
        inspect_json_lines(text, found, schema=schema)
    elif found.kind in TABLES:
        inspect_table(text, found)
    elif found.kind is FileKind.HTML:
        inspect_html(text, found)
    elif found.kind is FileKind.MARKDOWN:
        inspect_markdown(text, found)
    else:
        found.rows = text.count("\n") + (not text.endswith("\n"))
        found.read_text(text)


def decode(content: bytes, found: Found) -> str:
    """The text; an encoding that nobody can tell is a fault. GB 18030 counts only where it gives Chinese."""
    encoding = next((encoding for mark, encoding in MARKS if content.startswith(mark)), "utf-8")
    found.encoding = encoding.removesuffix("-sig")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        place = f"line {content.count(b'\n', 0, error.start) + 1}"
        is_cut = error.start >= len(content) - 3 and error.reason in {"unexpected end of data", "truncated data"}
        bad = content[error.start : error.end].hex(" ")
    if is_cut or encoding != "utf-8":
        code = FaultCode.TRUNCATED if is_cut else FaultCode.ENCODING
        found.fault(code, place=place, expected=found.encoding, actual=bad)
        return content.decode(encoding, "replace")
    declared = DECLARED.search(content[:4_096]) if found.kind is FileKind.HTML else None
    for found.encoding in (declared[1].decode("ascii").lower() if declared else "gb18030", "gb18030"):
        try:
            text = content.decode(found.encoding)
        except (LookupError, ValueError):
            continue
        foreign = [sign for sign in text[:200_000] if not sign.isascii()]
        common = "".join(foreign).encode("gb2312", "ignore").decode("gb2312")
        if found.encoding != "gb18030" or len(common) >= LEAST_COMMON * len(foreign):
            return text
    found.encoding = "unknown"
    found.fault(FaultCode.ENCODING, place=place, expected="utf-8", actual=bad)
    return content.decode("cp1252", "replace")


# JSON.


def refuse(word: str) -> NoReturn:
    """NaN and infinity are no JSON."""
    raise ValueError(word)


DECODER = json.JSONDecoder(parse_constant=refuse)


def parse(text: str, found: Found, *, line: int = 0, at_end: bool = True) -> Any:
    """Return the value, or None with a fault. What is JSON as far as it goes was cut off, if nothing follows."""
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        is_cut = at_end and (not rest or error.msg.startswith("Unterminated string"))
        code = FaultCode.TRUNCATED if is_cut else FaultCode.BAD_LINE if line else FaultCode.SYNTAX
        found.fault(code, place=f"line {line or error.lineno}", actual="" if is_cut else rest[:40])
    except (ValueError, RecursionError) as error:
        if not line and isinstance(error, RecursionError):
            raise
        found.fault(FaultCode.BAD_LINE if line else FaultCode.SYNTAX, place=f"line {line or 1}", actual=error)
    return None


def inspect_json(text: str, found: Found, *, schema: dict[str, Any] | None) -> None:
    value = parse(text.removeprefix("\ufeff"), found)
    found.begins = text[:1_000].strip()
    if found.faults:
        return
    if isinstance(value, list):
        found.rows, found.columns = len(value), columns_of(value)
    elif isinstance(value, dict):
        lists = (part for part in value.values() if isinstance(part, list))
        found.columns = list(dict.fromkeys(chain(value, *map(columns_of, lists))))
    check_value(value, found, validator=validator_of(schema))


def inspect_json_lines(text: str, found: Found, *, schema: dict[str, Any] | None) -> None:
    validator = validator_of(schema)
    found.begins, found.rows = text[:1_000].strip(), 0
    lines = text.removeprefix("\ufeff").split("\n")
    first: list[Any] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            value = parse(line, found, line=number, at_end=number == len(lines))
            found.rows += value is not None
            first += [value] if len(first) < ROWS_FOR_COLUMNS else []
            if value is not None:
                check_value(value, found, validator=validator, place=f"line {number} ")
        if not found.has_time():
            break
    found.columns = columns_of(first)


def columns_of(rows: Iterable[Any]) -> list[str]:
    """The names in the first rows, in their order."""
    return list(dict.fromkeys(key for row in islice(rows, ROWS_FOR_COLUMNS) if isinstance(row, dict) for key in row))


def validator_of(schema: dict[str, Any] | None) -> Any:
    """A validator that fetches nothing and matches patterns in linear time; None without a schema."""
    if schema is None:
        return None
    try:
        import jsonschema_rs
    except ImportError:
        raise CannotLook("jsonschema-rs") from None
    patterns = jsonschema_rs.RegexOptions(size_limit=LARGEST_PATTERN_BYTES)
    return jsonschema_rs.Draft202012Validator(schema, pattern_options=patterns, validate_formats=True, offline=True)


def check_value(value: Any, found: Found, *, validator: Any, place: str = "") -> None:
    """Add a fault for each place that breaks the schema."""
    for error in islice(validator.iter_errors(value), MOST_VIOLATIONS) if validator is not None else ():
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
        keyword = error.schema_path[-1] if error.schema_path else ""
        found.fault(FaultCode.SCHEMA, place=f"{place}${path}", expected=keyword, actual=error.message)


# Tables.


def inspect_table(text: str, found: Found) -> None:
    """Lines above the first row of the usual width are titles or comments, and no part of the table."""
    text = text.removeprefix("\ufeff")
    found.begins, found.rows = text[:1_000].strip(), 0
    rows = read_rows(text, delimiter_of(text[:65_536], is_tsv=found.kind is FileKind.TSV), found)
    first = list(islice(rows, FIRST_ROWS))
    if not first:
        return
    width = Counter(len(row) for _, row in first).most_common(1)[0][0]
    width = max(width, len(first[0][1]))
    table = dropwhile(lambda one: len(one[1]) != width, chain(first, rows))
    found.columns = [cell.strip() for cell in next(table)[1]]
    held = None
    for line, row in table:
        found.rows += 1
        if held:
            found.fault(FaultCode.TORN_ROW, place=f"line {held[0]}", expected=width, actual=held[1])
        held = (line, len(row)) if len(row) != width else None
        if not found.has_time():
            return
    if held:
        is_cut = held[1] < width and not text.endswith(("\n", "\r"))
        code = FaultCode.TRUNCATED if is_cut else FaultCode.TORN_ROW
        found.fault(code, place=f"line {held[0]}", expected=width, actual=held[1])


def delimiter_of(sample: str, *, is_tsv: bool) -> str:
    """The sign that makes the most of the first rows equally wide."""
    lines = sample.splitlines()[:100]

    def equal_rows(sign: str) -> int:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=sign))
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        return count if width > 1 else 0

    return max("\t,;|" if is_tsv else ",;\t|", key=equal_rows)


def read_rows(text: str, delimiter: str, found: Found) -> Iterator[tuple[int, list[str]]]:
    """Rows with the lines on which they begin, without blank ones and comments, up to the first torn quote."""
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            if any(row) and not (len(row) == 1 and row[0].startswith("#")):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        code = FaultCode.TRUNCATED if "unexpected end" in str(error) else FaultCode.TORN_ROW
        found.fault(code, place=f"line {line}", actual=error)


# Markup.


HIDDEN = ("script", "style", "template", "noscript")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# A tag that does not end.
OPEN_TAG = re.compile(r"<[a-z/!][^<>]*+\Z", re.IGNORECASE)


def inspect_html(text: str, found: Found) -> None:
    try:
        from lxml import etree
    except ImportError:
        raise CannotLook("lxml") from None
    # End tags may be left out, but a page that opens its body closes one of the two.
    lower = text.casefold()
    is_open = "<body" in lower and "</body" not in lower and "</html" not in lower
    is_open = is_open or any(lower.rfind(f"<{tag}") > lower.rfind(f"</{tag}") for tag in ("script", "style"))
    if is_open or OPEN_TAG.search(text.rstrip()):
        found.fault(FaultCode.TRUNCATED, place=f"line {text.rstrip().count('\n') + 1}")
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    document = etree.fromstring(text.encode("utf-8", "replace"), parser)
    if document is None:
        return
    for hidden in list(document.iter(*HIDDEN)):
        hidden.clear(keep_tail=True)
    found.headings = [" ".join("".join(heading.itertext()).split()) for heading in document.iter(*HEADINGS)]
    found.read_text("\n".join(" ".join(one.split()) for one in document.itertext() if one.strip()))


def inspect_markdown(text: str, found: Found) -> None:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise CannotLook("markdown-it-py") from None
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            found.headings.append(inside.content)
    found.read_text("\n".join(re.sub(r"<[^<>]*+>|[*_`]", "", one.content) for one in tokens))


def inspect_xml(content: bytes, found: Found) -> None:
    """Add a fault unless it is well-formed; entities that unfold too far are stopped by the parser."""
    try:
        expat.ParserCreate().Parse(content, True)
    except expat.ExpatError as error:
        message, place = expat.errors.messages.get(error.code, ""), f"line {error.lineno}"
        if "amplification" in str(error):
            found.fault(FaultCode.UNFOLDS, place=place, actual="<!ENTITY>")
        elif message in {"no element found", "unclosed token", "unclosed CDATA section", "partial character"}:
            found.fault(FaultCode.TRUNCATED, place=place)
        else:
            found.fault(FaultCode.SYNTAX, place=place, actual=message)
    found.read_text(re.sub(r"<[^<>]*+>", " ", content.decode("utf-8", "replace")))
