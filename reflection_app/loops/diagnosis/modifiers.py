"""Parameters put right by code alone, from the tool's schema and from what the error names. Nothing is guessed.

A change is kept only where the parameters fit the schema at least as well as before. What limits or guards a call is
never left out of it: without its filter a deletion deletes everything.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from reflection_app.loops.diagnosis.rules import Change
from reflection_app.loops.storable import is_storable
from reflection_app.loops.texts import word_set
from reflection_app.loops.tool_calls import MOST_VIOLATIONS, SchemaUnusable, is_too_deep, violations

# Numbers in parameters: within the bounds that a schema or an error names, and half of what was too much.

FIRST_SIZE = 10
SIZE_KEYS = word_set(
    "limit max_results maxresults max_items num_results n_results page_size pagesize per_page perpage size count "
    "top_k topk k num n rows batch_size chunk_size max_count maxcount first take max_rows num_rows results max_pages "
    "max_records"
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
    sizes = [key for key, value in params.items() if key.casefold() in SIZE_KEYS and _is_number(value)]
    changed = dict(params)
    for key, value in params.items():
        if not _is_number(value):
            continue
        schema, name = known.get(key, {}), key.casefold()
        # The error names the parameter as a word of its own, or there is no other that it could mean.
        is_named = len(name) <= 100 and re.search(rf"(?<![a-z0-9_]){re.escape(name)}(?![a-z0-9_])", text)
        about = text if is_named or sizes == [key] else ""
        most = _bound(schema.get("maximum"), _AT_MOST, about)
        least = _bound(schema.get("minimum"), _AT_LEAST, about)
        if most is not None and value > most and (least is None or least <= most):
            changed[key] = most
        elif least is not None and value < least and (most is None or least <= most):
            changed[key] = least
    return changed


def _bound(stated: Any, pattern: re.Pattern[str], text: str) -> float | None:
    if _is_number(stated):
        return stated
    found = [one[1] for one in pattern.finditer(text)]
    # Two bounds in one message belong to two parameters, and which is whose cannot be told.
    if len(set(found)) != 1:
        return None
    return float(found[0]) if "." in found[0] else int(found[0])


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def halved(params: Params, known: Mapping[str, Params], _schema: Params, _text: str) -> Params:
    """With half of every number of results; where none is given and the tool takes one, with a small one."""
    sizes = [key for key, value in params.items() if key.casefold() in SIZE_KEYS and _is_whole(value) and value > 1]
    if sizes:
        return params | {key: _at_least(params[key] // 2, known.get(key, {})) for key in sizes}
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
    size = min(size, int(most)) if _is_number(most) and most >= 1 else size
    return params | {name: _at_least(size, known[name])}


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _at_least(value: int, schema: Mapping[str, Any]) -> int:
    least = schema.get("minimum")
    return max(1, value, int(least)) if _is_number(least) and abs(least) < 2**53 else max(1, value)


# Search queries whose syntax is mended: signs that do not pair, and operators as search engines write them.

LONGEST_QUERY = 2_000
OPERATORS = frozenset({"AND", "OR", "NOT"})
QUERY_KEYS = word_set("query q search search_query search_term keywords expression search_string")


def with_mended_queries(params: Params, _known: Mapping[str, Params], _schema: Params, _text: str) -> Params:
    """Search queries with quotes and brackets that pair, and operators as search engines write them."""
    return {
        key: mended(value) if key.casefold() in QUERY_KEYS and isinstance(value, str) else value
        for key, value in params.items()
    }


def mended(query: str) -> str:
    """The query with what commonly breaks its syntax taken out; as it is where it is too long to be one."""
    if len(query) > LONGEST_QUERY:
        return query
    text = re.sub("[“”„]", '"', query)
    text = text.replace("&&", " AND ").replace("||", " OR ")
    text = text if text.count('"') % 2 == 0 else text.replace('"', " ")
    text = text if _is_balanced(text) else re.sub(r"[()\[\]{}]", " ", text)
    words = text.split()
    # Inside of quotes these are words of a phrase. Where nothing else says so, only `or` is an operator for certain.
    if '"' not in text:
        is_boolean = "&&" in query or "||" in query or any(word in OPERATORS for word in words)
        operators = {word.casefold() for word in OPERATORS} if is_boolean else {"or"}
        words = [word.upper() if word.casefold() in operators else word for word in words]
    while words and words[-1] in OPERATORS:
        words.pop()
    while words and words[0] in OPERATORS - {"NOT"}:
        words.pop(0)
    return " ".join(words) or query


def _is_balanced(text: str) -> bool:
    pairs, waiting = {")": "(", "]": "[", "}": "{"}, list[str]()
    for sign in text:
        if sign in pairs.values():
            waiting.append(sign)
        elif sign in pairs and (not waiting or waiting.pop() != pairs[sign]):
            return False
    return not waiting


LARGEST_PARAMS = 100_000
LONGEST_NUMBER = 40
MOST_KEYS = 200
_GUARD = re.compile(
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
    properties = schema.get("properties")
    known = {
        key: one
        for key, one in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(key, str) and isinstance(one, dict)
    }
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
        if key in known or key in needed or _GUARD.search(key.casefold()):
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
