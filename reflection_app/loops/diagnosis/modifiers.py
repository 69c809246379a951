"""Parameters put right by code alone, from the tool's schema and from what the error names. Nothing is guessed.

A change is kept only where the parameters fit the schema at least as well as before. What limits or guards a call is
never left out of it: without its filter a deletion deletes everything.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from reflection_app.loops.diagnosis.queries import is_broken, is_code, is_query, mended, plain_words, simplified
from reflection_app.loops.diagnosis.rules import Change
from reflection_app.loops.storable import is_storable
from reflection_app.loops.texts import word_set
from reflection_app.loops.tool_calls import MOST_VIOLATIONS, SchemaUnusable, is_too_deep, violations

# Numbers in parameters: within the bounds that a schema or an error names, and half of what was too much.

FIRST_SIZE = 10
SIZE_KEYS = word_set(
    "limit max_results maxresults max_items num_results n_results page_size pagesize per_page perpage size count "
    "top_k topk k num n rows batch_size chunk_size max_count maxcount first take max_rows num_rows results max_pages "
    "max_records limite cantidad anzahl nombre 数量 条数 件数 返回数量 最大数量 每页数量"
)
_BOUND = r"(?:or equal to |the maximum of |the minimum of )?(-?\d{1,12}(?:\.\d{1,6})?)(?![\d.]*[\w%])"
_AT_MOST = re.compile(
    r"(?:at most|no more than|less than or equal to|<=|not exceed|cannot exceed"
    r"|exceeds? (?:the )?(?:maximum|max|limit)(?: of| allowed)?"
    r"|maximum(?: allowed)?(?: value)?(?: is| of|:)?|max(?: is|:)|up to"
    r"|不能(?:超过|大于)|不得超过|最大(?:值)?(?:为|是)?|最多|上限(?:为|是)?) ?" + _BOUND
)
_AT_LEAST = re.compile(
    r"(?:at least|no less than|greater than or equal to|>="
    r"|minimum(?: allowed)?(?: value)?(?: is| of|:)?|min(?: is|:)"
    r"|不能小于|不得(?:低于|小于)|最小(?:值)?(?:为|是)?|至少) ?" + _BOUND
)

type Params = dict[str, Any]


def clamped(params: Params, known: Mapping[str, Params], _schema: Params, text: str) -> Params:
    """Numbers within the bounds that the schema names, or that the error names beside the parameter."""
    sizes = list[str]()

    def note(path: str, value: Any, _stated: Mapping[str, Any]) -> Any:
        if is_size(path) and is_number(value):
            sizes.append(path)
        return value

    def clamp(path: str, value: Any, schema: Mapping[str, Any]) -> Any:
        if not is_number(value):
            return value
        name = _last(path).casefold()
        # The error names the parameter as a word of its own, or there is no other that it could mean.
        is_named = len(name) <= 100 and re.search(rf"(?<![a-z0-9_]){re.escape(name)}(?![a-z0-9_])", text)
        about = text if is_named or sizes == [path] else ""
        most = _bound(schema.get("maximum"), _AT_MOST, about)
        least = _bound(schema.get("minimum"), _AT_LEAST, about)
        if most is not None and value > most and (least is None or least <= most):
            return most
        return least if least is not None and value < least and (most is None or least <= most) else value

    rewritten(params, known, note)
    return rewritten(params, known, clamp)


def _bound(stated: Any, pattern: re.Pattern[str], text: str) -> float | None:
    if is_number(stated):
        return stated
    found = [one[1] for one in pattern.finditer(text)]
    # Two bounds in one message belong to two parameters, and which is whose cannot be told.
    if len(set(found)) != 1:
        return None
    return float(found[0]) if "." in found[0] else int(found[0])


def is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def halved(params: Params, known: Mapping[str, Params], _schema: Params, _text: str) -> Params:
    """With half of every number of results; where none is given and the tool takes one, with a small one."""

    def half(path: str, value: Any, schema: Mapping[str, Any]) -> Any:
        return _at_least(value // 2, schema) if is_size(path) and _is_whole(value) and value > 1 else value

    less = rewritten(params, known, half)
    if less != params:
        return less
    absent = {key: one for key, one in known.items() if key not in params}
    # A type may be a list of types, which cannot be looked up in a set.
    offered = [
        key for key, one in absent.items() if key.casefold() in SIZE_KEYS and one.get("type") in ("integer", "number")
    ]
    if not offered:
        return params
    name = offered[0]
    usual, most = known[name].get("default"), known[name].get("maximum")
    size = usual // 2 if _is_whole(usual) and usual > 1 else FIRST_SIZE
    size = min(size, int(most)) if is_number(most) and most >= 1 else size
    return params | {name: _at_least(size, known[name])}


def rewritten(
    params: Params,
    known: Mapping[str, Params],
    change: Callable[[str, Any, Mapping[str, Any]], Any],
    *,
    within: str = "",
    deep: int = 4,
) -> Params:
    """The parameters with every value as `change` makes it of its path (`request.limit`), itself and what the schema
    says of it."""
    changed: Params = {}
    for key, value in params.items():
        schema, path = known.get(key, {}), f"{within}.{key}" if within else key
        if isinstance(value, dict) and deep:
            changed[key] = rewritten(value, known_properties(schema), change, within=path, deep=deep - 1)
        elif isinstance(value, list) and deep and any(isinstance(one, dict) for one in value):
            items = schema.get("items")
            inner = known_properties(items) if isinstance(items, dict) else {}
            changed[key] = [
                rewritten(one, inner, change, within=path, deep=deep - 1) if isinstance(one, dict) else one
                for one in value
            ]
        else:
            changed[key] = change(path, value, schema)
    return changed


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def is_size(path: str) -> bool:
    """Whether the parameter is a number of results, by its name."""
    return _last(path).casefold() in SIZE_KEYS


def known_properties(schema: Mapping[str, Any]) -> dict[str, Params]:
    """What the schema of an object says of each of its properties."""
    properties = schema.get("properties")
    return {
        key: one
        for key, one in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(key, str) and isinstance(one, dict)
    }


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _at_least(value: int, schema: Mapping[str, Any]) -> int:
    least = schema.get("minimum")
    return max(1, value, int(least)) if is_number(least) and abs(least) < 2**53 else max(1, value)


def with_mended_queries(params: Params, known: Mapping[str, Params], schema: Params, _text: str) -> Params:
    """Search queries with quotes and brackets that pair, and operators as the tool's description writes them."""
    about = str(schema.get("description") or "")

    def mend(path: str, value: Any, own: Mapping[str, Any]) -> Any:
        if isinstance(value, list):
            return [mend(path, one, own) if isinstance(one, str) else one for one in value]
        if not is_query(path) or not isinstance(value, str) or is_code(value):
            return value
        better = mended(value, about=f"{about} {own.get('description') or ''}")
        if better != value:
            return better
        # Nothing that is known to break it stands in it, so that plain words are left.
        return plain_words(value)

    return rewritten(params, known, mend)


