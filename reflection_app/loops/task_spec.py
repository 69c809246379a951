"""What a run is asked to do and within which bounds, fixed when the run begins.

A run keeps its own copy: a change of the project's settings never changes a run that is under way.
"""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from desk_sandbox.code_tests import CodeTests
from reflection_app.loops.completeness.checks import CompletenessSettings, HistoryStep, SettingsFrom
from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.merging import EntryToMerge
from reflection_app.loops.project_settings import LessonSettings
from reflection_app.loops.requirements import Requirements
from reflection_app.loops.rubrics import Rubric
from reflection_app.loops.storable import Text
from reflection_app.loops.tool_calls import ToolCall, ToolSpec
from reflection_app.loops.tool_permission import CallGate, ToolRule
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Confidence, Issue, Judgement, Score, Verdict

# The review policy of a project: rules; the first that fits a verdict says whether a person is asked.

MOST_RULES = 30
MOST_REVIEWERS = 5
Name = Annotated[Text, Field(min_length=1, max_length=120)]
Names = Annotated[tuple[Name, ...], Field(max_length=50)]


class RuleAction(StrEnum):
    """WAIT: the run waits for a reviewer. STAND: the verdict is final at once; only the audit may still sample it."""

    WAIT = "wait"
    STAND = "stand"


class ReviewRule(Value):
    """Matches a verdict that meets every given condition; an empty value or None is no condition.

    A random `share` of the matches is selected; the rest goes on to the next rule. `reviewers` is the number of people
    who judge it blindly.
    """

    name: Text = Field(default="", max_length=80)
    action: RuleAction = RuleAction.WAIT
    verdicts: tuple[Verdict, ...] = Field(default=(), max_length=3)
    score_from: Score | None = None
    score_below: Score | None = None
    confidence_below: Confidence | None = None
    kinds: Names = ()
    agents: Names = ()
    cost_from_usd: Annotated[Decimal, Field(ge=0, max_digits=12, decimal_places=6)] | None = None
    share: float = Field(default=1.0, gt=0, le=1)
    reviewers: int = Field(default=1, ge=1, le=MOST_REVIEWERS)

    def fits(self, judgement: Judgement, *, kind: str = "", agent: str = "", cost_usd: Decimal = Decimal(0)) -> bool:
        """Whether every condition holds. A critic that gave no confidence is not taken for an unsure one."""
        confidence = judgement.confidence
        return (
            (not self.verdicts or judgement.verdict in self.verdicts)
            and (self.score_from is None or judgement.score >= self.score_from)
            and (self.score_below is None or judgement.score < self.score_below)
            and (self.confidence_below is None or (confidence is not None and confidence < self.confidence_below))
            and (not self.kinds or kind in self.kinds)
            and (not self.agents or agent in self.agents)
            and (self.cost_from_usd is None or cost_usd >= self.cost_from_usd)
        )


EVERY_REJECT = ReviewRule(verdicts=(Verdict.REJECT,))
UNSURE = ReviewRule(verdicts=(Verdict.PASS, Verdict.REVISE), confidence_below=0.6)


class ReviewPolicy(Value):
    """Which verdicts wait for a person, and what share of all others is looked at without waiting.

    `audit_share` is drawn from every verdict that no rule made wait, those that a rule let stand among them.
    `unsettled_waits`: where the evidence does not settle which attempt to keep, a person picks.
    """

    rules: tuple[ReviewRule, ...] = Field(default=(EVERY_REJECT, UNSURE), max_length=MOST_RULES)
    unsettled_waits: bool = True
    audit_share: float = Field(default=0.1, ge=0, le=1)
    audit_reviewers: int = Field(default=1, ge=1, le=MOST_REVIEWERS)


class Mode(StrEnum):
    """Type of loop. `adaptive` lets the task decide."""

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


class ModelRole(StrEnum):
    """Role of a model in a run. A task may choose the model for each role."""

    ACTOR = "actor"
    CRITIC = "critic"
    SELF = "self"
    REFLECTOR = "reflector"
    CLASSIFIER = "classifier"
    TESTER = "tester"
    PLANNER = "planner"
    DIAGNOSER = "diagnoser"
    COMPLETENESS = "completeness"
    ESCALATION = "escalation"
    VISION = "vision"


class ReviewDemand(StrEnum):
    """Source of the review requirement: the project's policy, or the task, which always requires a review."""

    POLICY = "policy"
    REQUIRED = "required"


class Execution(StrEnum):
    """Source of the attempts: the server's models, or an external agent."""

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

    def verdict_of(self, score: float, *, approved: bool) -> Verdict:
        """What follows from a score; REJECT from it alone, PASS only of what is `approved`."""
        if score < self.revise_from:
            return Verdict.REJECT
        return Verdict.PASS if approved and score >= self.pass_from else Verdict.REVISE


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
    `has_history_files`: files came with a history that is to be checked.
    `lessons` is None where the run is told nothing of the notebook.
    `knowledge_tool` is asked for knowledge that the agent lacks. `completeness` is None where nothing is checked;
    `completeness_from` says who set it. `rubric` is what critics and people rate attempts by, None where there is none.
    `tool_rules` say by name which tools may be called without asking. They are None in runs that began before calls
    were gated, so that their journals replay. `calls_made` are those of the runs that this one does again.
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
    tool_rules: dict[str, ToolRule] | None = None
    calls_made: tuple[ToolCall, ...] = ()
    file_names: tuple[str, ...] = ()
    has_history_files: bool = False
    chain_of_thought: bool = False
    inline_every_turns: int = Field(default=5, ge=1, le=100)
    has_critic: bool = True
    has_escalation: bool = False
    has_vision: bool = False
    knowledge_tool: ToolSpec | None = None
    completeness: CompletenessSettings | None = None
    completeness_from: SettingsFrom | None = None
    failed_call: FailedCall | None = None
    lessons: LessonSettings | None = None
    injects_rules: bool = False
    to_merge: tuple[EntryToMerge, ...] = ()
    history: tuple[HistoryStep, ...] = ()
    limits: Limits = Limits()
    thresholds: Thresholds = Thresholds()
    review_policy: ReviewPolicy = ReviewPolicy()
    review: ReviewDemand = ReviewDemand.POLICY
    rubric: Rubric | None = None
    models: dict[str, str] = Field(default_factory=dict, description="model names by role, over the settings' own")
    chosen_models: dict[str, str] = Field(default_factory=dict, description="those of them that a fork chose")

    @property
    def requires_review(self) -> bool:
        """True if a reviewer decides how the run ends, even where the policy asks for none."""
        return self.review is ReviewDemand.REQUIRED

    def gate(self) -> CallGate | None:
        """What decides about the run's calls; None in a run that began before there was a gate."""
        if self.tool_rules is None:
            return None
        # Done again by a reviewer's order, the task's own call is what was wrong: it is no longer a reason.
        submitted = self.tool_call if self.redo is None else None
        words = self.objective if self.redo is None else f"{self.objective}\n\n{self.redo.instructions}"
        return CallGate(objective=words, rules=self.tool_rules, submitted=submitted, made=list(self.calls_made))
