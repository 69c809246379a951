"""The six steps as they are recorded: what each was given, and what came of it."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts, SimilarIssue
from reflection_app.loops.requirements import Lowered, LoweredRequirement, RequirementsReport
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value


class Explored(Value):
    """1. Explore: a snapshot of the present outputs."""

    step: Literal["explore"] = "explore"
    characters: int = 0
    excerpt: Text = ""
    artifacts: tuple[Text, ...] = ()
    files: tuple[Text, ...] = ()
    requirements: RequirementsReport | None = None
    earlier_tickets: tuple[str, ...] = ()
    last_good_step: Text = ""


class Reflected(Value):
    """2. Reflect: expected, actual and the gap. `is_fallback` where code wrote it for want of a usable answer.

    `same_as` is the run's earlier mistake that the reflector named and quoted, where it did.
    `missing` is what the agent itself says it lacks, and `missing_quote` its words.
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
    """3. Classify: the class, the facts it follows from, and the questions of the tree with their answers."""

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
    """One thing to do: by the model, by a tool of the task, or by asking a person.

    The minimum requirements that it `mends`, by name, show that it is done. Journals of older versions hold more.
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
    """4. Plan: the repair steps and what else the class of the error asks for.

    Where a mistake came again, a pass from `expected_score` is enough for the next attempt, with less of what `lowered`
    names.
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
        """What is expected of the next attempt instead of the whole; None where nothing was lowered."""
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
    """5. Execute: how one repair step ended, and `why` it counts as that.

    At a checkpoint, `requirements` says how the draft stands.
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
    """6. Submit: the revised output against the minimum requirements; what does not hold goes round again.

    `status` is the seed's word for what code goes by, `ready_for_re_evaluation`.
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
