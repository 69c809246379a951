"""The columns of each data set. docs/reference/datasets.md has them one by one, and a test holds the two together.

Columns may be added within a version. One that goes, or comes to mean another thing, makes a new version of its kind.
"""

from enum import StrEnum
from uuid import UUID

from pydantic import AwareDatetime, Field, JsonValue

from reflection_app.api.reading import Answer
from reflection_app.loops.attempt_effects import Decision, ReviewReason
from reflection_app.loops.rubrics import Rating
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Issue, Outcome
from reflection_app.loops.verdicts import Verdict as VerdictName


class DatasetRow(Answer):
    id: str = Field(description="ID of the row, the same in every read")
    at: AwareDatetime = Field(description="time by which rows are sorted and filtered with `since` and `until`")

    @property
    def told_of(self) -> UUID | None:
        """The run that whoever reads the row learns of."""
        return getattr(self, "run_id", None)


class OfTask(DatasetRow):
    """What rows about one task have in common."""

    run_id: UUID
    task_id: UUID
    external_id: str | None = Field(description="as submitted with the task")
    agent: str = Field(description="agent of the task; empty if none")
    kind: str = Field(description="type of the task")
    mode: Mode = Field(description="loop of the run")
    metadata: dict[str, JsonValue] = Field(description="as submitted with the task")


# Runs: what was asked, what was tried, who judged it how, and what came of it.


class DatasetAttempt(Answer):
    number: int = Field(description="number within the run, from 1")
    content: str
    cut_off: bool = Field(validation_alias="is_cut_off", description="true if the answer was cut off")
    model: str = Field(description="model that made the attempt; empty if unknown")
    inherited: bool = Field(description="true if a fork inherited it from its parent run")
    created_at: AwareDatetime


class DatasetVerdict(Answer):
    attempt: int = Field(description="number of the attempt")
    referee: str = Field(description="`self`, `critic`, `generated_tests`, `tool`, `tests` or `person`, weakest first")
    verdict: VerdictName
    score: float = Field(description="0 to 100")
    confidence: float | None = Field(description="0 to 1; null if the evaluator gave none")
    issues: list[Issue]
    ratings: list[Rating] = Field(description="by the project's rubric; empty if the run began without one")
    created_at: AwareDatetime


class DatasetDecision(Answer):
    review_id: UUID
    attempt: int = Field(description="number of the attempt that was decided on")
    asked_because: ReviewReason
    decision: Decision
    verdict: VerdictName = Field(description="resulting verdict")
    score: float
    issues: list[Issue] = Field(description="as edited by the reviewer")
    ratings: list[Rating] = Field(description="by the project's rubric; empty if the run began without one")
    reason: str
    by: str = Field(description="who decided; a pseudonym if the dataset is anonymous")
    by_key: bool = Field(description="true if an API key decided instead of a person")
    decided_at: AwareDatetime


class DatasetLesson(Answer):
    entry_id: UUID
    version: int
    kind: str
    name: str
    text: str = Field(description="as injected into the prompt; empty if held out")
    withheld: bool = Field(
        validation_alias="is_withheld",
        description="true if held out from the run at random, to measure the effect of lessons",
    )


class RunRow(DatasetRow):
    """One finished run with its attempts, verdicts and decisions. `id` is the run's, `at` when it finished."""

    task_id: UUID
    external_id: str | None = Field(description="as submitted with the task")
    parent_id: UUID | None = Field(description="run that it was forked from, or null")
    agent: str = Field(description="agent of the task; empty if none")
    kind: str = Field(description="type of the task")
    mode: Mode = Field(description="loop of the run")
    metadata: dict[str, JsonValue] = Field(description="as submitted with the task")
    objective: str
    outcome: Outcome
    answer: str | None = Field(description="content of the run's final attempt")
    answer_attempt: int | None = Field(description="number of that attempt")
    answer_score: float | None = Field(description="score of that attempt from its strongest evaluator")
    answer_referee: str | None = Field(description="evaluator that gave the score")
    attempts: list[DatasetAttempt]
    verdicts: list[DatasetVerdict] = Field(description="oldest first")
    decision: DatasetDecision | None = Field(description="latest decision by a person")
    decisions: list[DatasetDecision] = Field(description="all decisions in force, oldest first")
    lessons: list[DatasetLesson] = Field(description="lessons that the notebook had for the run, in order")
    prompt_tokens: int
    completion_tokens: int
    llm_calls: int
    cost_usd: float | None = Field(description="null if the cost of any call is unknown")
    known_cost_usd: float = Field(description="known part of the cost")
    created_at: AwareDatetime

    @property
    def told_of(self) -> UUID:
        return UUID(self.id)


# Preferences: of two answers to one objective, which is better, and who says so.


class PreferenceSource(StrEnum):
    """Source of a preference, strongest first."""

    EDIT = "edit"
    PICK = "pick"
    PAIRWISE = "pairwise"
    PERSON = "person"
    TESTS = "tests"
    TOOL = "tool"
    GENERATED_TESTS = "generated_tests"
    CRITIC = "critic"


class PreferenceRow(DatasetRow):
    """Two attempts at one objective; `id` is the run's and the pair's place in it, `at` when the run finished.

    For a blind comparison, `id` is the judgment's, and `at` when it was submitted.
    """

    run_id: UUID | None = Field(description="run of the chosen attempt; null if a pipeline submitted the pair")
    task_id: UUID | None
    external_id: str | None = Field(description="as submitted with the task")
    agent: str = Field(description="agent of the task; empty if none")
    kind: str = Field(description="type of the task")
    mode: Mode | None = Field(description="loop of the run")
    metadata: dict[str, JsonValue] = Field(description="as submitted with the task")
    source: PreferenceSource = Field(
        description="`edit`: a person rewrote the rejected attempt, in its review or in a fork; `pick`: a person "
        "picked the chosen one instead; `pairwise`: a person preferred it in a blind comparison; "
        "otherwise the evaluator whose verdict on the chosen one decides"
    )
    prompt: str = Field(description="objective of both attempts")
    chosen: str
    rejected: str
    chosen_attempt: int | None
    rejected_attempt: int | None = Field(
        description="number within the same run, unless `rejected_run_id` names another"
    )
    difference: str | None = Field(
        default=None, description="for an `edit`, unified diff of the change; null if too long"
    )
    chosen_score: float | None = Field(description="score from its strongest evaluator")
    rejected_score: float | None
    chosen_referee: str | None
    rejected_referee: str | None
    margin: float | None = Field(
        description="difference of the scores if both are from the same kind of evaluator, otherwise null"
    )
    rejected_run_id: UUID | None = Field(
        default=None, description="run of the rejected attempt, for a blind comparison of two runs"
    )


# What critics said and people then decided.


class CriticRow(OfTask):
    """A critic's verdict and the human decision on it; `id` is the review's, `at` when it was decided."""

    objective: str
    attempt: int
    content: str = Field(description="content of the attempt")
    critic_model: str
    critic_prompt_version: str = Field(
        description="version of the critic's prompts; identical text has the same version"
    )
    critic_verdict: VerdictName
    critic_score: float
    critic_confidence: float | None
    critic_issues: list[Issue]
    human_verdict: VerdictName
    human_score: float
    human_issues: list[Issue] = Field(description="as edited by the reviewer")
    human_reason: str
    overruled: bool = Field(description="true if people changed the verdict, the score or the issues")
    asked_because: ReviewReason
    reviewers: int = Field(description="number of people who judged, blindly if there were several")
    by: str = Field(description="who decided; a pseudonym if the dataset is anonymous")
