"""Fix parameters in code: fit them to the tool's JSON Schema, ask for fewer results, or repair a query's syntax.

A change is used only if the parameters then violate the schema in no more places than before. A parameter that guards a
call is never removed: without its filter, a deletion deletes everything.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeGuard

from pydantic import ConfigDict, Field, Json, TypeAdapter, ValidationError

from reflection_app.loops.diagnosis.rules import Change
from reflection_app.loops.storable import is_storable
from reflection_app.loops.texts import word_set
from reflection_app.loops.tool_calls import MOST_VIOLATIONS, SchemaUnusable, is_too_deep, violations

type Params = dict[str, Any]

LARGEST_PARAMS = 100_000
MOST_KEYS = 200
LONGEST_QUERY = 2_000
FIRST_SIZE = 10
SIZE_KEYS = word_set(
    "limit max_results maxresults max_items num_results n_results page_size pagesize per_page size count top_k k n "
    "rows max_rows max_count first retmax results 数量 条数 件数 返回数量 最大数量 每页数量"
)
QUERY_KEYS = word_set(
    "query queries q search search_query search_term keyword keywords term terms text_query question "
    "查询 关键词 检索式 检索词 搜索词"
)
GUARD = re.compile(
    r"dry|preview|simul|confirm|test|where|filter|condition|if_|only|except|exclude|safe|limit|max|min|version|etag|scope"
    r"|expect|draft|check|id$|user|account|tenant|project|branch|reason|approv"
)


def modified(params: Mapping[str, Any], *, changes: Sequence[Change], schema: Mapping[str, Any]) -> Params | None:
    """Return the parameters after the first of `changes` that has an effect, or None."""
    before = dict(params)
    if not can_be_kept(before):
        return None
    for change in changes:
        changed = _CHANGES[change](before, schema)
        # Compare as JSON, where 1, 1.0 and true differ.
        is_changed = json.dumps(changed, sort_keys=True) != json.dumps(before, sort_keys=True)
        if is_changed and can_be_kept(changed) and _fits_as_well(changed, before, schema):
            return changed
    return None


def fits(params: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Return True if the parameters are valid. Return False if that cannot be checked."""
    return _breaks(params, schema) == 0


def can_be_kept(params: Mapping[str, Any]) -> bool:
    """Return True if the parameters are small enough, and can be checked, stored and sent."""
    if len(params) > MOST_KEYS or is_too_deep(params) or not is_storable(params):
        return False
    return len(json.dumps(params, ensure_ascii=False)) <= LARGEST_PARAMS


def known_properties(schema: Mapping[str, Any]) -> dict[str, Params]:
    """Return the schema of each property of an object."""
    properties = schema.get("properties")
    return (
        {key: one for key, one in properties.items() if isinstance(one, dict)} if isinstance(properties, dict) else {}
    )


def required_names(schema: Mapping[str, Any]) -> list[str]:
    listed = schema.get("required")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def _fits_as_well(changed: Params, before: Params, schema: Mapping[str, Any]) -> bool:
    if not schema:
        return True
    now, then = _breaks(changed, schema), _breaks(before, schema)
    return now is not None and then is not None and now <= then


def _breaks(params: Mapping[str, Any], schema: Mapping[str, Any]) -> int | None:
    """Return the number of places that violate the schema, or None if unknown."""
    try:
        found = len(violations(dict(params), schema=dict(schema)))
    except SchemaUnusable:
        return None
    return found if found < MOST_VIOLATIONS else None


# Convert values of another type to the type that the schema names.

_TYPES: dict[str, TypeAdapter[Any]] = {
    "integer": TypeAdapter(int),
    "number": TypeAdapter(int | Annotated[float, Field(allow_inf_nan=False)]),
    "boolean": TypeAdapter(bool),
    "string": TypeAdapter(str, config=ConfigDict(coerce_numbers_to_str=True)),
    "array": TypeAdapter(Json[list[Any]]),
    "object": TypeAdapter(Json[dict[str, Any]]),
}


def fitted(value: Any, schema: Any) -> Any:
    """Return the value fitted to its schema: converted, within bounds, one of its choices, with defaults."""
    if not isinstance(schema, dict):
        return value
    value = _converted(value, schema.get("type"))
    match value:
        case dict():
            return _fitted_object(value, schema)
        case list():
            return [fitted(one, schema.get("items")) for one in value]
        case str():
            return _choice(value, schema.get("enum"))
        case int() | float() if not isinstance(value, bool):
            return _clamped(value, schema)
    return value


