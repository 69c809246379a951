"""Extract code and data from model answers."""

import ast
import json
import re
from typing import Any

from reflection_app.loops.chain_of_thought import work_in
from reflection_app.loops.storable import storable, storable_value

# A fence may be indented, unclosed in a truncated answer, and without a language.
_FENCE = re.compile(
    r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([\w+-]*+)[^\n]*+\n(.*?)(?:^[ \t]*+\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_PYTHON = frozenset({"", "python", "py", "python3"})


def blocks_in(answer: str, *, languages: frozenset[str]) -> list[str]:
    """Return the content of code fences that name one of `languages`; "" matches fences that name none."""
    return [match[3] for match in _FENCE.finditer(answer) if match[2].lower() in languages]


def code_of(answer: str, *, entry_point: str | None = None) -> str:
    """Return the code in `answer`: the last block that defines `entry_point`, else the longest Python block.

    An answer without a block is returned whole, because many models answer with bare code.
    """
    blocks = blocks_in(answer, languages=_PYTHON)
    if not blocks:
        return answer.strip("\n")
    defining = [block for block in blocks if entry_point and _defines(block, entry_point.split(".")[0])]
    return (defining[-1] if defining else max(blocks, key=len)).rstrip()


def _defines(code: str, name: str) -> bool:
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return re.search(rf"^(?:async\s+)?(?:def|class)\s+{re.escape(name)}\b", code, re.MULTILINE) is not None
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return True
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return True
    return False


# Data extraction: the single JSON value in an answer, bare or in a code fence.
#
# Nothing is repaired here. Consumers read the answer with a JSON parser, so near-JSON is not valid.

LONGEST_DATA = 200_000
MOST_TRIES = 200
TOO_DEEP = "it is not JSON that can be read: a number is too long, or it is nested too deeply"
LANGUAGES = frozenset({"", "json", "jsonc", "json5"})


class NoData(ValueError):
    """The answer contains no JSON value, or several. The message says which, and where parsing stopped."""


def value_in(answer: str) -> Any:
    """Return the JSON value in `answer`, with its texts made storable. Raise NoData.

    Tries the whole answer, then its code blocks, then an object or array within prose.
    """
    if len(answer) > LONGEST_DATA:
        raise NoData(f"it is longer than {LONGEST_DATA:,} characters")
    whole = answer.strip()
    try:
        return _read(whole)
    except NoData as error:
        problem = str(error)
    values: list[Any] = []
    if blocks := blocks_in(answer, languages=LANGUAGES):
        for block in blocks:
            try:
                values.append(_read(block.strip()))
            except NoData as error:
                problem = str(error)
        return _only_one(values, problem)
    # The outermost objects and arrays in `whole`; nested ones are part of them.
    place = _next_opening(whole, 0)
    for _ in range(MOST_TRIES):
        if place < 0:
            break
        try:
            value, end = _decoder().raw_decode(whole, place)
            values.append(storable_value(value))
        except NoData:
            raise
        except RecursionError:  # inner values are readable but are not the answer
            raise NoData(TOO_DEEP) from None
        except ValueError:
            end = place + 1
        place = _next_opening(whole, end)
    return _only_one(values, problem)


def data_of(answer: str, *, chain_of_thought: bool) -> Any:
    """Return the JSON value in `answer`. With a chain of thought, try its work part first. Raise NoData."""
    work = work_in(answer) if chain_of_thought else answer
    try:
        return value_in(work)
    except NoData:
        if work is answer:
            raise
    return value_in(answer)


def _only_one(values: list[Any], problem: str) -> Any:
    if not values:
        raise NoData(problem)
    # Compare as JSON texts: in Python, 1 == True.
    if len({json.dumps(value, sort_keys=True) for value in values}) > 1:
        raise NoData("it holds several different JSON values; answer with one")
    return values[0]


def _next_opening(text: str, start: int) -> int:
    places = [place for place in (text.find("{", start), text.find("[", start)) if place >= 0]
    return min(places, default=-1)


def _read(text: str) -> Any:
    try:
        return storable_value(_decoder().decode(text))
    except NoData:
        raise
    except json.JSONDecodeError as error:
        if error.pos == 0:
            raise NoData("there is no JSON in it") from None
        raise NoData(f"it is not JSON: {error.msg}, line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError):
        raise NoData(TOO_DEEP) from None


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_without_twins, parse_constant=_refuse_constant)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in pairs:
        key = storable(name)
        if key in read:
            raise NoData(f"the key {key[:80]!r} stands twice in one object")
        read[key] = value
    return read


def _refuse_constant(name: str) -> Any:
    raise NoData(f"it is not JSON: {name} is no number in JSON")
