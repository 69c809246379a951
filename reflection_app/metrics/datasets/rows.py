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
    id: str = Field(description="of the row; the same row has it in every read")
    at: AwareDatetime = Field(description="what rows are ordered by and `since` and `until` are compared with")

    @property
    def told_of(self) -> UUID | None:
        """The run that whoever reads the row learns of."""
        return getattr(self, "run_id", None)


class OfTask(DatasetRow):
    """What rows about one task have in common."""

    run_id: UUID
    task_id: UUID
    external_id: str | None = Field(description="as the task was handed in with")
    agent: str = Field(description="the agent that the task names; empty where it names none")
    kind: str = Field(description="the task's type")
    mode: Mode = Field(description="the loop that the run went through")
    metadata: dict[str, JsonValue] = Field(description="as the task was handed in with")


# Runs: what was asked, what was tried, who judged it how, and what came of it.


class DatasetAttempt(Answer):
    number: int = Field(description="from 1 within the run")
    content: str
    cut_off: bool = Field(
        validation_alias="is_cut_off", description="whether it is the beginning of an answer that never came to its end"
    )
    model: str = Field(description="which model made it; empty where that is not known")
    inherited: bool = Field(description="whether a fork took it over from the run that it was forked from")
    created_at: AwareDatetime


class DatasetVerdict(Answer):
    attempt: int = Field(description="the number of the attempt")
    referee: str = Field(description="`self`, `critic`, `generated_tests`, `tool`, `tests` or `person`, weakest first")
    verdict: VerdictName
    score: float = Field(description="0 to 100")
    confidence: float | None = Field(description="0 to 1, where the referee gave it")
    issues: list[Issue]
    ratings: list[Rating] = Field(description="by the project's rubric; none where the run began without one")
    created_at: AwareDatetime


class DatasetDecision(Answer):
    review_id: UUID
    attempt: int = Field(description="the number of the attempt that the decision is on")
    asked_because: ReviewReason
    decision: Decision
    verdict: VerdictName = Field(description="the verdict that holds since")
    score: float
    issues: list[Issue] = Field(description="as they stand after the person has edited them")
    ratings: list[Rating] = Field(description="by the project's rubric; none where the run began without one")
    reason: str
    by: str = Field(description="who decided; a made-up name where the data set is anonymous")
    by_key: bool = Field(description="whether a key decided, and no person")
    decided_at: AwareDatetime


class DatasetLesson(Answer):
    entry_id: UUID
    version: int
    kind: str
    name: str
    text: str = Field(description="as the run was told it; empty where it was withheld")
    withheld: bool = Field(
        validation_alias="is_withheld", description="whether chance kept it from the run, to measure what lessons do"
    )


class RunRow(DatasetRow):
    """One finished run with all that was said of it; `id` is the run's, `at` when it finished."""

    task_id: UUID
    external_id: str | None = Field(description="as the task was handed in with")
    parent_id: UUID | None = Field(description="the run that it was forked from")
    agent: str = Field(description="the agent that the task names; empty where it names none")
    kind: str = Field(description="the task's type")
    mode: Mode = Field(description="the loop that the run went through")
    metadata: dict[str, JsonValue] = Field(description="as the task was handed in with")
    objective: str
    outcome: Outcome
    answer: str | None = Field(description="the content of the attempt that the run keeps")
    answer_attempt: int | None = Field(description="its number")
    answer_score: float | None = Field(description="its score by the strongest referee that judged it")
    answer_referee: str | None = Field(description="that referee")
    attempts: list[DatasetAttempt]
    verdicts: list[DatasetVerdict] = Field(description="oldest first")
    decision: DatasetDecision | None = Field(description="the newest decision of a person")
    decisions: list[DatasetDecision] = Field(description="all decisions in force, oldest first")
    lessons: list[DatasetLesson] = Field(description="that the notebook had for the run, in their order")
    prompt_tokens: int
    completion_tokens: int
    llm_calls: int
    cost_usd: float | None = Field(description="null where the cost of some call is not known")
    known_cost_usd: float = Field(description="what is known of it")
    created_at: AwareDatetime

    @property
    def told_of(self) -> UUID:
        return UUID(self.id)


# Preferences: of two answers to one objective, which is better, and who says so.


class PreferenceSource(StrEnum):
    """Where a preference is from, strongest first."""

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

    Of a blind comparison `id` is the judgement's, and `at` when it was given.
    """

    run_id: UUID | None = Field(description="of the chosen one; null where a pipeline handed the pair in")
    task_id: UUID | None
    external_id: str | None = Field(description="as the task was handed in with")
    agent: str = Field(description="the agent that the task names; empty where it names none")
    kind: str = Field(description="the task's type")
    mode: Mode | None = Field(description="the loop that the run went through")
    metadata: dict[str, JsonValue] = Field(description="as the task was handed in with")
    source: PreferenceSource = Field(
        description="`edit`: a person rewrote the rejected one, in its review or in a fork; `pick`: a person kept the "
        "chosen one instead; `pairwise`: a person found it better, blindly; else the referee whose word on the chosen "
        "one decides"
    )
    prompt: str = Field(description="the objective")
    chosen: str
    rejected: str
    chosen_attempt: int | None
    rejected_attempt: int | None = Field(description="of the same run, unless `rejected_run_id` names another")
    difference: str | None = Field(
        default=None, description="of an `edit`, what was changed, as a unified diff; null where too long"
    )
    chosen_score: float | None = Field(description="by the strongest referee that judged it")
    rejected_score: float | None
    chosen_referee: str | None
    rejected_referee: str | None
    margin: float | None = Field(description="the difference of the scores, where one kind of referee gave both")
    rejected_run_id: UUID | None = Field(
        default=None, description="of a blind comparison of two runs, that of the rejected one"
    )


# What critics said and people then decided.


class CriticRow(OfTask):
    """A critic's verdict and a person's word on it; `id` is the review's, `at` when it was decided."""

    objective: str
    attempt: int
    content: str = Field(description="of the attempt")
    critic_model: str
    critic_prompt_version: str = Field(description="of the critic's prompts; the same text has the same version")
    critic_verdict: VerdictName
    critic_score: float
    critic_confidence: float | None
    critic_issues: list[Issue]
    human_verdict: VerdictName
    human_score: float
    human_issues: list[Issue] = Field(description="as they stand after the person has edited them")
    human_reason: str
    overruled: bool = Field(description="whether people gave another verdict, or overruled the score or the issues")
    asked_because: ReviewReason
    reviewers: int = Field(description="how many people judged, blind where they were several")
    by: str = Field(description="who decided; a made-up name where the data set is anonymous")
