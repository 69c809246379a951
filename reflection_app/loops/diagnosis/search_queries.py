"""Search queries whose syntax is mended: signs that do not pair, and operators as search engines write them."""

import re
from collections.abc import Mapping
from typing import Any

LONGEST_QUERY = 2_000
OPERATORS = frozenset({"AND", "OR", "NOT"})
QUERY_KEYS = frozenset(
    ["query", "q", "search", "search_query", "search_term", "keywords", "expression", "search_string"]
)

type Params = dict[str, Any]


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
    return " ".join(_operators(text, is_boolean="&&" in query or "||" in query)) or query


def _operators(text: str, *, is_boolean: bool) -> list[str]:
    """The words with operators in capitals, and none at an end. Alone, only `or` is one for certain."""
    words = text.split()
    # Inside of quotes these are words of a phrase.
    if '"' not in text:
        is_boolean = is_boolean or any(word in OPERATORS for word in words)
        told = {word.casefold() for word in OPERATORS} if is_boolean else {"or"}
        words = [word.upper() if word.casefold() in told else word for word in words]
    while words and words[-1] in OPERATORS:
        words.pop()
    while words and words[0] in OPERATORS - {"NOT"}:
        words.pop(0)
    return words


def _is_balanced(text: str) -> bool:
    pairs, waiting = {")": "(", "]": "[", "}": "{"}, list[str]()
    for sign in text:
        if sign in pairs.values():
            waiting.append(sign)
        elif sign in pairs and (not waiting or waiting.pop() != pairs[sign]):
            return False
    return not waiting
