"""Extract the informative part of an error message.

Errors come as sentences, JSON bodies, HTML pages and tracebacks; all may be large and hostile. Only a head and a tail
are read, and every pattern is bounded.
"""

import json
import re
import unicodedata
from typing import Any

from reflection_app.loops.texts import word_list

LONGEST_HEAD = 6_000
LONGEST_TAIL = 2_000
LONGEST_JSON = 100_000
LONGEST_TELLING = 2_000
MOST_PARTS = 12
MOST_VALUES = 400

# Ordered from most to least informative. Other fields of a body are data.
TELLING_KEYS = word_list(
    "status status_code statusCode code type name error errors exception title message msg Message error_message "
    "errmsg error_description detail details reason loc content text"
)
_NUMBERED = frozenset({"status", "status_code", "statusCode", "code"})
# For bodies that are truncated, or printed as a Python dict.
_LOOSE = re.compile(r"""["'](message|msg|code|type|error|detail|title|reason)["']\s{0,4}:\s{0,4}(["'])(.{1,400}?)\2""")
_TAGS = re.compile(r"<(?:script|style)\b.{0,4000}?</(?:script|style)>|<[^<>]{0,300}>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<(title|h1)\b[^<>]{0,200}>([^<>]{1,300})</\1>", re.IGNORECASE)
_FRAME = re.compile(
    r"""^(?:
      \s{1,12}at\ .*
    | \s{1,12}File\ ".*
    | \s{0,12}\^[~^\s]*
    | \s{0,4}\.\.\.\ \d+\ more
    | goroutine\ \d+.*
    )$""",
    re.VERBOSE | re.MULTILINE,
)
_TRACEBACK = re.compile(r"traceback \(most recent call last\)", re.IGNORECASE)
_RAISED = re.compile(
    r"^(?:[\w.]{1,120}(?:Error|Exception|Warning|Exit|Interrupt|Timeout)|[a-z_]+(?:\.\w+){1,6})\b.*", re.MULTILINE
)

_ERROR_LINE = re.compile(r"^[\w.]{1,120}(?:Error|Exception|Exit|Interrupt|Timeout): .*", re.MULTILINE)


def clipped(error: str) -> str:
    """Return head and tail of a long error, or all of a short one."""
    if len(error) <= LONGEST_HEAD + LONGEST_TAIL:
        return error
    return f"{error[:LONGEST_HEAD]}\n{error[-LONGEST_TAIL:]}"


def plain_text(error: str) -> str:
    """Return the informative part: the messages of JSON, the last line of a traceback."""
    body = _json_in(error)
    if body is not None:
        before, value = body
        text = "\n".join((clipped(before).strip(), *_telling_parts(value)))
    else:
        text = clipped(error)
        loose = [f"{found[1]}: {found[3]}" for found in _LOOSE.finditer(text)][:MOST_PARTS]
        text = "\n".join((text[: text.find("{")].strip(), *loose)) if loose and "{" in text else text
    if "</" in text:
        titles = [found[2].strip() for found in _TITLE.finditer(text)][:2]
        text = "\n".join(titles) if titles else _TAGS.sub(" ", text)
    is_traceback = _TRACEBACK.search(text) is not None
    text = _FRAME.sub("", text)
    if is_traceback:
        raised = [one[0] for one in _RAISED.finditer(text)]
        lines = [line for line in text.splitlines() if line.strip()]
        text = raised[-1] if raised else lines[-1] if lines else text
    return text.strip()[:LONGEST_TELLING]


def telling_text(error: str) -> str:
    """Return `plain_text` normalized: full-width characters as ASCII, case folded, single spaces."""
    text = plain_text(error)
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("`", "'")
    return " ".join(folded.split())[:LONGEST_TELLING]


def headline(error: str) -> str:
    """Return the most informative line: the last raised error, else the first line; "" for a blank error."""
    raised = _ERROR_LINE.findall(clipped(error))
    lines = (line.strip() for line in error.splitlines() if line.strip())
    return raised[-1].strip() if raised else next(lines, "")


def _json_in(error: str) -> tuple[str, Any] | None:
    """Return the text before the first JSON object or array, and its value; None if there is none."""
    starts = [place for place in (error.find("{", 0, LONGEST_HEAD), error.find("[{", 0, LONGEST_HEAD)) if place >= 0]
    if not starts or len(error) > LONGEST_JSON:
        return None
    start = min(starts)
    try:
        value, _ = json.JSONDecoder().raw_decode(error, start)
    except (ValueError, RecursionError):
        return None
    return (error[:start], value) if _telling_parts(value) else None


def _telling_parts(value: Any) -> list[str]:
    """Return the values of informative keys in a JSON value, outermost first, without duplicates."""
    parts: dict[str, None] = {}
    level, seen = [("", value)], 0
    while level and len(parts) < MOST_PARTS and seen < MOST_VALUES:
        deeper: list[tuple[str, Any]] = []
        for key, one in level[:MOST_VALUES]:
            seen += 1
            if isinstance(one, dict):
                deeper += [(key, one[key]) for key in TELLING_KEYS if key in one]
            elif isinstance(one, list):
                deeper += [(key, inner) for inner in one[:5]]
            elif isinstance(one, str) and key and one.strip():
                parts[(f"code {one}" if key in _NUMBERED and one.strip().isdecimal() else one[:LONGEST_TELLING])] = None
            elif isinstance(one, int) and not isinstance(one, bool) and key in _NUMBERED and abs(one) < 1_000_000:
                parts[f"code {one}"] = None
        level = deeper
    return list(parts)[:MOST_PARTS]


_STATUS = re.compile(
    r"""
      \bhttp(?:/\d(?:\.\d)?)?\ ?(?:status|error|code|response)?(?:\ code)?[\ :=(]{0,3}([345]\d\d)\b
    | \b(?:status|response)(?:[ _]?code)?(?:\ is|\ was|\ of)?[\ :=(]{1,3}([345]\d\d)\b
    | \b(?:error\ )?code[\ :=(]{1,3}([45]\d\d)\b
    | \breturned\ (?:an\ )?error[\ :]{1,2}([45]\d\d)\b
    | (?:错误码|状态码)[\ :=]{0,3}([345]\d\d)\b
    | \b([45]\d\d)[\ :(-]{1,3}(?:client\ error|server\ error|bad\ request|unauthori[sz]ed|payment\ required|forbidden
        |not\ found|method\ not|not\ acceptable|proxy\ auth|request\ time|conflict|gone|length\ required|precondition
        |payload\ too|content\ too|request\ entity|uri\ too
        |request-uri|unsupported\ media|range\ not|expectation|misdirected
        |unprocessable|locked|failed\ dep|too\ early|upgrade\ req|too\ many
        |unavailable\ for\ legal|internal|not\ implemented
        |bad\ gateway|service|gateway|insufficient\ storage|network\ auth)
    | ^\W{0,3}(?:error[\ :(]{1,3}|错误[\ :(]{1,3})?([45]\d\d)(?=[\ :),]|$)(?!\ \d)
        (?!\ (?:items?|rows?|files?|results?|ms|s|bytes)\b)
    """,
    re.VERBOSE,
)


def status_in(telling: str) -> int | None:
    """Return the HTTP status that a text names as such, or None. Other numbers do not count."""
    found = _STATUS.search(telling)
    return int(next(one for one in found.groups() if one)) if found else None
