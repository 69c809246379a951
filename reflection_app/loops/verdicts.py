"""Judgements of attempts, and their referees ordered by strength."""

import unicodedata
from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Annotated

from pydantic import Field

from desk_sandbox.code_tests import TestReport
from reflection_app.loops.marks import Mark, with_passage
from reflection_app.loops.regions import Region
from reflection_app.loops.requirements import Lowered, RequirementsReport
from reflection_app.loops.rubrics import Ratings
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value

LONGEST_TEXT = 10_000
Score = Annotated[float, Field(ge=0, le=100)]
Confidence = Annotated[float, Field(ge=0, le=1)]


class Verdict(StrEnum):
    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    REVISE = "REVISE"
    REJECT = "REJECT"


class Referee(IntEnum):
    """Origin of a judgement, weakest first: a real signal outranks a critic, a critic the model's own opinion."""

    SELF = 1
    CRITIC = 2
    GENERATED_TESTS = 3
    TOOL = 4
    TESTS = 5
    PERSON = 6

    @property
    def label(self) -> str:
        return self.name.lower()

    @property
    def is_weak(self) -> bool:
        return self < Referee.TOOL


class IssueCategory(StrEnum):
    COMPLETENESS = "completeness"
    CORRECTNESS = "correctness"
    FORMAT = "format"
    QUALITY = "quality"
    OTHER = "other"


class Severity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Issue(Value):
    """One issue of an attempt, as an evaluator states it. `path` is its place in a JSON answer: `$.items[2].id`."""

    category: IssueCategory = IssueCategory.OTHER
    severity: Severity = Severity.MEDIUM
    description: Text = Field(min_length=1, max_length=LONGEST_TEXT)
    suggested_fix: Text = Field(default="", max_length=LONGEST_TEXT)
    path: Text = Field(default="", max_length=LONGEST_TEXT)
    # Excluded when None, so records from before marks existed read and serialize unchanged.
    mark: Mark | None = Field(
        default=None, exclude_if=lambda mark: mark is None, description="passage that the issue concerns"
    )
    # Excluded for the same reason.
    region: Region | None = Field(
        default=None, exclude_if=lambda region: region is None, description="part of a file that the issue concerns"
    )

    @property
    def in_words(self) -> str:
        """The description, with the marked passage if there is one."""
        return with_passage(self.description, self.mark)


def _plain(text: str) -> str:
    """Return `text` without case, spacing and final full stop. Other characters count: "a > b" is not "a < b"."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split()).rstrip(".。")


def _further(texts: Iterable[str], *, than: Iterable[str]) -> tuple[str, ...]:
    said, further = {_plain(text) for text in than}, []
    for text in texts:
        if _plain(text) not in said:
            further.append(text)
            said.add(_plain(text))
    return tuple(further)


class Feedback(Value):
    strengths: tuple[Text, ...] = ()
    weaknesses: tuple[Text, ...] = ()
    suggestions: tuple[Text, ...] = ()


class Judgement(Value):
    """A referee's verdict on an attempt. `confidence` is None if the referee gave none.

    `requirements` is set if the task has minimum requirements; a PASS requires all of them. `completeness` and
    `correctness` are the critic's parts of the score, if given. `lowered` is the reduced expectation, if the attempt
    was judged by less than the task expects. `ratings` follow the project's rubric.
    """

    attempt: int = Field(ge=1)
    referee: Referee
    verdict: Verdict
    score: Score
    confidence: Confidence | None = None
    issues: tuple[Issue, ...] = ()
    feedback: Feedback = Feedback()
    tests: TestReport | None = None
    requirements: RequirementsReport | None = None
    completeness: Score | None = None
    correctness: Score | None = None
    lowered: Lowered | None = None
    ratings: Ratings = ()

    @property
    def passed_lowered(self) -> bool:
        """True if it passed only because the expectation was lowered."""
        return self.passed and self.lowered is not None

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASS

    @property
    def further_weaknesses(self) -> tuple[str, ...]:
        """Weaknesses that repeat no issue and no earlier weakness."""
        return _further(self.feedback.weaknesses, than=[issue.description for issue in self.issues])

    @property
    def further_suggestions(self) -> tuple[str, ...]:
        """Suggestions that repeat no issue's fix and no earlier suggestion."""
        return _further(self.feedback.suggestions, than=[issue.suggested_fix for issue in self.issues])

    @property
    def is_void(self) -> bool:
        """True if all its tests are broken; it is no verdict then.

        Other test judgements have a confidence above 0.
        """
        return self.referee is Referee.TESTS and self.confidence == 0 and not self.passed

    @property
    def is_by_requirements(self) -> bool:
        """True if only code checked minimum requirements, without any further evaluation."""
        return self.referee is Referee.TESTS and self.tests is None and self.requirements is not None


# Outcomes of a run


class Outcome(StrEnum):
    """Outcome of a run. Only `succeeded` is a success: a person, or a check of the work, passed it.

    `unverified`: there is an answer, but no evaluator that counts has confirmed it.
    """

    SUCCEEDED = "succeeded"
    UNVERIFIED = "unverified"
    EXHAUSTED = "exhausted"
    OVER_BUDGET = "over_budget"
    TIMED_OUT = "timed_out"
    OVER_CORRECTED = "over_corrected"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Ended(Value):
    """Result of a loop: outcome, retained attempt, and the error or the reason for being unverified."""

    outcome: Outcome
    best_attempt: int | None = None
    error: str = ""
