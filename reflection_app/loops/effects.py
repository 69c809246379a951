"""All effects: everything a loop requests from outside. The modules imported here group them by subject."""

from pydantic import Field, JsonValue

from reflection_app.loops.after.findings import ErrorsFound, MemoriesFound, SessionRead
from reflection_app.loops.attempt_effects import (
    AskPerson,
    AskReviewer,
    AwaitAttempt,
    CallTool,
    Draw,
    Generate,
    InspectFiles,
    KeepAttempt,
    RecordPermission,
    RecordPick,
    RecordVerdict,
    RequestAudit,
    RunTests,
    Wait,
)
from reflection_app.loops.completeness.checks import Completeness, Likeness, SupplementsRun
from reflection_app.loops.completeness.looked import RenderPages
from reflection_app.loops.completeness.records import Records
from reflection_app.loops.completeness.sampling import Chance, CheckLots
from reflection_app.loops.diagnosis.diagnoses import DiagnosedFailure, FixOutcome, FixRecall
from reflection_app.loops.effect import Effect
from reflection_app.loops.lessons import RecallLessons
from reflection_app.loops.merging import RecordMergeSuggestion
from reflection_app.loops.plans import CheckedPlan, PlanStepOutcome
from reflection_app.loops.protocol.error_classes import SimilarIssues
from reflection_app.loops.protocol.reports import Instruction, KeptReport, Proposal, Report
from reflection_app.loops.protocol.stages import StageRecord
from reflection_app.loops.session_reflections import KeptReflection
from reflection_app.loops.storable import Text
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tickets import Ticket, TicketDraft
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue

# Effects for choosing a loop and for planning


class Route(Value):
    """The loop chosen for a task, and the reason."""

    mode: Mode
    task_kind: str
    why: str = ""


class ChooseLoop(Effect[Route]):
    """Record which loop the task continues with."""

    kind = "choose_loop"

    route: Route


class RecordPlan(Effect[CheckedPlan]):
    """Store a version of a plan with its issues."""

    kind = "record_plan"

    plan: CheckedPlan


class RecordPlanStep(Effect[PlanStepOutcome]):
    """Store the outcome of a plan step."""

    kind = "record_plan_step"

    outcome: PlanStepOutcome


# Effects of the loop that follows an agent's session


class Turn(Value):
    """One message of a recorded session, in OpenAI's chat format, as plain text."""

    seq: int = Field(ge=1)
    role: str
    content: Text = ""
    tool_name: Text = ""
    is_tool_failure: bool = False


class Turns(Value):
    turns: tuple[Turn, ...] = ()
    is_end: bool = False


class AwaitTurns(Effect[Turns]):
    """Wait until the session has `count` turns after number `after`, or ends.

    With `or_tool_failure`, a failed tool call in the session also ends the wait.
    """

    kind = "await_turns"

    after: int = Field(ge=0)
    count: int = Field(ge=1)
    or_tool_failure: bool = False


class RecordReflection(Effect[KeptReflection]):
    """Store a reflection on a session, or the reason why the reflector failed."""

    kind = "record_reflection"

    kept: KeptReflection


# Effects of post-run reflection


class ReadSession(Effect[SessionRead]):
    """Read the finished work, without content that came from the notebook.

    `with_known` adds the names of the notebook's memories.
    """

    kind = "read_session"

    with_known: bool = False


class RecordFindings(Effect[ErrorsFound]):
    """Store the errors that were found, and propose them to the notebook."""

    kind = "record_findings"

    found: ErrorsFound


class RecordMemories(Effect[MemoriesFound]):
    """Store the memories that were found, and propose them to the notebook."""

    kind = "record_memories"

    found: MemoriesFound


# Effects of the completeness check


class DrawCheck(Effect[CheckLots]):
    """Draw whether the run is checked. The draw is stored in the journal, so a replay gives the same result."""

    kind = "draw_check"

    share: Chance


class CompareSupplements(Effect[Likeness]):
    """Compare the meaning of each operation with the task's words that it quotes, and with each tool."""

    kind = "compare_supplements"

    operations: tuple[Text, ...]
    quotes: tuple[Text, ...]
    tools: tuple[Text, ...]


