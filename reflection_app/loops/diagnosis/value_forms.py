"""One value written in another form: what a fix did to it, told by a name, so that other values can be mended alike.

Only forms are told: types, dates, signs, what stands before or behind. Other words for the same thing are no form.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any

from pydantic import JsonValue

from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_calls import is_too_deep
from reflection_app.loops.values import Value

LONGEST_VALUE = 10_000
LONGEST_AFFIX = 200
LONGEST_SIGN = 6
# Tokens that are compared in their order, from the first that differ: of few signs it takes the third power of them.
MOST_COMPARED = 60
# Month before day is the rarer way of writing, and 2026-03-04 says the same in both.
DATES = (
    *("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d-%m-%Y", "%Y年%m月%d日"),
    *("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"),
    *(
        "%d %B %Y",
        "%B %d, %Y",
        "%d %b %Y",
        "%b %d, %Y",
        "%d. %B %Y",
        "%Y-%m-%dT00:00:00+00:00",
        "%Y-%m-%dT00:00:00.000Z",
    ),
)
_OPERATOR = re.compile(r"and|or|not|und|oder|nicht|et|ou|[^\w\s]{1,3}", re.IGNORECASE)
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_WITH_UNIT = re.compile(r"(?P<before>[^\d\s-]{0,3})\s?(?P<number>-?\d{1,15}(?:\.\d{1,9})?)\s?(?P<after>[^\d\s]{0,12})")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,12})?")


class Form(Value):
    """How a value was written otherwise: the form's name, and what was before and is after it where the name asks."""

    how: str
    before: JsonValue = None
    after: JsonValue = None


def form_between(before: Any, after: Any, *, own: Mapping[str, Callable[[str], str]]) -> Form | None:
    """The one form that makes `after` of `before`; None where there is none. `own` are forms of texts besides."""
    for how, change in {**{name: _on_text(change) for name, change in own.items()}, **_PLAIN}.items():
        if _same(change(before), after) and not _same(before, after):
            return Form(how=how)
    if (
        isinstance(before, str)
        and (unit := _WITH_UNIT.fullmatch(before.strip()))
        and _same(_number(unit["number"]), after)
    ):
        return Form(how="its number", before=unit["before"], after=unit["after"])
    if not isinstance(before, str) or not isinstance(after, str) or max(len(before), len(after)) > LONGEST_VALUE:
        return None
    return _date_form(before, after) or _affix(before, after) or _sign(before, after)


def in_form(value: Any, form: Form, *, own: Mapping[str, Callable[[str], str]]) -> Any:
    """The value in this form; itself where it is in it already, or cannot be."""
    if form.how in own:
        return _on_text(own[form.how])(value)
    if form.how in _PLAIN:
        return _PLAIN[form.how](value)
    if not isinstance(value, str) or len(value) > LONGEST_VALUE:
        return value
    before, after = str(form.before or ""), str(form.after or "")
    changed: Any = value
    match form.how:
        case "its number":
            unit = _WITH_UNIT.fullmatch(value.strip())
            is_same = unit is not None and (unit["before"], unit["after"]) == (before, after)
            changed = _number(unit["number"]) if unit and is_same else value
        case "date":
            found = _date(value, before)
            changed = found.strftime(after) if found else value
        case "sign":
            changed = _with_sign(value, before, after)
        case "begins" if before:
            changed = after + value.removeprefix(before) if value.startswith(before) else value
        case "ends" if before:
            changed = value.removesuffix(before)
        case "begins" if not value.startswith(after):
            changed = after + (value.lstrip("/") if after.endswith("/") else value)
        case "ends" if not value.endswith(after):
            changed = value + after
    return changed


def _same(one: Any, other: Any) -> bool:
    # As JSON, where 1 and true differ.
    return type(one) is type(other) and bool(one == other)


def _on_text(change: Callable[[str], str]) -> Callable[[Any], Any]:
    return lambda value: change(value) if isinstance(value, str) and len(value) <= LONGEST_VALUE else value


def _number(value: Any) -> Any:
    if not isinstance(value, str) or not _NUMBER.fullmatch(text := value.strip()):
        return value
    return float(text) if "." in text else int(text)


def _truth(value: Any) -> Any:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    return words.get(value.strip().casefold(), value) if isinstance(value, str) else value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _parsed(value: Any) -> Any:
    if not isinstance(value, str) or value.strip()[:1] not in {"{", "["}:
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if is_too_deep(read) or not is_storable(read) else read


def _as_list(value: Any) -> Any:
    # Whether a text with commas is one item or several, a text without them does not tell.
    is_several = isinstance(value, str) and re.search("[,，、;]", value) is not None
    return value if isinstance(value, list) or value is None or is_several else [value]


def _split(value: Any) -> Any:
    return [part.strip() for part in re.split("[,，、;]", value) if part.strip()] if isinstance(value, str) else value


def _joined(separator: str) -> Callable[[Any], Any]:
    def join(value: Any) -> Any:
        is_flat = isinstance(value, list) and all(isinstance(one, str | int) for one in value)
        return separator.join(str(one) for one in value) if is_flat else value

    return join


def _whole(rounded: Callable[[float], int]) -> Callable[[Any], Any]:
    return lambda value: rounded(value) if isinstance(value, float) and abs(value) < 2**53 else value


