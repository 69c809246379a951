"""The referee where only tests that a model wrote judge code: which attempt to keep, how sure that is, what next.

The rule is a vote with a bias for the first answer. It has no fitted weights: every threshold is a majority. The
confidences order the queue of the people. They are rounded shares of right picks on recorded runs of one model, those
that rest on the task's own examples excepted: no recorded run had any, and their places are a judgement.
"""

from collections.abc import Sequence
from enum import Enum

from reflection_app.loops.code_tests import TestReport
from reflection_app.loops.referee.answers import Answers, read_answers
from reflection_app.loops.referee.comparing import changes_nothing, only_restates, outvoted, takes_the_place
from reflection_app.loops.referee.suspect_tests import SuspectTests
from reflection_app.loops.values import Value

SETTLED_FROM = 0.8


class Tried(Value):
    """An attempt and what the suspect tests' script showed of it."""

    number: int
    report: TestReport


class Basis(Enum):
    """On what the pick rests: the confidence that it is right, and the words for it."""

    EXAMPLES = 0.95, "All examples of the task hold, and the model's own tests do not speak against it."
    MOST_TESTS = 0.91, "Most tests that the model wrote pass. Failing a few of them says nothing against an answer."
    STOOD_BY = 0.83, "The model saw that most of its tests fail and came back with the same answers."
    WORSE = 0.75, "Most tests that the model wrote fail, but the rewrite does worse still."
    RESTATED = 0.74, "The rewrite gives the same answers in another form; which form is meant, the tests cannot settle."
    NO_EVIDENCE = 0.7, "No test that the model wrote can be used."
    REPLACED = 0.62, "Most tests spoke against the first answer and for this one."
    ALONE = 0.56, "Most tests that the model wrote fail, and there is no other answer to compare with."
    AGAINST_EXAMPLE = 0.3, "It fails an example that the task itself gives."
    OPEN = 0.25, "Most tests that the model wrote fail, and the rewrite answers otherwise but passes no majority."

    @property
    def confidence(self) -> float:
        return self.value[0]

    @property
    def words(self) -> str:
        return self.value[1]


class Standing(Value):
    """What the evidence so far says. `reasons` are for people; `scores` are shares of the counted tests, 0-100."""

    keep: int
    settled: bool
    confidence: float
    try_again: bool
    reasons: tuple[str, ...]
    scores: dict[int, float]


def weigh(tried: Sequence[Tried], *, suspects: SuspectTests) -> Standing:
    """The standing after the attempts made so far, of which there is at least one, in their order."""
    attempts = read_answers(
        {each.number: each.report for each in tried},
        examples=suspects.examples,
        entry_point=suspects.entry_point,
        annotation=suspects.annotation,
    )
    kept = attempts[0]
    for place, attempt in enumerate(attempts):
        if place and takes_the_place(attempt, kept, before=attempts[:place]):
            kept = attempt
    basis = basis_of(kept, attempts)
    return Standing(
        keep=kept.number,
        settled=basis.confidence >= SETTLED_FROM,
        confidence=basis.confidence,
        try_again=is_worth_another(kept, attempts),
        reasons=(basis.words, *counts_in_words(kept, [each for each in attempts if each is not kept])),
        scores={each.number: score_of(each) for each in attempts},
    )


def basis_of(kept: Answers, attempts: list[Answers]) -> Basis:
    """On what keeping it rests: with several rivals, on the weakest of what is said against them."""
    if kept.examples_held < len(kept.examples):
        return Basis.AGAINST_EXAMPLE
    if kept.examples and not kept.has_most_against:
        return Basis.EXAMPLES
    if kept is not attempts[0]:
        return Basis.REPLACED
    if not kept.total:
        return Basis.NO_EVIDENCE
    if not kept.has_most_against:
        return Basis.MOST_TESTS
    against = [basis_against(rival, kept) for rival in attempts[1:]]
    return min(against, key=lambda basis: basis.confidence, default=Basis.ALONE)


def basis_against(rival: Answers, kept: Answers) -> Basis:
    if changes_nothing(kept, rival):
        return Basis.STOOD_BY
    if only_restates(kept, rival):
        return Basis.RESTATED
    return Basis.WORSE if progress_of(rival) < progress_of(kept) else Basis.OPEN


def is_worth_another(kept: Answers, attempts: list[Answers]) -> bool:
    """Whether another attempt may change the pick.

    It may when the kept one fails an example of the task or most of the tests, and the last rewrite, if there was one,
    got further than all before it: rewrites that do not are known to go round in circles. Nor does another help where
    the question is only the form of the answers.
    """
    in_doubt = kept.examples_held < len(kept.examples) or kept.has_most_against
    *earlier, last = attempts
    return in_doubt and all(
        progress_of(last) > progress_of(other) and not only_restates(other, last) for other in earlier
    )


def progress_of(attempt: Answers) -> tuple[int, int, int]:
    return attempt.examples_held, attempt.passed, attempt.given


def score_of(attempt: Answers) -> float:
    """The share of examples and counted tests that hold, 0-100; 0 where there are none."""
    total = attempt.total + len(attempt.examples)
    return round(100 * (attempt.passed + attempt.examples_held) / total, 2) if total else 0.0


def counts_in_words(kept: Answers, others: list[Answers]) -> list[str]:
    words = []
    if kept.examples:
        words.append(f"{kept.examples_held} of {len(kept.examples)} examples of the task hold.")
    if kept.total:
        words.append(f"{kept.passed} of {kept.total} tests that the model wrote pass.")
    if against := outvoted(kept, others):
        words.append(f"On {against} of the others all attempts agree with each other, against the test.")
    return words
