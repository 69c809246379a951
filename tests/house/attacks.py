"""Texts that make a careless regular expression slow, made from the expression itself.

Repetition is what costs: for every repeat in a pattern, its body many times over, behind what leads to it and before
what cannot follow it.
"""

import importlib
import itertools
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.house.patterns import Found

PARSER = importlib.import_module("re._parser")
CODES = importlib.import_module("re._constants")
REPEATS = (CODES.MAX_REPEAT, CODES.MIN_REPEAT, CODES.POSSESSIVE_REPEAT)
# A repeat of fewer costs nothing worth measuring.
FEWEST = 20
SUFFIXES = ("", "\0", "!", "\n", " ", "x")
USUAL = (
    *(" ", "\t", "\n", "a", "A", "0", "_", ".", "-", "'", '"', "\\", "(", ")", "{", "<", "[", "`", "*", "#", "=", ":"),
    *("/", "!", "\0", "中", "，", "a.", "a-", "a ", "0 ", "a\n", " \n", "a@", ":/", "((", "<a ", "a.a.", "error "),
)
SAMPLES = (*map(chr, range(32, 127)), "\t", "\n", "中", "é", "①", "я", "\u200b", "\ud7a3", "，", "？")

type Groups = dict[int, str]


@dataclass(frozen=True)
class Attack:
    """`before`, then `pump` as often as a length needs, then `after`."""

    before: str
    pump: str
    after: str

    def text(self, length: int) -> str:
        return self.before + self.pump * max(1, length // len(self.pump)) + self.after


def attacks(pattern: re.Pattern[Any]) -> Iterator[Attack]:
    """Attacks on the pattern, without doublets."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = PARSER.parse(text, pattern.flags & ~re.LOCALE)
    repeats = list(_repeats(tree, before="", groups={}))
    pumps = list(dict.fromkeys(pump for _, bodies in repeats for pump in bodies))[:8]
    leads = list(dict.fromkeys(before for before, _ in repeats))
    wholes = [one for one in _examples(tree, groups={}, most=3) if one]
    tried = itertools.chain(
        ((before, pump, after) for before, bodies in repeats for pump in bodies for after in SUFFIXES),
        (("", before + pump, "\0") for before, bodies in repeats for pump in bodies),
        (("", before, after) for before in leads for after in ("", "\0")),
        (("", pump, after) for pump in USUAL for after in ("", "\0")),
        ((before, pump, "\0") for before in leads[:6] for pump in USUAL),
        (("", one, "") for one in wholes),
        (("", one[:-1], "\0") for one in wholes),
        ((before, a + b, "\0") for before in ("", *leads[:3]) for a, b in itertools.permutations(pumps, 2)),
    )
    for parts in dict.fromkeys(tried):
        if parts[1]:
            yield Attack(*parts)


def cpu_s(found: Found, way: str, text: str, *, times: int = 1) -> float:
    """CPU seconds of this thread that the pattern takes for the text; the least of so many."""
    subject: Any = text if isinstance(found.pattern.pattern, str) else text.encode("latin-1", "replace")
    taken = []
    for _ in range(times):
        began = time.thread_time()
        if way == "finditer":
            for _match in found.pattern.finditer(subject):
                pass
        else:
            getattr(found.pattern, way)(subject)
        taken.append(time.thread_time() - began)
    return min(taken)


def worst(found: Found, *, length: int, enough_s: float) -> tuple[float, str, Attack] | None:
    """CPU seconds, way and attack of the slowest attack of that length; the first that takes `enough_s`."""
    slowest: tuple[float, str, Attack] | None = None
    for attack in attacks(found.pattern):
        for way in sorted(found.ways):
            took = cpu_s(found, way, attack.text(length))
            if slowest is None or took > slowest[0]:
                slowest = took, way, attack
            if took > enough_s:
                return slowest
    return slowest


def _examples(tree: Any, *, groups: Groups, most: int) -> list[str]:
    """A few short texts that the sequence matches."""
    found = [""]
    for code, value in tree:
        more = _of_one(code, value, groups=groups)
        found = [one + end for end in more for one in found][:most] if more else found
    return found


def _of_one(code: Any, value: Any, *, groups: Groups) -> list[str]:
    if code is CODES.LITERAL:
        return [chr(value)]
    if code is CODES.NOT_LITERAL:
        return [one for one in ("a", " ", "0") if ord(one) != value][:2]
    if code is CODES.ANY:
        return ["a", " "]
    if code is CODES.IN:
        return _of_set(value)
    if code is CODES.BRANCH:
        return [one for branch in value[1] for one in _examples(branch, groups=groups, most=1)][:6]
    if code is CODES.SUBPATTERN:
        inside = _examples(value[3], groups=groups, most=3)
        groups[value[0] or 0] = inside[0]
        return inside
    if code in REPEATS:
        least, _, body = value
        inside = [one * max(least, 1) for one in _examples(body, groups=groups, most=3)]
        return inside if least else [*inside, ""]
    if code is CODES.ATOMIC_GROUP:
        return _examples(value, groups=groups, most=2)
    return [groups.get(value, "")] if code is CODES.GROUPREF else [""]


def _of_set(items: Any) -> list[str]:
    is_negated = items[0][0] is CODES.NEGATE
    inside = "".join(_of_item(*item) for item in items[is_negated:])
    is_in = re.compile(f"[{inside}]").match
    usual = [one for one in ("a", "0", " ", "\n", ".", "-") if (is_in(one) is None) is is_negated]
    if is_negated:
        return (usual or [one for one in SAMPLES if is_in(one) is None])[:3]
    named = [chr(value if code is CODES.LITERAL else value[0]) for code, value in items if code is not CODES.CATEGORY]
    return [*usual, *named][:3]


def _of_item(code: Any, value: Any) -> str:
    if code is CODES.CATEGORY:
        sign = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[str(value).rsplit("_", 1)[-1]]
        return f"\\{sign.upper() if '_NOT_' in str(value) else sign}"
    ends = [value] if code is CODES.LITERAL else list(value)
    return "-".join(f"\\U{one:08x}" for one in ends)


def _repeats(tree: Any, *, before: str, groups: Groups) -> Iterator[tuple[str, list[str]]]:
    """Each repeat of many: what leads to it, and texts of its body."""
    for code, value in tree:
        if code in REPEATS:
            _, most, body = value
            if most is CODES.MAXREPEAT or most >= FEWEST:
                yield before, [one for one in _examples(body, groups=groups, most=4) if one]
        for inside in _inside(code, value):
            yield from _repeats(inside, before=before, groups=groups)
        before += (_of_one(code, value, groups=groups) or [""])[0]


def _inside(code: Any, value: Any) -> list[Any]:
    if code in REPEATS:
        return [value[2]]
    if code is CODES.SUBPATTERN:
        return [value[3]]
    if code is CODES.BRANCH:
        return list(value[1])
    if code in {CODES.ASSERT, CODES.ASSERT_NOT}:
        return [value[1]]
    return [value] if code is CODES.ATOMIC_GROUP else []
