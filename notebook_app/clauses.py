"""A text in clauses, each with what it demands or refuses, of what, how much and by which means. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from notebook_app.likeness import telling_words
from notebook_app.opposed_words import (
    ANTONYMS,
    CHOICES,
    DEMANDED,
    EXCEPTION,
    LEFT_UNDONE,
    NO_REFUSAL,
    REFUSED,
    REPORT,
    SCOPES,
)
from notebook_app.quantities import Amount, amounts_in

MOST_CLAUSES = 40
MOST_TITLES = 3
LONGEST_CLAUSE = 300
LONGEST_READ = 6_000
_SENTENCES = re.compile(
    r"(?<=[a-zA-Z0-9\u4e00-\u9fff)\"'`])[.](?=\s|$)|[!?;。！？；\n]+",
)
# A comma ends a clause where an order or a refusal of its own follows.
_COMMAS = re.compile(
    r"[,:]\s*(?=(?:but|and|or)?\s*(?:never|always|do not|don't|not|avoid|use|prefer|keep|write|ask|call|run|check|"
    r"return|set|read|send|look|stop|instead)\b)"
    r"|[，,](?=但|而是|不|禁止|切勿|避免|必须|使用|采用|改用|用|请|先|应|要|而|严禁|务必)",
    re.IGNORECASE,
)
_AROUND = " \t-*•·>\"'`"
_CONDITION = re.compile(
    r"^\s*(?:(?:when|whenever|if|while|on|in|for|during|once|with|given)\b(?P<english>[^,:]{2,120})[,:]"
    r"|(?:当|如果|若|在|对于|对|遇到|每当)(?P<chinese>[^，,：]{1,60})[，,：])",
    re.IGNORECASE,
)
_USED = re.compile(
    r"\b(?:use|using|prefer|choose|pick|rely on|switch to)\s+(?:the\s+|an?\s+|only\s+)?(?P<english>[a-z][\w.+#/-]*)"
    r"(?=\s+(?:for|to|as|in|when|with|over|instead|rather|and not)\b|\s*[,(]|\s*$)"
    r"|(?:使用|采用|选用|改用|优先用|用)\s*(?P<chinese>[a-z][\w.+#-]*|[\u4e00-\u9fff]{1,6}?(?=来|进行|作为|而不是))",
    re.IGNORECASE,
)
_PASSED_OVER = re.compile(
    r"\b(?:instead of|rather than|over|and not|not)\s+(?:the\s+|an?\s+)?(?P<english>[a-z][\w.+#/-]*)"
    r"|(?:而不是|而非|代替|取代|不要?用|别用)\s*(?P<chinese>[a-z][\w.+#-]*|[\u4e00-\u9fff]{1,6}?(?=$|[，,来进]))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Clause:
    """One clause. `words` are the stems of what it is about, without all that the other fields tell.

    `sides` holds, for each pair of antonyms, which of the two it says; `choices`, of each group, what it picks.
    """

    text: str
    words: frozenset[str]
    condition: frozenset[str]
    is_refusal: bool
    is_demand: bool
    is_report: bool
    has_exception: bool
    amounts: tuple[Amount, ...]
    sides: dict[int, int]
    choices: dict[int, frozenset[str]]
    scopes: dict[int, frozenset[str]]
    used: frozenset[str]
    passed_over: frozenset[str]


@lru_cache(maxsize=1024)
def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses that say something, in order, the first MOST_CLAUSES of them.

    The first line is a title where others follow: it counts where it demands something, and not as a mere subject.
    """
    title, body = _title_and_body(text)
    titles = [clause for clause in _split(title) if clause.is_demand]
    return (*_split(body), *titles[:MOST_TITLES])


@lru_cache(maxsize=1024)
def titles_of(text: str) -> tuple[Clause, ...]:
    """The clauses of the title alone, also where it states and demands nothing; not those that tell what happened."""
    return tuple(clause for clause in _split(_title_and_body(text)[0])[:MOST_TITLES] if not clause.is_report)


def _title_and_body(text: str) -> tuple[str, str]:
    folded = unicodedata.normalize("NFKC", text[:LONGEST_READ]).replace("’", "'").strip()
    title, _, body = folded.partition("\n")
    return (title, body) if body.strip() else ("", title)


def scopes_differ(left: str, right: str) -> bool:
    """Whether the texts speak of different surroundings, such as production and tests, as far as both name any."""
    first, second = _picked(SCOPES, left), _picked(SCOPES, right)
    return any(not first[group] & second[group] for group in first.keys() & second.keys())


def _split(text: str) -> list[Clause]:
    """The clauses; a condition in front of a sentence holds for all of its clauses."""
    found = []
    for sentence in _SENTENCES.split(text)[:MOST_CLAUSES]:
        condition, rest = _without_condition(sentence.strip(_AROUND))
        parts = [part.strip(_AROUND)[:LONGEST_CLAUSE] for part in _COMMAS.split(rest)]
        found += [_clause(part, condition=condition) for part in parts if len(part) > 2]
    return found[:MOST_CLAUSES]


def _clause(text: str, *, condition: str) -> Clause:
    rest = NO_REFUSAL.sub(" ", text)
    passed_over = _named_by(_PASSED_OVER, rest)
    rest = _PASSED_OVER.sub(" ", rest) if _USED.search(rest) else rest
    used = _named_by(_USED, rest) - passed_over
    # What is refused twice is demanded; what is left undone and refused, too.
    turns = len(REFUSED.findall(rest)) + len(LEFT_UNDONE.findall(rest))
    is_demand, is_report = bool(DEMANDED.search(rest)), bool(REPORT.search(rest))
    has_exception = bool(EXCEPTION.search(rest))
    for pattern in (EXCEPTION, REFUSED, LEFT_UNDONE, DEMANDED):
        rest = pattern.sub(" ", rest)
    sides, rest = _sides(rest)
    amounts, rest = amounts_in(rest)
    return Clause(
        text=text,
        words=frozenset(telling_words(rest)),
        condition=frozenset(telling_words(condition)),
        is_refusal=turns % 2 == 1,
        is_demand=is_demand or turns > 0,
        is_report=is_report,
        has_exception=has_exception,
        amounts=tuple(amounts),
        sides=sides,
        choices=_picked(CHOICES, rest),
        scopes=_picked(SCOPES, f"{condition} {text}"),
        used=used,
        passed_over=passed_over,
    )


def _without_condition(text: str) -> tuple[str, str]:
    match = _CONDITION.match(text)
    if match is None:
        return "", text
    return match["english"] or match["chinese"], text[match.end() :]


def _named_by(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    return frozenset((match["english"] or match["chinese"]).lower().rstrip(".") for match in pattern.finditer(text))


def _sides(text: str) -> tuple[dict[int, int], str]:
    """Which side of each pair of antonyms the text is on, and the text without the words; both sides are none."""
    sides = {}
    for number, (left, right) in enumerate(ANTONYMS):
        # The longer word may hold the shorter one: 异步 and 同步, "not public" and "public".
        on_right = bool(right.search(text))
        on_left = bool(left.search(right.sub(" ", text)))
        if on_left != on_right:
            sides[number] = 1 if on_right else 0
    for number in sides:
        text = ANTONYMS[number][1].sub(" ", ANTONYMS[number][0].sub(" ", text))
    return sides, text


def _picked(groups: Sequence[dict[str, re.Pattern[str]]], text: str) -> dict[int, frozenset[str]]:
    picked = {
        number: frozenset(name for name, pattern in group.items() if pattern.search(text))
        for number, group in enumerate(groups)
    }
    return {number: names for number, names in picked.items() if names}