def with_paired_signs(params: Params, schema: Mapping[str, Any]) -> Params | None:
    """The parameters with those queries mended whose quotes or brackets do not pair, or that end in an operator: broken
    in any language of the error. None where there are none."""
    about = str(schema.get("description") or "")

    def mend(path: str, value: Any, _own: Mapping[str, Any]) -> Any:
        is_one = is_query(path) and isinstance(value, str) and is_broken(value)
        return mended(value, about=about) if is_one else value

    better = rewritten(params, known_properties(schema), mend)
    return better if better != params and can_be_kept(better) and (not schema or fits(better, schema)) else None


# A search that comes to no end, or finds nothing, asks for something lighter.

_TIMEOUT = re.compile(r"(?:request_?|read_?|client_?)?time_?out(?:_?(?:s|ms|sec|secs|seconds|millis))?|max_wait(?:_s)?")
_NO_FILTER = re.compile(
    r"id$|user|account|tenant|project|scope|dry|confirm|safe|version|format|token|key|page|cursor|repo"
)


def lighter(params: Params, *, schema: Mapping[str, Any], text: str, finds_nothing: bool = False) -> Params | None:
    """The parameters of a search with fewer words, else more time, else fewer filters; None where it has none of them.

    What a search that `finds_nothing` is freed of first are its filters, then its words. Only for calls that read.
    """
    known = known_properties(schema)
    fewer, freed = rewritten(params, known, _simpler), _without_filter(params, schema)
    steps = (freed, fewer) if finds_nothing else (fewer, _patient(params, known, text), freed)
    for step in steps:
        if step != params and can_be_kept(step) and (not schema or fits(step, schema)):
            return step
    return None


