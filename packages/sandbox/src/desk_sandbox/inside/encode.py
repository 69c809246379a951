"""Encode a candidate's values and exceptions as text, without calling any method that the candidate defined.

Subclasses of plain types are read through the plain type's own methods. `desk_sandbox.values` reads these forms.
"""

from _json import encode_basestring_ascii
from math import isfinite
from types import CodeType, TracebackType
from typing import Any

MAX_DEPTH = 100
MAX_NODES = 200_000
MAX_TEXT = 20_000
quote = encode_basestring_ascii
CANDIDATE_FILE, SCRIPT_FILE = "candidate.py", "tests.py"
VIEWS: frozenset[type] = frozenset({type({}.keys()), type({}.items())})
READERS: tuple[tuple[type, str], ...] = ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "s"))


class TooLarge(Exception):
    """The value is nested too deeply or has too many parts for a result."""


class Encoder:
    """Writes values as JSON, counting their parts. With `exact`, dictionary keys are written as values too."""

    def __init__(self, *, exact: bool = False) -> None:
        self.nodes, self.exact = 0, exact

    def write(self, value: Any, depth: int = 0) -> str:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise TooLarge
        kinds = type.mro(type(value))
        if value is None or value is True or value is False:
            return {None: "null", True: "true", False: "false"}[value]
        if int in kinds:
            return self.write_int(int.__index__(value))
        if float in kinds:
            return write_float(float.__float__(value))
        if str in kinds:
            return quote(str.__str__(value))
        return self.write_container(value, kinds, depth)

    def write_container(self, value: Any, kinds: list[type], depth: int) -> str:
        if dict in kinds and self.exact:
            pairs = [f"[{self.write(k, depth + 1)},{self.write(item, depth + 1)}]" for k, item in dict.items(value)]
            return f'{{"m":[{",".join(pairs)}]}}'
        if dict in kinds:
            pairs = [f"[{write_key(key)},{self.write(item, depth + 1)}]" for key, item in dict.items(value)]
            return f'{{"d":[{",".join(pairs)}]}}'
        for kind, tag in READERS:
            if kind in kinds:
                parts = [self.write(item, depth + 1) for item in kind.__iter__(value)]  # type: ignore[attr-defined]
                return f'{{"{tag}":[{",".join(parts)}]}}'
        if self.exact and type(value) in VIEWS:
            return f'{{"s":[{",".join([self.write(item, depth + 1) for item in [*value]])}]}}'
        if self.exact and (number := rational(value)) is not None:
            return self.write(number, depth)
        return f'{{"x":{quote(safe_repr(value))}}}'

    def write_int(self, value: int) -> str:
        if value.bit_length() > 14_000:  # Python refuses to write or read more than 4300 digits
            return f'{{"x":"<an integer of {value.bit_length()} bits>"}}'
        return int.__repr__(value)


def rational(value: Any) -> int | float | None:
    """Return the plain number that a Fraction or Decimal equals, or None."""
    if type_name(type(value)) not in {"Fraction", "Decimal"}:
        return None
    try:
        top, bottom = value.as_integer_ratio()
        number: int | float = top if bottom == 1 else top / bottom
        known = type(top) is int and type(bottom) is int and number.as_integer_ratio() == (top, bottom)
    except Exception:  # noqa: BLE001 - infinite, or whatever the candidate's own raises
        return None
    return number if known else None


def write_float(value: float) -> str:
    if isfinite(value):
        return float.__repr__(value)
    return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")  # noqa: PLR0124


def write_key(key: Any) -> str:
    return quote(str.__str__(key) if str in type.mro(type(key)) else safe_repr(key))


def safe_repr(value: Any) -> str:
    """Return the repr, cut to MAX_TEXT, or a note if the candidate's own repr fails."""
    try:
        text = repr(value)
        return text[:MAX_TEXT] if type(text) is str else "<no repr>"
    except Exception:  # noqa: BLE001 - whatever the candidate's repr raises
        return f"<{type_name(type(value))} whose repr fails>"


def type_name(kind: type) -> str:
    name = type.__dict__["__name__"].__get__(kind)
    return name if type(name) is str else "?"


def write_object(**fields: str) -> str:
    """Return a JSON object of fields that are already JSON."""
    return "{" + ",".join(f"{quote(name)}:{text}" for name, text in fields.items()) + "}"


def describe(error: BaseException, code: str, script: str = "") -> str:
    """Return the exception and the last lines it passed through, as a JSON string."""
    return quote("\n".join([*places(error, code, script), headline(error)])[:MAX_TEXT])


def headline(error: BaseException) -> str:
    name = type_name(type(error))
    if isinstance(error, SyntaxError):
        where = f" (line {error.lineno})" if isinstance(error.lineno, int) else ""
        source = f": {error.text.strip()}" if isinstance(error.text, str) and error.text.strip() else ""
        return f"{name}: {error.msg}{where}{source}"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - whatever the candidate's str raises
        text = "<its text fails>"
    return f"{name}: {text}" if text else name


def places(error: BaseException, code: str, script: str) -> list[str]:
    sources = {CANDIDATE_FILE: code.split("\n"), SCRIPT_FILE: script.split("\n")}
    found: list[str] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        where: CodeType = trace.tb_frame.f_code
        lines = sources.get(where.co_filename, [])
        if 0 < trace.tb_lineno <= len(lines):
            of_tests = " of the tests" if where.co_filename == SCRIPT_FILE else ""
            found.append(f"line {trace.tb_lineno}{of_tests}, in {where.co_name}: {lines[trace.tb_lineno - 1].strip()}")
        trace = trace.tb_next
    return found[-5:]
