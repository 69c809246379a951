"""Whether two issues are the same mistake again: by meaning where there are vectors, by their words otherwise."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, log

import numpy as np

from judgement.same_mistake import LONGEST, Stated, likeliest, log_odds, needed
from reflection_app.loops.protocol.error_classes import AlikeBy, SimilarIssue, SimilarIssues
from reflection_app.loops.verdicts import Issue

# The vectors of issues by their text, as of questions: free of the language.
Vectors = Mapping[str, Sequence[float]]

# By words: a false "again" blames the model, a missed one costs a lesson.
SIMILAR_FROM = 0.7
# Each issue of now is compared with each earlier one. An agent may name fifty, and hundreds stand in reports.
MOST_NOW = 20
MOST_OF_A_REPORT = 20
MOST_EARLIER = 400
MOST_FOUND = 20
# All are compared by one product of matrices; so many are looked at closely.
MOST_WEIGHED = 16

PART = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|\d+|[^\W\d_\u3400-\u9fff\uf900-\ufaff]+")


def similarity(a: str, b: str) -> float:
    """How much of their words two texts share, from 0 to 1: Dice's coefficient over words and Chinese bigrams.

    One number is as good as another: the same mistake is seldom made with the same ones.
    """
    return _dice(words_of(a), words_of(b))


def is_same(a: Issue, b: Issue, *, vectors: Vectors | None = None, among: int = 1) -> bool:
    """Whether two issues on one piece of work are one mistake, where one of `among` is as likely to be as not."""
    if a.category is not b.category:
        return False
    likeness = similarity(a.description, b.description)
    if likeness == 1 or not vectors or not {a.description, b.description} <= vectors.keys():
        return likeness >= SIMILAR_FROM
    [odds] = log_odds([(_stated(a.description, vectors), _stated(b.description, vectors))])
    return bool(odds > log(max(1, among)))


def bounded(
    now: Sequence[Issue], earlier: Sequence[tuple[str, Issue]]
) -> tuple[Sequence[Issue], list[tuple[str, Issue]]]:
    """What is compared with what: the first of now, and of earlier ones the newest, not too many of one report."""
    taken: Counter[str] = Counter()
    known: list[tuple[str, Issue]] = []
    categories = {issue.category for issue in now[:MOST_NOW]}
    for name, issue in earlier:
        taken[name] += 1
        if taken[name] <= MOST_OF_A_REPORT and issue.category in categories:
            known.append((name, issue))
    return now[:MOST_NOW], known[:MOST_EARLIER]


def similar_issues(
    now: Sequence[Issue],
    earlier: Sequence[tuple[str, Issue]],
    *,
    looked_at: int | None = None,
    vectors: Vectors | None = None,
) -> SimilarIssues:
    """For each issue of now the earlier issue of its category that is the same mistake, where one is.

    `earlier` names the report that each issue stood in, newest first; `looked_at` counts reports without issues too.
    Issues without a vector are compared by their words alone.
    """
    first, known = bounded(now, earlier)
    words = {issue.description: words_of(issue.description) for issue in (*first, *(one for _, one in known))}
    found = []
    for issue in first:
        # An issue that stands in many reports is one that is compared, and its newest report is named.
        others = {one.description: name for name, one in reversed(known) if one.category is issue.category}
        text = issue.description
        shared = {other: _dice(words[text], words[other]) for other in others}
        best = max(shared, key=lambda other: shared[other], default="")
        by, sure = AlikeBy.WORDS, shared.get(best, 0.0)
        weighed = [other for other in others if other in vectors] if vectors and text in vectors else []
        if vectors and sure < 1 and weighed:
            by = AlikeBy.MEANING
            best, sure = _by_meaning(text, weighed, vectors)
        if sure >= (SIMILAR_FROM if by is AlikeBy.WORDS else 0.5):
            found.append(
                SimilarIssue(
                    reflection_id=others[best],
                    category=issue.category,
                    description=best,
                    now=text,
                    similarity=round(sure, 3),
                    by=by,
                )
            )
    reports = len({name for name, _ in earlier}) if looked_at is None else looked_at
    likes = sorted(found, key=lambda one: -one.similarity)
    return SimilarIssues(looked_at=reports, found=tuple(likes[:MOST_FOUND]))


def _by_meaning(text: str, others: Sequence[str], vectors: Vectors) -> tuple[str, float]:
    """The likeliest of the others, and how likely it is to be the same mistake: from 0.5 it is taken for that."""
    one = _stated(text, vectors)
    places = likeliest(one.vector, np.array([vectors[other] for other in others], float), most=MOST_WEIGHED)
    odds = log_odds([(one, _stated(others[place], vectors)) for place in places]) - needed(len(others))
    at = int(odds.argmax())
    return others[places[at]], 1 / (1 + exp(-float(odds[at])))


def _stated(text: str, vectors: Vectors) -> Stated:
    return Stated(text, np.array(vectors[text], float))


def words_of(text: str) -> frozenset[str]:
    """What is compared: words, pairs of neighbouring Chinese characters; numbers do not count."""
    found: set[str] = set()
    for part in PART.findall(text[:LONGEST].lower()):
        if "\u3400" <= part[0] <= "\uf9ff" and len(part) > 1:
            found |= {one + other for one, other in pairwise(part)}
        elif not part[0].isdigit():
            found.add(part)
    return frozenset(found)


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a & b else 0.0
