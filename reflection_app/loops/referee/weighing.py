"""The referee where only tests that a model wrote judge code: which attempt to keep, how sure that is, what next.

The first answer is kept unless the task's own examples, or its not running at all, speak against it. The confidences
order the queue of the people. They are the shares of right first answers on recorded runs of one model, counted by
problem, with PRIOR_PROBLEMS imaginary ones of which half are right, in steps of 0.05; `manage.py replay_traces` tells
them. Those marked as judgements were not recorded often enough, or not at all.
"""

from collections.abc import Sequence
from enum import Enum

from reflection_app.loops.code_tests import TestReport
from reflection_app.loops.referee.answers import (
    Answers,
    Ending,
    Unreadable,
    are_restated,
    not_passed,
    read_answers,
    read_value,
)
from reflection_app.loops.referee.suspect_tests import SuspectTests
from reflection_app.loops.values import Value

# Two attempts side by side: what the later one changed, and whether it takes the place of the earlier one.


def changes_nothing(old: Answers, new: Answers) -> bool:
    """Whether both answer the same on every input; a rewrite that does stands by what was answered before."""
    return all(a.is_same_as(b) for a, b in zip(old.all_answers(), new.all_answers(), strict=True))


def only_restates(old: Answers, new: Answers) -> bool:
    """Whether the new answers are the old ones in another form."""
    changed = [(a, b) for a, b in zip(old.all_answers(), new.all_answers(), strict=True) if not a.is_same_as(b)]
    if any(Ending.NO_ANSWER in {a.ending, b.ending} for a, b in changed):
        return False
    try:
        # An answer that agrees with its test is what the other one's test report expected.
        return are_restated(
            [(read_value(a.value or b.expected), read_value(b.value or a.expected)) for a, b in changed]
        )
    except Unreadable:
        return False


def takes_the_place(new: Answers, old: Answers) -> bool:
    """Whether `new` is kept instead of `old`: it holds more of the task's own examples, or `old` never answered.

    Tests that a model wrote have no say here. On recorded runs a rewrite with most of them behind it was right no more
    often than the first answer, which most of them were against.
    """
    if new.examples_held != old.examples_held:
        return new.examples_held > old.examples_held
    return not old.is_answering and new.is_answering


SETTLED_FROM = 0.8
MOST_NAMED = 5


class Tried(Value):
    """An attempt and what the suspect tests' script showed of it."""

    number: int
    report: TestReport


class Basis(Enum):
    """On what the pick rests: the confidence that it is right, and the words for it.

    What a rewrite did after most tests failed is of two kinds: it went nowhere else, or it leaves the question open.
    """

    # A judgement: the examples stand in the task, and hold for all of 100 recorded right answers to other tasks.
    EXAMPLES = 0.85, "All examples of the task hold, and the model's own tests do not speak against it."
    MOST_TESTS = 0.85, "Most tests that the model wrote pass."
    STOOD_BY = 0.65, "Most tests that the model wrote fail; it saw that, and came back with the same answers."
    RESTATED = 0.65, "The rewrite gives the same answers in another form; which form is meant, the tests cannot settle."
    WORSE = 0.65, "Most tests that the model wrote fail, but the rewrite does worse still."
    ALONE = 0.55, "Most tests that the model wrote fail, and there is no other answer to compare with."
    NO_EVIDENCE = 0.5, "No test that the model wrote can be used."  # a judgement
    FIRST_TO_RUN = 0.5, "No attempt before it gave any answer at all; this one does."  # a judgement: none was recorded
    OPEN = 0.35, "Most tests that the model wrote fail, and the rewrite answers otherwise; which is right is open."
    AGAINST_EXAMPLE = 0.3, "It fails an example that the task itself gives."  # a judgement
    DOES_NOT_RUN = 0.05, "It gives no answer on any test."  # a judgement

    @property
    def confidence(self) -> float:
        return self.value[0]

    @property
    def words(self) -> str:
        return self.value[1]


class Standing(Value):
    """What the evidence so far says. `reasons` are for people; `scores` are shares of the counted tests, 0-100.

    `against` are the tests that the kept attempt does not pass and that nothing shows to be wrong.
    """

    keep: int
    settled: bool
    confidence: float
    try_again: bool
    reasons: tuple[str, ...]
    scores: dict[int, float]
    against: tuple[str, ...] = ()


