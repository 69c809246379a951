"""Numbers in parameters: within the bounds that a schema or an error names, and half of what was too much."""

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

FIRST_SIZE = 10
SIZE_KEYS = frozenset(
    [
        "limit",
        "max_results",
        "maxresults",
        "max_items",
        "num_results",
        "n_results",
        "page_size",
        "pagesize",
        "per_page",
        "perpage",
        "size",
        "count",
        "top_k",
        "topk",
        "k",
        "num",
        "n",
        "rows",
        "batch_size",
        "chunk_size",
        "max_count",
        "maxcount",
        "first",
        "take",
        "max_rows",
        "num_rows",
        "results",
        "max_pages",
        "max_records",
    ]
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
    return {
        key: _clamped(value, known.get(key, {}), text if _is_named(key, text) or sizes == [key] else "")
        if _is_number(value)
        else value
        for key, value in params.items()
    }


def _clamped(value: float, schema: Mapping[str, Any], text: str) -> float:
    most = _bound(schema.get("maximum"), _AT_MOST, text)
    least = _bound(schema.get("minimum"), _AT_LEAST, text)
    if most is not None and value > most and (least is None or least <= most):
        return most
    if least is not None and value < least and (most is None or least <= most):
        return least
    return value


def _bound(stated: Any, told: re.Pattern[str], text: str) -> float | None:
    if _is_number(stated):
        return stated
    found = [one[1] for one in told.finditer(text)]
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
    offered = [key for key, one in absent.items() if key.casefold() in SIZE_KEYS and _takes_int(one)]
    if not offered:
        return params
    name = offered[0]
    usual, most = known[name].get("default"), known[name].get("maximum")
    size = usual // 2 if _is_whole(usual) and usual > 1 else FIRST_SIZE
    size = min(size, int(most)) if _is_number(most) and most >= 1 else size
    return params | {name: _at_least(size, known[name])}


def _takes_int(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") in {"integer", "number"}


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _at_least(value: int, schema: Mapping[str, Any]) -> int:
    least = schema.get("minimum")
    return max(1, value, int(least)) if _is_number(least) and abs(least) < 2**53 else max(1, value)


def _is_named(key: str, text: str) -> bool:
    """Whether the error names the parameter, as a word of its own."""
    name = key.casefold()
    return len(name) <= 100 and re.search(rf"(?<![a-z0-9_]){re.escape(name)}(?![a-z0-9_])", text) is not None
