"""Pick an attempt, with a confidence, where only tests that a model wrote judge code.

The first attempt is picked unless it fails the task's own examples, or returns no value at all. The confidence
orders the review queue. The figures come from recorded runs: docs/design/generated-tests.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from reflection_app.loops.attempt_effects import Pick
from reflection_app.loops.code_tests import FailureReason, TestReport
from reflection_app.loops.referee.suspect_tests import SuspectTests

SETTLED_FROM = 0.8
MOST_NAMED = 5


class Basis(Enum):
    """Confidence that the picked attempt is right, and the reason shown to reviewers.

    Measured as the share of right first attempts by problem, with 30 imaginary problems of which half are right, in
    steps of 0.05. Those marked as judgments were recorded too rarely, or never.
    """

    # A judgment: all 100 examples found in 35 recorded tasks hold for right answers.
    EXAMPLES = 0.85, "All examples of the task hold, and the model's own tests do not speak against it."
    MOST_TESTS = 0.85, "Most tests that the model wrote pass."
    NO_BETTER = 0.6, "Most tests that the model wrote fail; every rewrite gives the same answers or does worse."
    ALONE = 0.55, "Most tests that the model wrote fail, and there is no other answer to compare with."
    NO_EVIDENCE = 0.5, "No test that the model wrote can be used."  # a judgment
    FIRST_TO_RUN = 0.5, "No attempt before it gave any answer at all; this one does."  # a judgment
    OPEN = 0.4, "Most tests that the model wrote fail, and the rewrite answers otherwise; which is right is open."
    AGAINST_EXAMPLE = 0.3, "It fails an example that the task itself gives."  # a judgment
    DOES_NOT_RUN = 0.05, "It gives no answer on any test."  # a judgment

    @property
    def confidence(self) -> float:
        return self.value[0]

    @property
    def words(self) -> str:
        return self.value[1]


@dataclass(frozen=True)
class Counts:
    """Results of one attempt on the task's examples and on the model's tests that count.

    `answered`: examples and tests on which it returned a value, right or wrong. `shown`: the results to compare.
    """

    number: int
    held: int
    examples: int
    passed: int
    tests: int
    answered: int
    shown: tuple[tuple[bool, str], ...]

    @property
    def fails_example(self) -> bool:
        return self.held < self.examples

    @property
    def fails_most(self) -> bool:
        return 2 * self.passed < self.tests

    @property
    def progress(self) -> tuple[int, int, int]:
        return self.held, self.passed, self.answered

    @property
    def score(self) -> float:
        """Share of examples and tests that pass, 0-100; 0 without any."""
        total = self.examples + self.tests
        return round(100 * (self.held + self.passed) / total, 2) if total else 0.0


def weigh(reports: Mapping[int, TestReport], *, suspects: SuspectTests) -> tuple[Pick, dict[int, float]]:
    """Return the pick, and the scores (0-100) by attempt, from the reports of the attempts so far, in their order."""
    attempts = count(reports, examples=suspects.examples)
    picked = attempts[0]
    for attempt in attempts:
        if replaces(attempt, picked):
            picked = attempt
    basis = basis_of(picked, attempts)
    against = tuple(
        result.name
        for place, result in enumerate(reports[picked.number].results)
        # A failed example already makes the pick unsettled; one that did not run does not.
        if not (result.passed or result.is_broken)
        and (place >= suspects.examples or result.reason is FailureReason.NOT_RUN)
    )
    left_out = (f"Left out: {test}" for test in suspects.left_out)
    pick = Pick(
        attempt=picked.number,
        settled=basis.confidence >= SETTLED_FROM,
        try_again=is_worth_another(picked, attempts),
        confidence=basis.confidence,
        reasons=(basis.words, *describe(picked, against), *left_out),
        against=against,
    )
    return pick, {each.number: each.score for each in attempts}


def count(reports: Mapping[int, TestReport], *, examples: int) -> list[Counts]:
    """Count each attempt's results. The first `examples` results of a report are the task's examples.

    A test counts for all attempts or for none: one that is broken or did not run in some report is left out.
    """
    by_test = enumerate(zip(*(report.results for report in reports.values()), strict=False))
    no_evidence = {FailureReason.NOT_RUN, FailureReason.BROKEN_TEST}
    places = [place for place, results in by_test if no_evidence.isdisjoint(result.reason for result in results)]
    found = []
    for number, report in reports.items():
        held = [report.results[place] for place in places if place < examples]
        passed = [report.results[place] for place in places if place >= examples]
        found.append(
            Counts(
                number=number,
                held=sum(result.passed for result in held),
                examples=len(held),
                passed=sum(result.passed for result in passed),
                tests=len(passed),
                answered=sum(result.passed or result.reason is FailureReason.WRONG_ANSWER for result in held + passed),
                shown=tuple((result.passed, result.actual) for result in held + passed),
            )
        )
    return found


def replaces(new: Counts, old: Counts) -> bool:
    """Return True if `new` passes more of the task's examples, or is the first that returns any value.

    The model's tests do not count here: on recorded runs a rewrite that passes most of them was right no more often
    than the first attempt that fails most of them.
    """
    if new.held != old.held:
        return new.held > old.held
    return not old.answered and new.answered > 0


def basis_of(picked: Counts, attempts: Sequence[Counts]) -> Basis:
    """Return the reason for picking `picked`."""
    if picked.fails_example:
        return Basis.AGAINST_EXAMPLE
    if picked.examples and not picked.fails_most:
        return Basis.EXAMPLES
    if not picked.tests:
        return Basis.NO_EVIDENCE
    if not picked.answered:
        return Basis.DOES_NOT_RUN
    if picked is not attempts[0] and not attempts[0].answered:
        return Basis.FIRST_TO_RUN
    if not picked.fails_most:
        return Basis.MOST_TESTS
    if len(attempts) == 1:
        return Basis.ALONE
    is_open = any(other.progress >= picked.progress and other.shown != picked.shown for other in attempts)
    return Basis.OPEN if is_open else Basis.NO_BETTER


def is_worth_another(picked: Counts, attempts: Sequence[Counts]) -> bool:
    """Return True if another attempt may change the pick.

    `picked` fails an example or all attempts fail most tests, and the last rewrite got further than all before it:
    rewrites that do not get further repeat themselves.
    """
    *earlier, last = attempts
    return (picked.fails_example or all(each.fails_most for each in attempts)) and all(
        last.progress > other.progress for other in earlier
    )


def describe(picked: Counts, against: Sequence[str]) -> list[str]:
    """Return how many examples and tests pass, and the tests that do not."""
    words = []
    if picked.examples:
        words.append(f"{picked.held} of {picked.examples} examples of the task hold.")
    if picked.tests:
        words.append(f"{picked.passed} of {picked.tests} tests that the model wrote pass.")
    if against:
        named = "; ".join(against[:MOST_NAMED])
        more = f"; and {len(against) - MOST_NAMED} more" if len(against) > MOST_NAMED else ""
        words.append(f"It does not pass these tests, and nothing shows that they are wrong: {named}{more}.")
    return words
