"""JSON, JSON Lines, and values against the schema that was asked for."""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from reflection_app.adapters.files.inside.found import CannotLook, Found, line_place, shown
from reflection_app.loops.completeness.file_codes import FaultCode

MOST_ROWS_FOR_COLUMNS = 200
LONGEST_NUMBER = 4_000
LARGEST_PATTERN_BYTES = 10_000_000
HALVES = re.compile("[\ud800-\udfff]")
PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class NotANumber(ValueError):
    """NaN and infinity are words of JavaScript and Python, and no JSON."""


def refuse(word: str) -> NoReturn:
    raise NotANumber(word)


def read_integer(digits: str) -> float:
    """Numbers that are longer than Python reads as integers are none that anybody counts with."""
    return int(digits) if len(digits) <= LONGEST_NUMBER else float(digits)


DECODER = json.JSONDecoder(parse_constant=refuse, parse_int=read_integer)


def look_at_json(text: str, found: Found, *, schema: dict[str, Any] | None) -> None:
    text = text.removeprefix("\ufeff")
    try:
        value = DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = line_place(error.lineno)
        if is_cut_off(text, error):
            found.fault(FaultCode.TRUNCATED, place=place)
        else:
            found.fault(FaultCode.SYNTAX, place=place, actual=text[error.pos : error.pos + 40])
        return
    except NotANumber as error:
        at = re.search(rf"(?<![\w\"]){re.escape(str(error))}(?![\w\"])", text)
        line = text.count("\n", 0, at.start()) + 1 if at else 1
        found.fault(FaultCode.SYNTAX, place=line_place(line), actual=str(error))
        return
    if isinstance(value, list):
        found.rows = len(value)
        found.columns = columns_of(value)
    elif isinstance(value, dict):
        found.columns = [key for key in value if isinstance(key, str)]
        lists = [part for part in value.values() if isinstance(part, list) and part and isinstance(part[0], dict)]
        found.more_columns |= {name for part in lists for name in columns_of(part)}
    found.begins = text[:1_000].strip()
    if schema is not None:
        SchemaCheck(schema, found).check(value)


