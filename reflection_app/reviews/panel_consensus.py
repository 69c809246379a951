"""What people who judged blindly say together. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from reflection_app.loops.effects import Decision, ReviewDecision
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.verdicts import Issue
from reflection_app.reviews.reviewers_decision import score_within


def consensus(opinions: Sequence[ReviewDecision], *, thresholds: Thresholds) -> ReviewDecision | None:
    """What all opinions come to: their verdict, the median score, every issue once. None where they differ.

    Those who say which attempt to keep agree where they name the same one.
    """
    if len({(opinion.verdict, opinion.picked) for opinion in opinions}) != 1:
        return None
    approved = all(opinion.decision is Decision.APPROVE for opinion in opinions)
    return ReviewDecision(
        decision=Decision.APPROVE if approved else Decision.OVERRULE,
        verdict=opinions[0].verdict,
        score=score_within(opinions[0].verdict, median(opinion.score for opinion in opinions), thresholds),
        issues=each_once(issue for opinion in opinions for issue in opinion.issues),
        reason="\n\n".join(f"{opinion.reviewer}: {opinion.reason}" for opinion in opinions if opinion.reason.strip()),
        reviewer=", ".join(opinion.reviewer for opinion in opinions),
        picked=opinions[0].picked,
    )


def majority(opinions: Sequence[ReviewDecision], *, thresholds: Thresholds) -> ReviewDecision | None:
    """What more than half of the opinions come to; None where there is no such majority."""
    said = Counter((opinion.verdict, opinion.picked) for opinion in opinions)
    if not said:
        return None
    most, times = said.most_common(1)[0]
    if 2 * times <= len(opinions):
        return None
    return consensus([one for one in opinions if (one.verdict, one.picked) == most], thresholds=thresholds)


def each_once(issues: Iterable[Issue]) -> tuple[Issue, ...]:
    """The issues in their order; one that several people name in the same words counts once, as the first names it."""
    found: dict[tuple[str, str, str, str], Issue] = {}
    for issue in issues:
        words = (" ".join(text.casefold().split()) for text in (issue.description, issue.suggested_fix, issue.path))
        description, suggested_fix, path = words
        found.setdefault((issue.category.value, description, suggested_fix, path), issue)
    return tuple(found.values())
