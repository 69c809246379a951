"""Specification of a run: its task and limits, fixed when the run starts.

A run has its own copy, so later changes of project settings never affect it.
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

# Review policy of a project; the first rule that matches a verdict decides whether a review is required.

MOST_RULES = 30
MOST_REVIEWERS = 5
Name = Annotated[Text, Field(min_length=1, max_length=120)]
Names = Annotated[tuple[Name, ...], Field(max_length=50)]


class RuleAction(StrEnum):
    """Action of a rule. WAIT: the run waits for a reviewer. STAND: the verdict is final at once.

    Only the audit may still sample a verdict with STAND.
    """

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
        """Return True if every condition is met. A missing confidence does not count as low."""
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
    """Rules for required reviews, and the share of other verdicts that is audited.

    `audit_share` is drawn from every verdict that no rule made wait, including those with STAND. `unsettled_waits`: if
    the evidence does not settle which attempt to retain, a reviewer picks.
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


# Submitted through endpoints of their own, not as tasks.
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
# Maintenance by the server: not listed among other runs, and never reflected on.
OF_THE_DESK = frozenset({Mode.ERROR_REFLECTION, Mode.MEMORY_REFLECTION, Mode.MERGE_SUGGESTION})


class TaskKind(StrEnum):
    """Kind of a task, used to choose a loop."""

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
    """Limits of a loop. Time is the duration of steps; waiting for people does not count.

    Iterations are attempts (at most MOST_ATTEMPTS) or reflections on a session.
    """

    max_iterations: int = Field(default=3, ge=1, le=MOST_REFLECTIONS)
    token_budget: int = Field(default=10_000, ge=1, le=100_000_000)
    time_budget_s: float = Field(default=30.0, gt=0, le=86_400)
    cost_budget_usd: Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=6)] | None = None


class UsualLimits(Limits):
    """A project's default limits, for tasks that set none."""

    max_iterations: int = Field(default=3, ge=1, le=MOST_ATTEMPTS)


class Thresholds(Value):
    """Scores from which a critic's verdict is PASS or REVISE; below is REJECT."""

    pass_from: Score = 50.0
    revise_from: Score = 30.0

    def verdict_of(self, score: float, *, approved: bool) -> Verdict:
        """Return the verdict for a score. REJECT depends on the score alone; PASS also needs `approved`."""
        if score < self.revise_from:
            return Verdict.REJECT
        return Verdict.PASS if approved and score >= self.pass_from else Verdict.REVISE


class Redo(Value):
    """A person's order to redo another run's work: its answer, its issues, and the instructions."""

    content: Text
    instructions: Text
    issues: tuple[Issue, ...] = ()
    by: Text = ""
    attempt: int = Field(default=1, ge=1)
    verdict: Verdict = Verdict.REVISE
    score: Score = 0


class TaskSpec(Value):
    """Everything a loop may know about its task.

    `phase` is the pipeline's name for its current stage. `instructions` were accepted by members for this agent,
    `hints` are notes of its earlier runs for a better start.

    `has_history_files`: files were submitted with a history to check. `lessons` is None if the run uses no lessons.
    `knowledge_tool` is asked for knowledge that the agent lacks. `completeness` is None if nothing is checked;
    `completeness_from` is the level that set it. `rubric` is used for ratings by critics and reviewers, or None.

    `tool_rules` map tool names to rules for calls without review. They are None in runs that started before calls were
    gated, so that their journals replay. `calls_made` are the calls of the runs that this one redoes.
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
        """True if a reviewer must decide the run's outcome, regardless of the policy."""
        return self.review is ReviewDemand.REQUIRED

    def gate(self) -> CallGate | None:
        """Return the gate for tool calls, or None in a run that started before the gate existed."""
        if self.tool_rules is None:
            return None
        # In a redo ordered by a reviewer, the task's own call was the mistake, so it is no ground anymore.
        submitted = self.tool_call if self.redo is None else None
        words = self.objective if self.redo is None else f"{self.objective}\n\n{self.redo.instructions}"
        return CallGate(objective=words, rules=self.tool_rules, submitted=submitted, made=list(self.calls_made))
