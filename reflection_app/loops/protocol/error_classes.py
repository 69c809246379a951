"""The five classes of errors and the facts that tell them apart."""

from enum import StrEnum

from pydantic import Field

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import IssueCategory, Score


class ErrorClass(StrEnum):
    """The codes of the design seed, which reports carry."""

    MODEL_CAPABILITY = "3.3.1"
    DECISION_ERROR = "3.3.2"
    PIPELINE_CRASH = "3.3.3"
    MISSING_KNOWLEDGE = "3.3.4"
    NORMAL_ITERATION = "3.3.5"


class SimilarIssue(Value):
    """An issue of an earlier report on the same agent that is like one of now; `similarity` is 0–1."""

    reflection_id: str = ""
    category: IssueCategory
    description: Text
    now: Text
    similarity: float = Field(ge=0, le=1)


class SimilarIssues(Value):
    """What was found among the last `looked_at` reports on the agent."""

    looked_at: int = 0
    found: tuple[SimilarIssue, ...] = ()


class FailureFacts(Value):
    """What is known of an attempt that fell short. The class follows from this alone.

    `quote` are the words in which the agent said that it does not know; `interruption` says what broke off and where.
    """

    is_completed: bool
    why_completed: Text = ""
    is_interrupted: bool = False
    interruption: Text = ""
    broken_phase: Text = ""
    said_unknown: bool = False
    quote: Text = ""
    is_repeated: bool = False
    similar: SimilarIssues = SimilarIssues()
    score: Score = 0