def _simpler(path: str, value: Any, _schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_simpler(path, one, _schema) if isinstance(one, str) else one for one in value]
    return simplified(value) if is_query(path) and isinstance(value, str) else value


def _without_filter(params: Params, schema: Mapping[str, Any]) -> Params:
    """Without the last filter that may be left out, where words to search for are left."""
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    free = [
        key
        for key, value in params.items()
        if key not in needed and not is_query(key) and not is_size(key) and not _NO_FILTER.search(key.casefold())
        if isinstance(value, str | list) and value and not _TIMEOUT.fullmatch(key.casefold())
    ]
    if not free or not any(is_query(key) for key in params):
        return params
    return {key: value for key, value in params.items() if key != free[-1]}


def _patient(params: Params, known: Mapping[str, Params], text: str) -> Params:
    """With twice the time where the call itself names the time that the error says was too short."""

    def longer(path: str, value: Any, schema: Mapping[str, Any]) -> Any:
        is_time = _TIMEOUT.fullmatch(_last(path).casefold()) and is_number(value) and value > 0
        if not is_time or not re.search(rf"(?<![\d.]){re.escape(f'{value:g}')}(?!\d)", text):
            return value
        most = schema.get("maximum")
        return min(2 * value, most) if is_number(most) else 2 * value

    return rewritten(params, known, longer)


LARGEST_PARAMS = 100_000
LONGEST_NUMBER = 40
MOST_KEYS = 200
GUARD = re.compile(
    r"dry|preview|simul|confirm|test|where|filter|condition|if_|only|except|exclude|safe|limit|max|min|version|etag|scope"
    r"|expect|draft|check|id$|user|account|tenant|project|branch|reason|approv"
)
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,12})?")
_INTEGER = re.compile(r"-?\d{1,18}")


def modified(
    params: Mapping[str, Any], *, changes: Sequence[Change], schema: Mapping[str, Any], text: str
) -> Params | None:
    """The parameters after `changes`, None where none of them changes anything. `text` is the error's telling text."""
    best = before = dict(params)
    if not can_be_kept(before):
        return None
    known = known_properties(schema)
    for change in changes:
        changed = _CHANGES[change](best, known, dict(schema), text)
        if changed == best or not can_be_kept(changed):
            continue
        now, then = _breaks(changed, schema), _breaks(best, schema)
        if not schema or (now is not None and then is not None and now <= then):
            best = changed
    # As JSON, where also 1, 1.0 and true differ.
    is_changed = json.dumps(best, sort_keys=True) != json.dumps(before, sort_keys=True)
    return best if is_changed else None