def _converted(value: Any, wanted: Any) -> Any:
    is_other = isinstance(value, str | float) if wanted != "string" else not isinstance(value, str)
    if not isinstance(wanted, str) or wanted not in _TYPES or not is_other:
        return value
    try:
        return _TYPES[wanted].validate_python(value)
    except ValidationError:
        return value


def _fitted_object(value: Params, schema: Mapping[str, Any]) -> Params:
    known, required = known_properties(schema), required_names(schema)
    is_closed = bool(known) and schema.get("additionalProperties") is False
    kept = {
        key: fitted(one, known.get(key))
        for key, one in value.items()
        if not is_closed or key in known or key in required or GUARD.search(key.casefold())
    }
    missing = [key for key in required if key not in kept and "default" in known.get(key, {})]
    return kept | {key: known[key]["default"] for key in missing}


def _choice(value: str, choices: Any) -> str:
    """Return the choice that equals the value apart from case and separators, if there is exactly one."""
    if not isinstance(choices, list) or value in choices:
        return value
    alike = [one for one in choices if isinstance(one, str) and _plain(one) == _plain(value)]
    return alike[0] if len(alike) == 1 else value


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]", "", text.casefold())


def _clamped(value: float, schema: Mapping[str, Any]) -> float:
    most, least = schema.get("maximum"), schema.get("minimum")
    if is_number(most) and value > most:
        return most
    return least if is_number(least) and value < least else value


def is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


# Smaller searches and repaired queries


def _halved(params: Params, schema: Mapping[str, Any]) -> Params:
    """Return the parameters with every result count halved. If none is given, add a small one if the tool takes it."""

    def half(name: str, value: Any) -> Any:
        is_size = name.casefold() in SIZE_KEYS and isinstance(value, int) and not isinstance(value, bool)
        return value // 2 if is_size and value > 1 else value

    less: Params = _rewritten(params, half)
    if less != params:
        return less
    for key, one in known_properties(schema).items():
        if key not in params and key.casefold() in SIZE_KEYS and one.get("type") in ("integer", "number"):
            return params | {key: _clamped(FIRST_SIZE, one)}
    return params


def _with_queries(change: Callable[[str], str]) -> Callable[[Params, Mapping[str, Any]], Params]:
    """Return a function that applies `change` to each search query. SQL and similar code is left alone."""

    def of_query(name: str, value: Any) -> Any:
        is_query = name.casefold() in QUERY_KEYS and isinstance(value, str) and len(value) <= LONGEST_QUERY
        return change(value) or value if is_query and not _CODE.search(value) else value

    return lambda params, _schema: _rewritten(params, of_query)


_CODE = re.compile(r"[=;{}<>]|^\s*(?:select|with|insert|update|delete|create|match)\b", re.IGNORECASE)
_QUOTES = str.maketrans("“”„«»「」（）", '"""""""()')
_OPERATORS = frozenset({"and", "or", "not"})


def _mended(query: str) -> str:
    """Return the query with OR and AND normalized, without unbalanced quotes, brackets and dangling operators."""
    # Reduce to single spaces first: patterns with runs of spaces would not be linear.
    text = " ".join(query.translate(_QUOTES).split())
    if '"' not in text or text.count('"') % 2:
        text = re.sub(r" ?\|\|? ?| or ", " OR ", text.replace('"', " "), flags=re.IGNORECASE)
        text = re.sub(r" ?&& ?", " AND ", text)
    if text.count("(") != text.count(")"):
        text = re.sub(r"[()]", " ", text)
    words = text.split()
    while words and words[-1] in {"AND", "OR", "NOT"}:
        words.pop()
    while words and words[0] in {"AND", "OR"}:
        words.pop(0)
    return " ".join(words)


def _simplified(query: str) -> str:
    """Return the first half of the query's words, without operators and punctuation; one word stays as it is."""
    words = [word for word in re.findall(r"[\w'-]+", query) if word.casefold() not in _OPERATORS]
    return " ".join(words[: (len(words) + 1) // 2]) if len(words) > 1 else query


def _rewritten(value: Any, change: Callable[[str, Any], Any], name: str = "") -> Any:
    """Apply `change(name, value)` to every value that is not an object or list."""
    if isinstance(value, dict):
        return {key: _rewritten(one, change, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_rewritten(one, change, name) for one in value]
    return change(name, value)


_CHANGES: Mapping[Change, Callable[[Params, Mapping[str, Any]], Params]] = {
    Change.FIT_SCHEMA: _fitted_object,
    Change.HALVE_SIZE: _halved,
    Change.SIMPLIFY_QUERY: _with_queries(_simplified),
    Change.FIX_QUERY: _with_queries(_mended),
}
