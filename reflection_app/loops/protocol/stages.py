"""Records of the protocol's six steps: the input and output of each."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts, SimilarIssue
from reflection_app.loops.requirements import Lowered, LoweredRequirement, RequirementsReport
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value


class Explored(Value):
    """1. Explore: a snapshot of the current output."""

    step: Literal["explore"] = "explore"
    characters: int = 0
    excerpt: Text = ""
    artifacts: tuple[Text, ...] = ()
    files: tuple[Text, ...] = ()
    requirements: RequirementsReport | None = None
    earlier_tickets: tuple[str, ...] = ()
    last_good_step: Text = ""


class Reflected(Value):
    """2. Reflect: expected, actual and the gap. `is_fallback`: code wrote it because no answer was usable.

    `same_as` is the run's earlier mistake that the reflector named and quoted, if any. `missing` is what the agent
    itself says it lacks, `missing_quote` the quotation.
    """

    step: Literal["reflect"] = "reflect"
    expected: Text = ""
    actual: Text = ""
    gap: Text = ""
    questions: tuple[Text, ...] = ()
    surface_issue: Text = ""
    occurrence_process: tuple[Text, ...] = ()
    root_cause: Text = ""
    missing: Text = ""
    missing_quote: Text = ""
    is_fallback: bool = False
    same_as: SimilarIssue | None = None


class Classified(Value):
    """3. Classify: the class, the facts it follows from, and the tree's questions with answers."""

    step: Literal["classify"] = "classify"
    type: ErrorClass
    description: Text
    path: tuple[Text, ...] = ()
    facts: FailureFacts


class RepairKind(StrEnum):
    MODEL = "model"
    TOOL = "tool"
    PERSON = "person"


class Effort(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class RepairStep(Value):
    """One repair step: by the model, by a tool of the task, or by asking a reviewer.

    It is completed once the minimum requirements listed in `mends` are met. Older journals hold more fields.
    """

    model_config = ConfigDict(extra="ignore")

    action: Text
    kind: RepairKind = RepairKind.MODEL
    tool: Text = ""
    expected_outcome: Text = ""
    is_checkpoint: bool = False
    mends: tuple[Text, ...] = ()


class AntiPattern(Value):
    pattern_name: Text
    symptoms: tuple[Text, ...] = ()
    prevention: Text = ""


class Planned(Value):
    """4. Plan: the repair steps and what else the error class requires.

    After a repeated mistake, a score from `expected_score` is sufficient for the next attempt, with the requirements in
    `lowered` reduced.
    """

    step: Literal["plan"] = "plan"
    repair_steps: tuple[RepairStep, ...] = ()
    resources_needed: tuple[Text, ...] = ()
    estimated_effort: Effort = Effort.MEDIUM
    remediation: Text = ""
    learning_notes: Text = ""
    anti_pattern: AntiPattern | None = None
    instruction: Text = ""
    hint: Text = ""
    expected_score: float | None = None
    lowered: tuple[LoweredRequirement, ...] = ()
    is_fallback: bool = False

    def expectation(self, *, why: str = "") -> Lowered | None:
        """Return the reduced expectation of the next attempt, or None if nothing was lowered."""
        if self.expected_score is None:
            return None
        return Lowered(score=min(100.0, max(0.0, self.expected_score)), requirements=self.lowered, why=why)


class RepairStatus(StrEnum):
    """Status of a repair step. `written`: text was written, but nothing shows that it fixes anything."""

    PENDING = "pending"
    COMPLETED = "completed"
    WRITTEN = "written"
    FAILED = "failed"
    SKIPPED = "skipped"


class Executed(Value):
    """5. Execute: the result of one repair step, and the reason (`why`) for its status.

    At a checkpoint, `requirements` is the check of the draft.
    """

    step: Literal["execute"] = "execute"
    number: int = Field(ge=1)
    repair: RepairStep
    status: RepairStatus
    output: Text = ""
    error: Text = ""
    why: Text = ""
    requirements: RequirementsReport | None = None


class SubmitStatus(StrEnum):
    READY = "ready_for_re_evaluation"
    AGAIN = "needs_another_iteration"

    @classmethod
    def of(cls, *, is_ready: bool) -> "SubmitStatus":
        return cls.READY if is_ready else cls.AGAIN


class Submitted(Value):
    """6. Submit: the revised output compared with the minimum requirements; unmet ones need another iteration.

    `status` is the seed's value; code uses `ready_for_re_evaluation`.
    """

    step: Literal["submit"] = "submit"
    attempt: int = Field(ge=1)
    requirements: RequirementsReport | None = None
    status: SubmitStatus | None = None
    ready_for_re_evaluation: bool
    remaining_issues: tuple[Text, ...] = ()


Output = Annotated[Explored | Reflected | Classified | Planned | Executed | Submitted, Field(discriminator="step")]


class StageRecord(Value):
    """A step of the protocol for one ticket, on attempt `attempt`."""

    attempt: int = Field(ge=1)
    ticket_id: str
    input: dict[str, JsonValue] = Field(default_factory=dict)
    output: Output