def fits(params: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Whether the parameters break nothing of a schema that can be checked."""
    return _breaks(dict(params), schema) == 0


def can_be_kept(params: Mapping[str, Any]) -> bool:
    """Whether these parameters are few, small and plain enough to be looked at, kept and sent."""
    if len(params) > MOST_KEYS or is_too_deep(params) or not is_storable(params):
        return False
    return len(json.dumps(params, ensure_ascii=False)) <= LARGEST_PARAMS


def _breaks(params: Params, schema: Mapping[str, Any]) -> int | None:
    """In how many places the schema is broken; None where that cannot be told."""
    try:
        found = len(violations(params, schema=dict(schema)))
    except SchemaUnusable:
        return None
    return found if found < MOST_VIOLATIONS else None


def _drop_unknown(params: Params, known: Mapping[str, Any], schema: Params, text: str) -> Params:
    """Without what the schema does not know, where it takes nothing else or the error names it as unknown."""
    is_closed = bool(known) and schema.get("additionalProperties") is False
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    before = (
        r"(?:unexpected|unknown|unrecogni[sz]ed|unsupported|extra)(?: request| query| keyword)? "
        r"(?:argument|parameter|field|property|option|key|input|param|attribute|name)s?(?: name| supplied| given)?"
        r"|(?:未知|多余|不支持|意外)的?(?:参数|字段|关键字)"
    )
    after = (
        r"(?: was unexpected| is unexpected| is not (?:a )?(?:known|recogni[sz]ed|supported|permitted|allowed)"
        r"|:? extra inputs are not permitted)"
    )

    def is_unknown(key: str) -> bool:
        if key in known or key in needed or GUARD.search(key.casefold()):
            return False
        if is_closed:
            return True
        name = re.escape(key.casefold())
        if not name or len(key) > 100:
            return False
        pattern = rf"(?:{before})[: ]{{0,3}}['\"]?{name}(?![\w-])|(?<![\w-]){name}['\"]?{after}"
        return re.search(pattern, text) is not None

    return {key: value for key, value in params.items() if not is_unknown(key)}


def _convert(params: Params, known: Mapping[str, Params], _schema: Params, _text: str) -> Params:
    """Numbers, truth values, lists and objects that were given as texts, as the types that the schema asks for."""
    return {key: _converted(value, known.get(key, {}).get("type")) for key, value in params.items()}


def _converted(value: Any, wanted: Any) -> Any:
    text = value.strip() if isinstance(value, str) else ""
    match wanted:
        case "integer" if _INTEGER.fullmatch(text):
            return int(text)
        case "integer" if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return int(value)
        case "number" if len(text) <= LONGEST_NUMBER and _NUMBER.fullmatch(text):
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        case "boolean" if text.casefold() in {"true", "false"}:
            return text.casefold() == "true"
        case "string" if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        case "array" | "object" if text[:1] == {"array": "[", "object": "{"}[wanted]:
            try:
                read = json.loads(text)
            except (ValueError, RecursionError):
                return value
            return value if is_too_deep(read) or not is_storable(read) else read
    return value


def _fix_case(params: Params, known: Mapping[str, Params], _schema: Params, _text: str) -> Params:
    """Values of a list of choices in the way in which the schema writes them."""
    changed = dict(params)
    for key, value in params.items():
        choices = known.get(key, {}).get("enum")
        if not isinstance(value, str) or not isinstance(choices, list) or value in choices:
            continue
        alike = [one for one in choices if isinstance(one, str) and _plain(one) == _plain(value)]
        if len(alike) == 1:
            changed[key] = alike[0]
    return changed


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]", "", text.casefold())


def _add_default(params: Params, known: Mapping[str, Params], schema: Params, _text: str) -> Params:
    """With what is required and missing, where the schema says what it is unless said otherwise."""
    needed = schema.get("required")
    missing = [key for key in needed if isinstance(key, str) and key not in params] if isinstance(needed, list) else []
    return params | {key: known[key]["default"] for key in missing if key in known and "default" in known[key]}


_CHANGES: Mapping[Change, Callable[[Params, Mapping[str, Params], Params, str], Params]] = {
    Change.DROP_UNKNOWN: _drop_unknown,
    Change.CONVERT: _convert,
    Change.FIX_CASE: _fix_case,
    Change.ADD_DEFAULT: _add_default,
    Change.CLAMP: clamped,
    Change.HALVE_SIZE: halved,
    Change.FIX_QUERY: with_mended_queries,
}
