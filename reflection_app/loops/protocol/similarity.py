"""Decide whether two issues are the same mistake: by meaning if there are vectors, else by words."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, log

import numpy as np

from judgement.same_mistake import LONGEST, Stated, likeliest, log_odds, needed
from reflection_app.loops.protocol.error_classes import AlikeBy, SimilarIssue, SimilarIssues
from reflection_app.loops.verdicts import Issue

# Embeddings of issues by text, encoded as questions; independent of language.
Vectors = Mapping[str, Sequence[float]]

# By words. A false match blames the model; a missed one costs a lesson.
SIMILAR_FROM = 0.7
# Each current issue is compared with each earlier one. An agent may name fifty, and reports contain hundreds.
MOST_NOW = 20
MOST_OF_A_REPORT = 20
MOST_EARLIER = 400
MOST_FOUND = 20
# One matrix product compares all; this many are then compared in detail.
MOST_WEIGHED = 16

PART = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|\d+|[^\W\d_\u3400-\u9fff\uf900-\ufaff]+")


def similarity(a: str, b: str) -> float:
    """Return the share of common words, 0 to 1: Dice's coefficient over words and Chinese bigrams.

    Numbers are ignored, because a repeated mistake seldom has the same ones.
    """
    return _dice(words_of(a), words_of(b))


def is_same(a: Issue, b: Issue, *, vectors: Vectors | None = None, among: int = 1) -> bool:
    """Return True if two issues of one task are one mistake, given a prior of one match in `among`."""
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
    """Return the issues to compare: the first current ones, and the newest earlier ones.

    Both are limited, the latter also per report.
    """
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
    """Return, for each current issue, the earlier issue of its category that is the same mistake, if any.

    `earlier` pairs each issue with its report's id, newest first. `looked_at` is the number of reports, including those
    without issues. Issues without a vector are compared by words.
    """
    first, known = bounded(now, earlier)
    words = {issue.description: words_of(issue.description) for issue in (*first, *(one for _, one in known))}
    found = []
    for issue in first:
        # An issue that occurs in many reports is compared once, and its newest report is named.
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
    """Return the most likely match and its probability; 0.5 or more counts as the same mistake."""
    one = _stated(text, vectors)
    places = likeliest(one.vector, np.array([vectors[other] for other in others], float), most=MOST_WEIGHED)
    odds = log_odds([(one, _stated(others[place], vectors)) for place in places]) - needed(len(others))
    at = int(odds.argmax())
    return others[places[at]], 1 / (1 + exp(-float(odds[at])))


def _stated(text: str, vectors: Vectors) -> Stated:
    return Stated(text, np.array(vectors[text], float))


def words_of(text: str) -> frozenset[str]:
    """Return the words and pairs of adjacent Chinese characters to compare, without numbers."""
    found: set[str] = set()
    for part in PART.findall(text[:LONGEST].lower()):
        if "\u3400" <= part[0] <= "\uf9ff" and len(part) > 1:
            found |= {one + other for one, other in pairwise(part)}
        elif not part[0].isdigit():
            found.add(part)
    return frozenset(found)


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a & b else 0.0
