"""Amounts in a text, brought to one unit each, so that 60 seconds are a minute and three times are 3 次. Pure."""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

_UNITS: dict[str, tuple[str, str]] = {}
for _dimension, _sizes in {
    "time": {
        "0.001": "ms millisecond milliseconds 毫秒",
        "1": "s sec secs second seconds 秒 秒钟",
        "60": "min mins minute minutes 分钟",
        "3600": "h hr hrs hour hours 小时",
        "86400": "day days 天 日",
        "604800": "week weeks 周 星期",
    },
    "size": {"1": "byte bytes 字节", "1000": "kb", "1000000": "mb 兆", "1000000000": "gb"},
    "share": {"1": "% percent"},
    "times": {"1": "time times retry retries attempt attempts 次 遍"},
}.items():
    for _size, _names in _sizes.items():
        _UNITS.update(dict.fromkeys(_names.split(), (_dimension, _size)))
_NAMED = {
    name: str(value)
    for value, name in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
}
_NAMED |= {"once": "1", "twice": "2", "thrice": "3"}
_NAMED |= dict(zip("零一二三四五六七八九十", map(str, range(11)), strict=True)) | {"两": "2"}
_COUNTERS = "毫秒|秒钟?|分钟|小时|天|周|星期|次|遍|个|行|字节|页|条"
_UNIT = "|".join(sorted((name for name in _UNITS if name.isascii() and name != "%"), key=len, reverse=True))
_AMOUNT = re.compile(
    rf"(?<![\w.])(?P<number>\d+(?:[.,]\d+)*)\s*(?P<unit>%|(?:{_UNIT})\b|{_COUNTERS})?"
    rf"|(?<=[\u4e00-\u9fff])(?P<number2>\d+(?:\.\d+)*)\s*(?P<unit2>%|(?:{_UNIT})\b|{_COUNTERS})?"
    rf"|\b(?P<word>{'|'.join(name for name in _NAMED if name.isascii())})\b(?:\s+(?P<unit3>(?:{_UNIT})\b))?"
    rf"|(?P<chinese>[零一二两三四五六七八九十])(?P<unit4>{_COUNTERS})",
    re.IGNORECASE,
)
# A number that names a thing is no amount of it.
_NAMES_A_THING = re.compile(
    r"(?:http|status|error|code|errors|issue|step|page|chapter|section|rfc|cve|pep|no\.|#|状态码|错误码?|第|步骤|"
    r"\b(?:case|example|run|task|test|session|user|customer|order|booking|item|line|row|turn|ticket|lesson|entry|number)|"
    r"案例|用例|运行|任务|会话|用户|客户|订单|条目|编号)\s*[:：#-]?\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Amount:
    """`value` in the smallest unit of its dimension; a bare number has none, a version is told as it is written."""

    dimension: str
    value: str
    said: str


def amounts_in(text: str) -> tuple[list[Amount], str]:
    """The amounts, and the text without them; numbers that name a thing stay in it."""
    found: list[Amount] = []

    def take(match: re.Match[str]) -> str:
        if _NAMES_A_THING.search(text[: match.start()]):
            return match[0]
        groups = match.groupdict()
        number = groups["number"] or groups["number2"] or _NAMED[(groups["word"] or groups["chinese"]).lower()]
        unit = (groups["unit"] or groups["unit2"] or groups["unit3"] or groups["unit4"] or "").lower()
        if groups["word"] and not unit and groups["word"].lower() == "one":
            return match[0]
        found.append(_amount(number, unit, said=match[0].strip()))
        return " "

    return found, _AMOUNT.sub(take, text)


def _amount(number: str, unit: str, *, said: str) -> Amount:
    dimension, size = _UNITS.get(unit, ("", "1"))
    try:
        value = Decimal(number.replace(",", "")) * Decimal(size)
    except InvalidOperation:
        return Amount(dimension, number, said)
    # 3.10 is another version than 3.1.
    return Amount(dimension, str(value.normalize()) if dimension else number, said)