def is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text is JSON as far as it goes: nothing stands where it ends, or a string never does."""
    rest = text[error.pos :].strip()
    if not rest:
        return bool(text.strip())
    if error.msg.startswith("Unterminated string"):
        return "\n" not in rest or rest.count('"') % 2 == 1
    if error.msg.startswith("Invalid \\"):  # half an escape
        return len(rest) <= 6
    return error.msg == "Expecting value" and any(word.startswith(rest) for word in ("true", "false", "null", "-"))


def columns_of(rows: list[Any]) -> list[str]:
    """The names in the first rows, in the order in which they come."""
    names = (key for row in rows[:MOST_ROWS_FOR_COLUMNS] if isinstance(row, dict) for key in row)
    return list(dict.fromkeys(names))


def look_at_json_lines(text: str, found: Found, *, schema: dict[str, Any] | None) -> None:
    check = SchemaCheck(schema, found) if schema is not None else None
    rows = 0
    first: list[Any] = []
    lines = text.removeprefix("\ufeff").split("\n")
    last = max((number for number, line in enumerate(lines, 1) if line.strip()), default=0)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if number % 1_000 == 0 and not found.has_time():
            break
        try:
            value = DECODER.decode(line)
        except NotANumber as error:
            found.fault(FaultCode.BAD_LINE, place=line_place(number), actual=str(error))
        except ValueError as error:
            is_last = number == last and number == len(lines)
            cut = is_last and isinstance(error, json.JSONDecodeError) and is_cut_off(line, error)
            found.fault(FaultCode.TRUNCATED if cut else FaultCode.BAD_LINE, place=line_place(number), actual=line[:40])
        except RecursionError:
            found.fault(FaultCode.BAD_LINE, place=line_place(number), actual=line[:40])
        else:
            rows += 1
            if len(first) < MOST_ROWS_FOR_COLUMNS:
                first.append(value)
            if check is not None:
                check.check(value, place=line_place(number))
    found.rows, found.columns = rows, columns_of(first)
    found.begins = text[:1_000].strip()


class SchemaCheck:
    """Checks values against a JSON Schema; nothing is fetched, patterns are matched in linear time."""

    def __init__(self, schema: dict[str, Any], found: Found) -> None:
        try:
            import jsonschema_rs
        except ImportError:
            raise CannotLook("jsonschema-rs") from None
        self.schema, self.found = schema, found
        self.validator = jsonschema_rs.Draft202012Validator(
            schema,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=LARGEST_PATTERN_BYTES),
            validate_formats=True,
            offline=True,
        )

    def check(self, value: Any, *, place: str = "") -> None:
        """Faults for the places of the value that break the schema."""
        if self.found.has(FaultCode.SCHEMA) and len(self.found.faults) >= 5:
            return
        try:
            if self.validator.is_valid(value):
                return
        except (ValueError, UnicodeError):  # half a character, or a number that nobody else reads
            value = with_whole_characters(value)
        with contextlib.suppress(ValueError, UnicodeError):
            for _, error in zip(range(5), self.validator.iter_errors(value), strict=False):
                self.report(error, place)

    def report(self, error: Any, place: str) -> None:
        where = json_path(error.instance_path)
        keyword = str(error.schema_path[-1]) if error.schema_path else ""
        wanted: Any = self.schema
        for part in error.schema_path:
            wanted = wanted[part] if isinstance(wanted, dict | list) and has(wanted, part) else None
        expected = f"{keyword}: {as_text(wanted)}" if wanted is not None else keyword
        self.found.fault(
            FaultCode.SCHEMA,
            place=" ".join(filter(None, (place, where if where != "$" or not place else ""))),
            expected=expected,
            actual=as_text(error.instance),
        )


def has(whole: Any, part: Any) -> bool:
    return part in whole if isinstance(whole, dict) else isinstance(part, int) and 0 <= part < len(whole)


def as_text(value: Any) -> str:
    try:
        return shown(json.dumps(value, ensure_ascii=False, default=str)[:400])
    except (ValueError, RecursionError):
        return "…"


def json_path(parts: list[Any]) -> str:
    """The path as people write it: `$.items[2].id`."""
    path = "$"
    for part in parts:
        plain = isinstance(part, str) and PLAIN_KEY.fullmatch(part)
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if plain else f"[{part!r}]"
    return path


def with_whole_characters(value: Any) -> Any:
    """The value, halves of surrogate pairs as replacement characters."""
    match value:
        case str():
            return HALVES.sub("\N{REPLACEMENT CHARACTER}", value)
        case dict():
            return {with_whole_characters(key): with_whole_characters(part) for key, part in value.items()}
        case list():
            return [with_whole_characters(part) for part in value]
    return value


# A row of texts, as a schema with types sees it.


class RowReader:
    """Makes an object of a row of a table, each text as the type that the schema wants there, if it is one."""

    def __init__(self, schema: dict[str, Any], columns: list[str]) -> None:
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        self.columns = [(name, set(types_of(known.get(name)))) for name in columns]

    def read(self, row: list[Any]) -> dict[str, Any]:
        return dict(self.cells(row))

    def cells(self, row: list[Any]) -> Iterator[tuple[str, Any]]:
        """An empty cell is null where that may be, and else no part of the object, unless it is a text."""
        for (name, types), cell in zip(self.columns, row, strict=False):
            if cell is None or cell == "":
                if "null" in types:
                    yield name, None
                elif not types or "string" in types:
                    yield name, ""
            else:
                yield name, as_type(cell, types) if isinstance(cell, str) else cell


def types_of(part: Any) -> list[str]:
    named = part.get("type") if isinstance(part, dict) else None
    return [named] if isinstance(named, str) else [one for one in named or () if isinstance(one, str)]


def as_type(text: str, types: set[str]) -> Any:
    if "string" in types or not types:
        return text
    plain = text.strip()
    if types & {"integer", "number"}:
        with contextlib.suppress(ValueError, OverflowError):
            return int(plain) if re.fullmatch(r"[+-]?\d{1,300}", plain) else float(plain.removesuffix("%"))
    if "boolean" in types and plain.casefold() in {"true", "false"}:
        return plain.casefold() == "true"
    return text