def weigh(tried: Sequence[Tried], *, suspects: SuspectTests) -> Standing:
    """The standing after the attempts made so far, of which there is at least one, in their order."""
    reports = {each.number: each.report for each in tried}
    attempts = read_answers(
        reports, examples=suspects.examples, entry_point=suspects.entry_point, annotation=suspects.annotation
    )
    kept = attempts[0]
    for attempt in attempts:
        if takes_the_place(attempt, kept):
            kept = attempt
    basis = basis_of(kept, attempts)
    against = not_passed(
        reports[kept.number],
        examples=suspects.examples,
        entry_point=suspects.entry_point,
        annotation=suspects.annotation,
    )
    others = [each for each in attempts if each is not kept]
    return Standing(
        keep=kept.number,
        settled=basis.confidence >= SETTLED_FROM,
        confidence=basis.confidence,
        try_again=is_worth_another(kept, attempts),
        reasons=(basis.words, *counts_in_words(kept, others, against)),
        scores={each.number: score_of(each) for each in attempts},
        against=against,
    )


def basis_of(kept: Answers, attempts: list[Answers]) -> Basis:
    """On what keeping it rests: with several rivals, on the weakest of what is said against them."""
    if kept.examples_held < len(kept.examples):
        return Basis.AGAINST_EXAMPLE
    if kept.examples and not kept.has_most_against:
        return Basis.EXAMPLES
    if not kept.total or not kept.is_answering:
        return Basis.DOES_NOT_RUN if kept.total else Basis.NO_EVIDENCE
    if kept is not attempts[0] and not attempts[0].is_answering:
        return Basis.FIRST_TO_RUN
    if not kept.has_most_against:
        return Basis.MOST_TESTS
    against = [basis_against(rival, kept) for rival in attempts if rival is not kept]
    return min(against, key=lambda basis: basis.confidence, default=Basis.ALONE)


def basis_against(rival: Answers, kept: Answers) -> Basis:
    if changes_nothing(kept, rival):
        return Basis.STOOD_BY
    if only_restates(kept, rival):
        return Basis.RESTATED
    return Basis.WORSE if progress_of(rival) < progress_of(kept) else Basis.OPEN


def is_worth_another(kept: Answers, attempts: list[Answers]) -> bool:
    """Whether another attempt may change the pick.

    It may when the kept one fails an example of the task or every attempt most of the tests, and the last rewrite, if
    there was one, got further than all before it: rewrites that do not are known to go round in circles. Nor does
    another help where the question is only the form of the answers.
    """
    fails_example = kept.examples_held < len(kept.examples)
    *earlier, last = attempts
    return (fails_example or all(each.has_most_against for each in attempts)) and all(
        progress_of(last) > progress_of(other) and not only_restates(other, last) for other in earlier
    )


def progress_of(attempt: Answers) -> tuple[int, int, int]:
    return attempt.examples_held, attempt.passed, attempt.answered


def score_of(attempt: Answers) -> float:
    """The share of examples and counted tests that hold, 0-100; 0 where there are none."""
    total = attempt.total + len(attempt.examples)
    return round(100 * (attempt.passed + attempt.examples_held) / total, 2) if total else 0.0


def counts_in_words(kept: Answers, others: list[Answers], against: Sequence[str]) -> list[str]:
    """How many examples and tests hold, and which tests do not though nothing shows that they are wrong."""
    words = []
    if kept.examples:
        words.append(f"{kept.examples_held} of {len(kept.examples)} examples of the task hold.")
    if kept.total:
        words.append(f"{kept.passed} of {kept.total} tests that the model wrote pass.")
    outvoted = sum(
        answer.ending is Ending.DIFFERS and all(answer.is_same_as(other.tests[key]) for other in others)
        for key, answer in kept.tests.items()
    )
    if outvoted and others:
        words.append(f"On {outvoted} of the others all attempts agree with each other, against the test.")
    if against:
        named = "; ".join(against[:MOST_NAMED])
        more = f"; and {len(against) - MOST_NAMED} more" if len(against) > MOST_NAMED else ""
        words.append(f"It does not pass these tests, and nothing shows that they are wrong: {named}{more}.")
    return words