def _only_item(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _once_each(value: Any) -> Any:
    return (
        list(dict.fromkeys(value)) if isinstance(value, list) and all(isinstance(one, str) for one in value) else value
    )


def _positive(value: Any) -> Any:
    return abs(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`"
    return text[1:-1] if is_quoted else text


def _closed(text: str) -> str:
    """With the brackets and the quote closed that were left open at its end."""
    waiting: list[str] = []
    for sign in text:
        if sign in "([{":
            waiting.append({"(": ")", "[": "]", "{": "}"}[sign])
        elif waiting and sign == waiting[-1]:
            waiting.pop()
    return text + ('"' if text.count('"') % 2 else "") + "".join(reversed(waiting))


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "as a number": _number,
    "as true or false": _truth,
    "as text": _text,
    "as JSON": _parsed,
    "as JSON text": lambda value: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value,
    "as a list": _as_list,
    "split at commas": _split,
    "joined by commas": _joined(","),
    "joined by commas and spaces": _joined(", "),
    "joined by spaces": _joined(" "),
    "its only item": _only_item,
    "each once": _once_each,
    "rounded": _whole(round),
    "rounded down": _whole(math.floor),
    "rounded up": _whole(math.ceil),
    "positive": _positive,
    "trimmed": _on_text(str.strip),
    "closed": _on_text(_closed),
    "without quotes": _on_text(_unquoted),
    "in quotes": _on_text(lambda text: text if text[:1] == '"' else f'"{text}"'),
    "in small letters": _on_text(str.lower),
    "in capitals": _on_text(str.upper),
    "capitalised": _on_text(str.title),
    "with underscores": _on_text(lambda text: re.sub(r"[\s-]+", "_", text.strip().lower())),
    "with hyphens": _on_text(lambda text: re.sub(r"[\s_]+", "-", text.strip().lower())),
}


def _date(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text.strip(), form)  # noqa: DTZ007 - what is written has no zone
    except ValueError:
        return None


def _date_form(before: str, after: str) -> Form | None:
    """Day and month that can be read both ways tell nothing about which is which."""
    found = [
        (was, now)
        for was in DATES
        if (date := _date(before, was)) is not None
        for now in DATES
        if date.strftime(now) == after
    ]
    return Form(how="date", before=found[0][0], after=found[0][1]) if len({was for was, _ in found}) == 1 else None


def _affix(before: str, after: str) -> Form | None:
    """What was put before or behind it, or taken off: a folder, a scheme, a field's name, an ending; never a word."""
    longer, shorter = (after, before) if len(after) > len(before) else (before, after)
    if not shorter or len(longer) - len(shorter) > LONGEST_AFFIX:
        return None
    is_added = longer is after
    for how, affix in (("begins", longer.removesuffix(shorter)), ("ends", longer.removeprefix(shorter))):
        is_sign = affix[-1:] in tuple("/:@#.=_~+\"'$") if how == "begins" else affix[:1] in tuple("/:@#.=_~+\"'Z")
        if affix != longer and is_sign and not re.search(r"\s", affix):
            return Form(how=how, before="" if is_added else affix, after=affix if is_added else "")
    # Another folder or scheme before the same rest.
    common = 0
    while common < len(shorter) and before[-common - 1] == after[-common - 1]:
        common += 1
    rest = before[len(before) - common :]
    sign = re.match(r":?/+|:", rest)
    if sign is None:
        return None
    was, now = before[: len(before) - common] + sign[0], after[: len(after) - common] + sign[0]
    is_short = max(len(was), len(now)) <= LONGEST_AFFIX and not re.search(r"\s", was + now)
    return Form(how="begins", before=was, after=now) if is_short and len(sign[0]) < len(rest) else None


def _sign(before: str, after: str) -> Form | None:
    """The one sign or operator that stands for another everywhere."""
    was, now = _TOKEN.findall(before), _TOKEN.findall(after)
    is_cut = max(len(was), len(now)) > MOST_COMPARED
    if is_cut:
        pairs = enumerate(zip(was, now, strict=False))
        start = next((at for at, (one, other) in pairs if one != other), min(len(was), len(now)))
        was, now = was[start : start + MOST_COMPARED], now[start : start + MOST_COMPARED]
    hunks = set()
    for tag, i, j, k, m in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        # What the cut made is no difference. Whether the whole text has no other is seen in the end.
        if tag == "equal" or (is_cut and i > 0 and (j == len(was) or m == len(now))):
            continue
        hunks.add(("".join(was[i:j]).strip() or "".join(was[i:j]), "".join(now[k:m]).strip() or "".join(now[k:m])))
    if len(hunks) != 1:
        return None
    old, new = hunks.pop()
    is_sign = bool(old) and len(old) <= LONGEST_SIGN and (old.isspace() or _OPERATOR.fullmatch(old) is not None)
    is_other = not new or new.isspace() or _OPERATOR.fullmatch(new) is not None or not re.search(r"\w", new)
    fits = is_sign and is_other and _with_sign(before, old, new) == after
    return Form(how="sign", before=old, after=new) if fits else None


def _with_sign(text: str, old: str, new: str) -> str:
    if re.fullmatch(r"\w+", old):
        return re.sub(rf"\b{re.escape(old)}\b", lambda _: new, text)
    if re.fullmatch(r"\w+", new):
        # A word in the place of a sign stands apart from its neighbours.
        return f" {new} ".join(part.strip() for part in text.split(old)).strip()
    return text.replace(old, new)
