"""Whether two issues are the same mistake again, told by their words: one of the facts that errors are classed by."""

import re
from collections import Counter
from collections.abc import Sequence

from reflection_app.loops.protocol.error_classes import SimilarIssue, SimilarIssues
from reflection_app.loops.texts import word_set
from reflection_app.loops.verdicts import Issue

# The best of all thresholds on the labelled pairs of tests/loops/test_similarity.py, a false "again" counted as worse
# than a missed one: it blames the model.
SIMILAR_FROM = 0.6
# An issue's point is made by then; the rest would only cost time.
LONGEST_COMPARED = 1_000
# Each issue of now is compared with each earlier one. An agent may name fifty, and hundreds stand in reports.
MOST_NOW = 20
MOST_OF_A_REPORT = 20
MOST_EARLIER = 400
MOST_FOUND = 20

NUMBER = "#"
CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
PART = re.compile(rf"[{CJK}]+|\d+(?:[.,]\d+)*%?|[^\W\d_{CJK}]+")
CHINESE_NUMBER = re.compile(
    r"[零一二两三四五六七八九十百千万]+(?=[篇个条次本项份张行步处字页家种段节章点位名分秒年月日天])"
)


ENGLISH_NUMBERS = word_set(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen twenty thirty fifty hundred"
)
# Words that issues are made of whatever they are about.
USUAL = word_set(
    "a an the and or but of to in on at by for with from as is are was were be been being has have had do does did it "
    "its this that these those there only just also very so too than then which who whom whose what when where while "
    "into not no none nor least most more less some any all each every both such own same other should must shall will "
    "would can could may might required requirement requirements need needs needed expected instead answer output "
    "result agent task attempt please"
)
USUAL_CHINESE = re.compile(
    r"[的了是在和与及或也都就还而但被把对于有中为]|至少|需要|应该|应当|必须|要求|仅仅|没有|答案|结果|输出|任务"
)
ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "edly", "ed", "ions", "ion", "es", "ly", "s")
SHORTEST_STEM = 3


def similarity(a: str, b: str) -> float:
    """How much of their words two texts share, from 0 to 1: Dice's coefficient over words and Chinese bigrams."""
    return _shared(tokens(a), tokens(b))


def similar_issues(
    now: Sequence[Issue], earlier: Sequence[tuple[str, Issue]], *, looked_at: int | None = None
) -> SimilarIssues:
    """For each issue of now the earlier issue of its category that is most like it, where one is like it at all.

    `earlier` names the report that each issue stood in, newest first; `looked_at` counts reports without issues too.
    """
    taken: Counter[str] = Counter()
    known: list[tuple[str, Issue, frozenset[str]]] = []
    for name, issue in earlier:
        taken[name] += 1
        if taken[name] <= MOST_OF_A_REPORT:
            known.append((name, issue, tokens(issue.description)))
        if len(known) == MOST_EARLIER:
            break
    found = []
    for issue in now[:MOST_NOW]:
        words = tokens(issue.description)
        same_category = [
            (_shared(words, theirs), name, other) for name, other, theirs in known if other.category is issue.category
        ]
        likeness, name, other = max(same_category, key=lambda one: one[0], default=(0.0, "", issue))
        if likeness >= SIMILAR_FROM:
            found.append(
                SimilarIssue(
                    reflection_id=name,
                    category=issue.category,
                    description=other.description,
                    now=issue.description,
                    similarity=round(likeness, 3),
                )
            )
    reports = len({name for name, _ in earlier}) if looked_at is None else looked_at
    likes = sorted(found, key=lambda one: -one.similarity)
    return SimilarIssues(looked_at=reports, found=tuple(likes[:MOST_FOUND]))


def tokens(text: str) -> frozenset[str]:
    """What is compared: stems of words, pairs of neighbouring Chinese characters, and one sign for any number."""
    text = CHINESE_NUMBER.sub(" 0 ", text[:LONGEST_COMPARED].lower())
    found: set[str] = set()
    for part in PART.findall(text):
        if part[0].isdigit() or part in ENGLISH_NUMBERS:
            found.add(NUMBER)
        elif re.match(rf"[{CJK}]", part):
            for piece in filter(None, USUAL_CHINESE.split(part)):
                found |= {piece[at : at + 2] for at in range(len(piece) - 1)} or {piece}
        elif part not in USUAL:
            endings = (one for one in ENDINGS if part.endswith(one) and len(part) - len(one) >= SHORTEST_STEM)
            found.add(part.removesuffix(next(endings, "")))
    return frozenset(found)


def _shared(a: frozenset[str], b: frozenset[str]) -> float:
    # One shared number tells nothing.
    if not (a & b) - {NUMBER}:
        return 0.0
    return 2 * len(a & b) / (len(a) + len(b))