class EstimateSupplements(Effect[Records]):
    """Read how often the tools of each operation completed a task in this project, and at what cost."""

    kind = "estimate_supplements"

    operations: tuple[Text, ...]
    tools: tuple[tuple[Text, ...], ...]


class RecordCompleteness(Effect[Completeness]):
    """Store the result of a completeness check."""

    kind = "record_completeness"

    found: Completeness


class RecordSupplements(Effect[SupplementsRun]):
    """Store the results of the supplements and the statistics of the run."""

    kind = "record_supplements"

    done: SupplementsRun


class RecordSecondLook(Effect[Completeness]):
    """Store the result of the second check, made after all supplements worked. Its suggestions are ignored."""

    kind = "record_second_look"

    found: Completeness


# Effects of rewind tickets and of the protocol's six steps


class IssueTicket(Effect[Ticket]):
    """Issue a rewind ticket for an attempt that is sent back. It supersedes an open ticket of the run."""

    kind = "issue_ticket"

    draft: TicketDraft


class RecordStage(Effect[StageRecord]):
    """Store a step of the protocol with its input and result."""

    kind = "record_stage"

    record: StageRecord


class FindSimilarIssues(Effect[SimilarIssues]):
    """Find similar issues in the newest reports on the run's agent, and in this run.

    A classifier also reads whether the author of the texts in `written`, made for `task`, says that something is
    unknown.
    """

    kind = "find_similar_issues"

    attempt: int
    issues: tuple[Issue, ...]
    task: Text = ""
    written: tuple[Text, ...] = ()


class RecordReport(Effect[KeptReport]):
    """Store an error trace report or its new state."""

    kind = "record_report"

    report: Report


class ProposeEntry(Effect[Proposal]):
    """Propose an entry for the notebook."""

    kind = "propose_entry"

    proposal: Proposal


class ProposeInstruction(Effect[Instruction]):
    """Propose an instruction for the agent's system prompt."""

    kind = "propose_instruction"

    instruction: Instruction


# Effects of failure diagnosis and of remembered fixes


class RecallFix(Effect[FixRecall]):
    """Find the fix that worked best on this tool and error signature, excluding the pairs in `without`.

    For equal failed `params`, the parameters that worked are returned; for others, the changes that the fix made. The
    result also contains the remedy that the meaning of `error` implies.
    """

    kind = "recall_fix"

    tool: str
    signature: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    error: Text = ""
    status: int | None = None
    without: tuple[str, ...] = ()


class RecordToolFailure(Effect[DiagnosedFailure]):
    """Store a failed call with its diagnosis."""

    kind = "record_tool_failure"

    failure: DiagnosedFailure


class RecordFixOutcome(Effect[FixOutcome]):
    """Store the outcome of a fix. A success becomes a fix pair or counts for the remembered one."""

    kind = "record_fix_outcome"

    outcome: FixOutcome


# Take time, outside of any transaction.
Performing = (
    Generate
    | RunTests
    | InspectFiles
    | CallTool
    | RecallLessons
    | CompareSupplements
    | EstimateSupplements
    | RenderPages
)
# Completed by a person, an agent, or the passing of time.
Waiting = AskReviewer | AwaitAttempt | AwaitTurns | AskPerson | Wait
# Read the application's own records.
Lookup = FindSimilarIssues | RecallFix | ReadSession
# Get a name and a time when stored.
Naming = IssueTicket | RecordReport
# Stored as they are; Draw and DrawCheck add a random number.
Noted = (
    RecordVerdict
    | KeepAttempt
    | Draw
    | DrawCheck
    | RequestAudit
    | RecordReflection
    | ChooseLoop
    | RecordPlan
    | RecordPlanStep
    | RecordPick
    | RecordPermission
    | RecordStage
    | ProposeEntry
    | ProposeInstruction
    | RecordToolFailure
    | RecordFixOutcome
    | RecordCompleteness
    | RecordSupplements
    | RecordSecondLook
    | RecordFindings
    | RecordMemories
    | RecordMergeSuggestion
)
AnyEffect = Performing | Waiting | Lookup | Naming | Noted
