"""Whether two texts on the same subject say the opposite, and in which phrases. Pure; English and Chinese.

Clauses are compared with clauses: only what is about the same and is said under no different condition can be opposed.
It finds what is said in so many words; a contradiction that takes knowledge of the world is for people to see.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, product

from notebook_app.clauses import Clause, clauses_of, titles_of
from notebook_app.opposed_words import CHOICES

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
