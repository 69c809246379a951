"""Parameters put right by code alone, from the tool's schema and from what the error names. Nothing is guessed.

A change is kept only where the parameters fit the schema at least as well as before. What limits or guards a call is
never left out of it: without its filter a deletion deletes everything.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reflection_app.loops.diagnosis.rule import Change
from reflection_app.loops.diagnosis.search_queries import with_mended_queries
from reflection_app.loops.diagnosis.sizes import clamped, halved
from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_arguments import MOST_VIOLATIONS, SchemaUnusable, is_too_deep, violations

LARGEST_PARAMS = 100_000
LONGEST_NUMBER = 40
MOST_KEYS = 200
_GUARD = re.compile(
    r"dry|preview|simul|confirm|test|where|filter|condition|if_|only|except|exclude|safe|limit|max|min|version|etag|scope"
    r"|expect|draft|check|id$|user|account|tenant|project|branch|reason|approv"
)
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,12})?")
_INTEGER = re.compile(r"-?\d{1,18}")

type Params = dict[str, Any]


def modified(
    params: Mapping[str, Any], *, changes: Sequence[Change], schema: Mapping[str, Any], text: str
) -> Params | None:
    """The parameters after `changes`, None where none of them changes anything. `text` is the error's telling text."""
    given = dict(params)
    if not can_be_kept(given):
        return None
    best, known = given, _properties(schema)
    for change in changes:
        changed = _CHANGES[change](best, known, dict(schema), text)
        if changed != best and can_be_kept(changed) and _fits_as_well(changed, best, schema):
            best = changed
    return best if _differ(best, given) else None


def fits(params: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Whether the parameters break nothing of a schema that can be checked."""
    return _breaks(dict(params), schema) == 0


def can_be_kept(params: Mapping[str, Any]) -> bool:
    """Whether these parameters are few, small and plain enough to be looked at, kept and sent."""
    if len(params) > MOST_KEYS or is_too_deep(params) or not is_storable(params):
        return False
    return len(json.dumps(params, ensure_ascii=False)) <= LARGEST_PARAMS


def _differ(one: Any, other: Any) -> bool:
    """Whether two JSON values differ, also where Python finds them equal (1, 1.0 and true)."""
    return json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True)


def _breaks(params: Params, schema: Mapping[str, Any]) -> int | None:
    """In how many places the schema is broken; None where that cannot be told."""
    try:
        found = len(violations(params, schema=dict(schema)))
    except SchemaUnusable:
        return None
    return found if found < MOST_VIOLATIONS else None


def _fits_as_well(changed: Params, before: Params, schema: Mapping[str, Any]) -> bool:
    if not schema:
        return True
    now, then = _breaks(changed, schema), _breaks(before, schema)
    return now is not None and then is not None and now <= then


def _properties(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    held = schema.get("properties")
    if not isinstance(held, dict):
        return {}
    return {key: one for key, one in held.items() if isinstance(key, str) and isinstance(one, dict)}


def _drop_unknown(params: Params, known: Mapping[str, Any], schema: Params, text: str) -> Params:
    """Without what the schema does not know, where it takes nothing else or the error names it as unknown."""
    is_closed = schema.get("additionalProperties") is False
    required = schema.get("required")
    needed = required if isinstance(required, list) else []

    def stays(key: str) -> bool:
        if key in known or key in needed or _GUARD.search(key.casefold()):
            return True
        return not (is_closed and known) and not _is_told_unknown(key, text)

    return {key: value for key, value in params.items() if stays(key)}


def _is_told_unknown(key: str, text: str) -> bool:
    name = re.escape(key.casefold())
    if not name or len(key) > 100:
        return False
    before = (
        r"(?:unexpected|unknown|unrecogni[sz]ed|unsupported|extra)(?: request| query| keyword)? "
        r"(?:argument|parameter|field|property|option|key|input|param|attribute|name)s?(?: name| supplied| given)?"
        r"|(?:未知|多余|不支持|意外)的?(?:参数|字段|关键字)"
    )
    after = (
        r"(?: was unexpected| is unexpected| is not (?:a )?(?:known|recogni[sz]ed|supported|permitted|allowed)"
        r"|:? extra inputs are not permitted)"
    )
    return re.search(rf"(?:{before})[: ]{{0,3}}['\"]?{name}(?![\w-])|(?<![\w-]){name}['\"]?{after}", text) is not None


def _convert(params: Params, known: Mapping[str, Params], _schema: Params, _text: str) -> Params:
    """Numbers, truth values, lists and objects that were given as texts, as the types that the schema asks for."""
    return {key: _converted(value, known.get(key, {}).get("type")) for key, value in params.items()}


def _converted(value: Any, wanted: Any) -> Any:
    if isinstance(value, str) and isinstance(wanted, str):
        return _from_text(value.strip(), wanted, value)
    if wanted == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if wanted == "integer" and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _from_text(text: str, wanted: str, value: str) -> Any:
    if wanted == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if wanted == "number" and len(text) <= LONGEST_NUMBER and _NUMBER.fullmatch(text):
        return int(text) if _INTEGER.fullmatch(text) else float(text)
    if wanted == "boolean" and text.casefold() in {"true", "false"}:
        return text.casefold() == "true"
    if wanted in {"array", "object"} and text[:1] == {"array": "[", "object": "{"}[wanted]:
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            return value
        return value if is_too_deep(read) or not is_storable(read) else read
    return value


def _fix_case(params: Params, known: Mapping[str, Params], _schema: Params, _text: str) -> Params:
    """Values of a list of choices in the way in which the schema writes them."""
    return {key: _chosen(value, known.get(key, {}).get("enum")) for key, value in params.items()}


def _chosen(value: Any, choices: Any) -> Any:
    if not isinstance(value, str) or not isinstance(choices, list) or value in choices:
        return value
    alike = [one for one in choices if isinstance(one, str) and _plain(one) == _plain(value)]
    return alike[0] if len(alike) == 1 else value


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
