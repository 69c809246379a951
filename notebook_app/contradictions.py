"""Whether two texts on the same subject say the opposite, and in which phrases. Pure; English and Chinese.

Clauses are compared with clauses: only what is about the same and is said under no different condition can be opposed.
It finds what is said in so many words; a contradiction that takes knowledge of the world is for people to see.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, pairwise, product

from notebook_app.kinds import CJK
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
    Amount,
    amounts_in,
)

# How alike two texts are in words. Pure; Chinese and English alike.
#
# English is compared by the stems of its telling words, Chinese, written without spaces, by pairs of characters.
# Numbers count: two rules may differ in nothing else.

LONGEST_READ = 6_000
MOST_TOLD = 8
_PART = re.compile(rf"[{CJK}]+|[^\W\d_{CJK}]+|\d+(?:\.\d+)*")
# Says nothing of what a text is about.
_USUAL = frozenset(
    "a an and any are as at be been being but by can could did do does doing each even ever every for from get gets "  # noqa: SIM905
    "given had has have having he her here his how i if in instead into is it its itself just let like make many may "
    "might more most must need needs of off on once one only or other our out over own per please rather same shall "
    "she should since so some such than that the their them then there these they this those through to too until up "
    "upon use used uses using very via was were what when where which while who whom whose why will with would yet "
    "you your always never not no avoid ensure sure dont cannot before after agent agents".split()
)
# As frequent as the English ones, in pairs of characters.
_USUAL_PAIRS = frozenset(
    "这个 那个 一个 我们 你们 他们 以及 或者 并且 因为 所以 如果 时候 应该 必须 需要 可以 不要 不能 不得".split()  # noqa: SIM905
)
_SINGLE = frozenset("的了在是和与也都就被把将会要请")
_DOUBLED = re.compile(r"([bdfgmnprt])\1$")


@dataclass(frozen=True)
class Alike:
    """From 0 to 1: `overlap` of all telling words of both (Dice), `containment` of the shorter in the longer."""

    overlap: float
    containment: float
    shared: int
    words: tuple[str, ...]


def alike(left: str, right: str) -> Alike:
    """How much of their telling words the texts share, and the words, the longest first."""
    first, second = telling_words(left), telling_words(right)
    shared = first.keys() & second.keys()
    if not shared:
        return Alike(0.0, 0.0, 0, ())
    told = sorted(shared, key=lambda stem: (-len(first[stem]), stem))[:MOST_TOLD]
    return Alike(
        overlap=2 * len(shared) / (len(first) + len(second)),
        containment=len(shared) / min(len(first), len(second)),
        shared=len(shared),
        words=tuple(first[stem] for stem in told),
    )


@lru_cache(maxsize=4096)
def telling_words(text: str) -> dict[str, str]:
    """The telling words by their stems, in order. Not to be changed: it is handed out again."""
    found: dict[str, str] = {}
    for part in _PART.findall(unicodedata.normalize("NFKC", text[:LONGEST_READ]).casefold()):
        if part[0] > "\u3000":
            found.update((pair, pair) for pair in _pairs(part))
        elif part not in _USUAL and (len(part) > 1 or part.isdigit()):
            found.setdefault(stem_of(part), part)
    return found


def _pairs(run: str) -> list[str]:
    """The pairs of characters of a run of Chinese that tell something; a lone character is kept as it is."""
    if len(run) == 1:
        return [] if run in _SINGLE else [run]
    pairs = map("".join, pairwise(run))
    return [pair for pair in pairs if pair not in _USUAL_PAIRS and not _SINGLE.intersection(pair)]


def stem_of(word: str) -> str:
    """What is left of an English word without its usual endings: the same for most forms of a verb or a noun."""
    if not word.isascii() or len(word) <= 3:
        return word
    if word.endswith(("ies", "ied")):
        return f"{word[:-3]}y"
    ending = next((one for one in ("ing", "ed", "es", "s") if word.endswith(one) and len(word) - len(one) >= 3), "")
    if word.endswith("ss"):
        ending = ""
    stem = word.removesuffix(ending)
    if ending in {"ing", "ed"}:
        stem = _DOUBLED.sub(r"\1", stem)
    return stem.removesuffix("e") if len(stem) > 3 else stem


# A text in clauses, each with what it demands or refuses, of what, how much and by which means. Pure.

MOST_CLAUSES = 40
MOST_TITLES = 3
LONGEST_CLAUSE = 300
_SENTENCES = re.compile(
    r"(?<=[a-zA-Z0-9\u4e00-\u9fff)\"'`])[.](?=\s|$)|[!?;。！？；\n]+",
)
# A comma ends a clause where an order or a refusal of its own follows.
_COMMAS = re.compile(
    r"[,:]\s*+(?=(?:(?:but|and|or)\s*+)?(?:never|always|do not|don't|not|avoid|use|prefer|keep|write|ask|call|run|check|"
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
        text = sentence.strip(_AROUND)
        match = _CONDITION.match(text)
        condition = (match["english"] or match["chinese"]) if match else ""
        rest = text[match.end() :] if match else text
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
    # On which side of each pair of antonyms it is; both sides are none.
    sides = {}
    for number, (left, right) in enumerate(ANTONYMS):
        # The longer word may hold the shorter one: 异步 and 同步, "not public" and "public".
        on_right = bool(right.search(rest))
        on_left = bool(left.search(right.sub(" ", rest)))
        if on_left != on_right:
            sides[number] = 1 if on_right else 0
    for number in sides:
        rest = ANTONYMS[number][1].sub(" ", ANTONYMS[number][0].sub(" ", rest))
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


def _named_by(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    return frozenset((match["english"] or match["chinese"]).lower().rstrip(".") for match in pattern.finditer(text))


def _picked(groups: Sequence[dict[str, re.Pattern[str]]], text: str) -> dict[int, frozenset[str]]:
    picked = {
        number: frozenset(name for name, pattern in group.items() if pattern.search(text))
        for number, group in enumerate(groups)
    }
    return {number: names for number, names in picked.items() if names}


# How much of the words of two clauses has to be shared for them to be about the same, measured on labelled pairs.
SAME_SUBJECT = 0.66
SAME_BUT_FOR_MEANS = 0.8
SAME_CONDITION = 0.5
MOST_FOUND = 5


class Opposition(StrEnum):
    """What two phrases are opposed in."""

    DEMAND = "demand"
    SIDE = "side"
    AMOUNT = "amount"
    CHOICE = "choice"
    MEANS = "means"


@dataclass(frozen=True)
class Opposed:
    """Two phrases that cannot both be followed, as they stand in the texts."""

    kind: Opposition
    left: str
    right: str


def contradictions(left: str, right: str) -> tuple[Opposed, ...]:
    """The opposed phrases of the two texts, each once and at most MOST_FOUND; none where both can be followed.

    A title that merely states, as “The customer chooses”, is opposed by a title alone, as “The customer never chooses”.
    """
    found: list[Opposed] = []
    taken: set[str] = set()
    titles = product(titles_of(left), titles_of(right))
    for one, other in chain(product(clauses_of(left), clauses_of(right)), titles):
        kind = _opposed(one, other) if not {one.text, other.text} & taken else None
        if kind is not None:
            found.append(Opposed(kind, one.text, other.text))
            taken |= {one.text, other.text}
    return tuple(found[:MOST_FOUND])


def _opposed(one: Clause, other: Clause) -> Opposition | None:
    if one.condition and other.condition and _overlap(one.condition, other.condition) < SAME_CONDITION:
        return None
    if any(not one.scopes[group] & other.scopes[group] for group in one.scopes.keys() & other.scopes.keys()):
        return None
    tests: tuple[tuple[Opposition, Callable[[Clause, Clause], bool]], ...] = (
        (Opposition.MEANS, _by_means),
        (Opposition.AMOUNT, _by_amount),
        (Opposition.CHOICE, _by_choice),
        (Opposition.DEMAND, _by_demand),
    )
    kind = next((kind for kind, test in tests if test(one, other)), None)
    return Opposition.SIDE if kind is Opposition.DEMAND and _differing_sides(one, other) else kind


def _by_demand(one: Clause, other: Clause) -> bool:
    """One demands what the other refuses, or they are on two sides of it; both at once is the same again."""
    if one.has_exception or other.has_exception or one.is_report != other.is_report or _picks_another(one, other):
        return False
    sides = _differing_sides(one, other)
    if sides > 1 or one.sides.keys() != other.sides.keys():
        return False
    differs = (one.is_refusal != other.is_refusal) != bool(sides)
    return differs and _about_the_same(one.words, other.words)


def _picks_another(one: Clause, other: Clause) -> bool:
    """Whether they speak of two means, or two choices: to refuse the one and demand the other is no contradiction."""
    means = bool(one.used and other.used and not one.used & other.used)
    return means or any(not one.choices[group] & other.choices[group] for group in one.choices.keys() & other.choices)


def _by_amount(one: Clause, other: Clause) -> bool:
    """They name different amounts of the same thing."""
    if one.is_refusal != other.is_refusal or _differing_sides(one, other):
        return False
    for dimension in {amount.dimension for amount in one.amounts} & {amount.dimension for amount in other.amounts}:
        first, second = _values(one, dimension), _values(other, dimension)
        if not first & second and len(first) == len(second):
            return _about_the_same(one.words, other.words)
    return False


def _values(clause: Clause, dimension: str) -> frozenset[str]:
    return frozenset(amount.value for amount in clause.amounts if amount.dimension == dimension)


def _by_choice(one: Clause, other: Clause) -> bool:
    """They choose two of a group of which one is chosen."""
    if one.is_refusal != other.is_refusal:
        return False
    for group in one.choices.keys() & other.choices.keys():
        if one.choices[group] & other.choices[group] or len(one.choices[group] | other.choices[group]) != 2:
            continue
        first, second = _without_choice(one, group), _without_choice(other, group)
        return _about_the_same(first, second) or not first | second
    return False


def _without_choice(clause: Clause, group: int) -> frozenset[str]:
    patterns = [CHOICES[group][name] for name in clause.choices[group]]
    return frozenset(word for word in clause.words if not any(pattern.search(word) for pattern in patterns))


def _by_means(one: Clause, other: Clause) -> bool:
    """One passes over what the other uses; or they use two things for just the same."""
    if one.is_refusal or other.is_refusal:
        return False
    if (one.used & other.passed_over) or (other.used & one.passed_over):
        return True
    if not one.used or not other.used or one.used & other.used:
        return False
    means = {word for used in one.used | other.used for word in (used, used.removesuffix("s"))}
    first, second = one.words - means, other.words - means
    return bool(first & second) and _overlap(first, second) >= SAME_BUT_FOR_MEANS


def _differing_sides(one: Clause, other: Clause) -> int:
    return sum(one.sides[pair] != other.sides[pair] for pair in one.sides.keys() & other.sides.keys())


def _about_the_same(first: frozenset[str], second: frozenset[str]) -> bool:
    """Two words in common make a subject; one does where there is nothing else."""
    shared = len(first & second)
    if not first and not second:
        return False
    return shared > 0 and (shared > 1 or len(first | second) == 1) and _overlap(first, second) >= SAME_SUBJECT


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0
