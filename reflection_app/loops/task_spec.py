"""What a run is asked to do and within which bounds, fixed when the run begins.

A run keeps its own copy: a change of the project's settings never changes a run that is under way.
"""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from reflection_app.loops.code_tests import CodeTests
from reflection_app.loops.completeness.checks import CompletenessSettings, HistoryStep
from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.merging import EntryToMerge
from reflection_app.loops.notebook_settings import LessonSettings
from reflection_app.loops.requirements import Requirements
from reflection_app.loops.review_rules import ReviewPolicy
from reflection_app.loops.storable import Text
from reflection_app.loops.tool_calls import ToolCall, ToolSpec
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue, Score, Verdict


class Mode(StrEnum):
    """Which loop runs. `adaptive` lets the task decide."""

    ADAPTIVE = "adaptive"
    EXTERNAL_LOOP = "external_loop"
    ACTOR_CRITIC = "actor_critic"
    REFLEXION = "reflexion"
    PLANNING = "planning"
    INLINE_REFLECTION = "inline_reflection"
    REFLECTION_PROTOCOL = "reflection_protocol"
    TOOL_DIAGNOSIS = "tool_diagnosis"
    COMPLETENESS_CHECK = "completeness_check"
    ERROR_REFLECTION = "error_reflection"
    MEMORY_REFLECTION = "memory_reflection"
    MERGE_SUGGESTION = "merge_suggestion"


# For what is handed in by calls of its own, not as a task.
NOT_FOR_TASKS = frozenset(
    {
        Mode.INLINE_REFLECTION,
        Mode.TOOL_DIAGNOSIS,
        Mode.COMPLETENESS_CHECK,
        Mode.ERROR_REFLECTION,
        Mode.MEMORY_REFLECTION,
        Mode.MERGE_SUGGESTION,
    }
)
# What the desk does about other work: not among the runs of people and pipelines, and never reflected on itself.
OF_THE_DESK = frozenset({Mode.ERROR_REFLECTION, Mode.MEMORY_REFLECTION, Mode.MERGE_SUGGESTION})


class TaskKind(StrEnum):
    """What a task is about, as far as the choice of a loop depends on it."""

    CODE_GENERATION = "code_generation"
    CREATIVE_WRITING = "creative_writing"
    REASONING = "reasoning"
    OTHER = "other"


class Execution(StrEnum):
    """Who makes the attempts: our models, or the outside agent."""

    MANAGED = "managed"
    EXTERNAL = "external"


MOST_ATTEMPTS = 20
MOST_REFLECTIONS = 2_000


class Limits(Value):
    """Where a loop must stop. Time is the time that steps took; waiting for a person does not count.

    Iterations are attempts, MOST_ATTEMPTS of them at most, or the reflections on a session.
    """

    max_iterations: int = Field(default=3, ge=1, le=MOST_REFLECTIONS)
    token_budget: int = Field(default=10_000, ge=1, le=100_000_000)
    time_budget_s: float = Field(default=30.0, gt=0, le=86_400)
    cost_budget_usd: Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=6)] | None = None


class UsualLimits(Limits):
    """The limits of a project, for tasks that name none of their own."""

    max_iterations: int = Field(default=3, ge=1, le=MOST_ATTEMPTS)


class Thresholds(Value):
    """Scores from which a critic's verdict is PASS or REVISE; below is REJECT."""

    pass_from: Score = 50.0
    revise_from: Score = 30.0


class Redo(Value):
    """A person's order to do again what another run did: its answer, what is wrong with it, what is to be different."""

    content: Text
    instructions: Text
    issues: tuple[Issue, ...] = ()
    by: Text = ""
    attempt: int = Field(default=1, ge=1)
    verdict: Verdict = Verdict.REVISE
    score: Score = 0


class TaskSpec(Value):
    """All that a loop may know of its task.

    `phase` is the pipeline's own name for where it stands; `instructions` are what people accepted for this agent, and
    `hints` what its earlier runs noted for a better start.
    `lessons` is None where the run is told nothing of the notebook.
    `knowledge_tool` is asked for knowledge that the agent lacks. `completeness` is None where nothing is checked.
    """

    objective: str = Field(min_length=1, max_length=200_000)
    mode: Mode
    kind: str = Field(default="", max_length=60)
    agent: str = Field(default="", max_length=120)
    phase: str = Field(default="", max_length=120)
    execution: Execution = Execution.MANAGED
    tests: CodeTests | None = None
    output_schema: dict[str, Any] | None = None
    requirements: Requirements | None = None
    redo: Redo | None = None
    instructions: tuple[Text, ...] = ()
    hints: tuple[Text, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    tool_call: ToolCall | None = None
    file_names: tuple[str, ...] = ()
    chain_of_thought: bool = False
    inline_every_turns: int = Field(default=5, ge=1, le=100)
    has_critic: bool = True
    has_escalation: bool = False
    knowledge_tool: ToolSpec | None = None
    completeness: CompletenessSettings | None = None
    failed_call: FailedCall | None = None
    lessons: LessonSettings | None = None
    to_merge: tuple[EntryToMerge, ...] = ()
    history: tuple[HistoryStep, ...] = ()
    limits: Limits = Limits()
    thresholds: Thresholds = Thresholds()
    review_policy: ReviewPolicy = ReviewPolicy()
    models: dict[str, str] = Field(default_factory=dict, description="model names by role, over the settings' own")
