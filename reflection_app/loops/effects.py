"""Effects: everything that a loop wants from the world, by subject in the modules named here."""

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

# Effects of choosing a loop, and of planning.


class Route(Value):
    """Which loop a task got, and why."""

    mode: Mode
    task_kind: str
    why: str = ""


class ChooseLoop(Effect[Route]):
    """Keep which loop the task goes on with."""

    kind = "choose_loop"

    route: Route


class RecordPlan(Effect[CheckedPlan]):
    """Keep a version of a plan with what is wrong with it."""

    kind = "record_plan"

    plan: CheckedPlan


class RecordPlanStep(Effect[PlanStepOutcome]):
    """Keep how a step of a plan ended."""

    kind = "record_plan_step"

    outcome: PlanStepOutcome


# Effects of a loop that follows a session of an agent.


class Turn(Value):
    """One message of a recorded session, in the form of OpenAI's chat messages, as plain text."""

    seq: int = Field(ge=1)
    role: str
    content: Text = ""
    tool_name: Text = ""
    is_tool_failure: bool = False


class Turns(Value):
    turns: tuple[Turn, ...] = ()
    is_end: bool = False


class AwaitTurns(Effect[Turns]):
    """Wait until the session has `count` turns after number `after`, or ends, or (if asked) a tool fails in it."""

    kind = "await_turns"

    after: int = Field(ge=0)
    count: int = Field(ge=1)
    or_tool_failure: bool = False


class RecordReflection(Effect[KeptReflection]):
    """Keep a reflection on a session, or that there is none because the reflector failed."""

    kind = "record_reflection"

    kept: KeptReflection


# Effects of the loops that look back at work which has ended.


class ReadSession(Effect[SessionRead]):
    """Read what is to be looked back at, without what came into it from the notebook.

    `with_known`: with the names of the memories that the notebook holds.
    """

    kind = "read_session"

    with_known: bool = False


class RecordFindings(Effect[ErrorsFound]):
    """Keep the errors that were found, and propose them to the notebook."""

    kind = "record_findings"

    found: ErrorsFound


class RecordMemories(Effect[MemoriesFound]):
    """Keep the memories that were found, and propose them to the notebook."""

    kind = "record_memories"

    found: MemoriesFound


# Effects of the completeness check.


class DrawCheck(Effect[CheckLots]):
    """Draw whether the run is checked. The lots are chance and stand in the journal: a replay checks as before."""

    kind = "draw_check"

    share: Chance


class CompareSupplements(Effect[Likeness]):
    """Tell by meaning what each operation has to do with the words of the task that it quotes, and with each tool."""

    kind = "compare_supplements"

    operations: tuple[Text, ...]
    quotes: tuple[Text, ...]
    tools: tuple[Text, ...]


class EstimateSupplements(Effect[Records]):
    """Read how often the tools of each operation completed a task in this project, and what that cost."""

    kind = "estimate_supplements"

    operations: tuple[Text, ...]
    tools: tuple[tuple[Text, ...], ...]


class RecordCompleteness(Effect[Completeness]):
    """Keep what a completeness check found."""

    kind = "record_completeness"

    found: Completeness


class RecordSupplements(Effect[SupplementsRun]):
    """Keep what became of the supplements, and the statistics of the run."""

    kind = "record_supplements"

    done: SupplementsRun


class RecordSecondLook(Effect[Completeness]):
    """Keep what a second look found at work whose supplements all worked. Nothing that it suggests is carried out."""

    kind = "record_second_look"

    found: Completeness


# Effects of rewind tickets and of the six steps.


class IssueTicket(Effect[Ticket]):
    """Issue a rewind ticket for an attempt that goes back. An older ticket of the run that is open is superseded."""

    kind = "issue_ticket"

    draft: TicketDraft


class RecordStage(Effect[StageRecord]):
    """Keep a step of the protocol, with what it was given and what came of it."""

    kind = "record_stage"

    record: StageRecord


class FindSimilarIssues(Effect[SimilarIssues]):
    """Look for issues like these in the newest reports on the run's agent, and on this run.

    What was `written` for the `task` is read by its meaning: does its author say that something is not known?
    """

    kind = "find_similar_issues"

    attempt: int
    issues: tuple[Issue, ...]
    task: Text = ""
    written: tuple[Text, ...] = ()


class RecordReport(Effect[KeptReport]):
    """Keep an error trace report, or its newer state."""

    kind = "record_report"

    report: Report


class ProposeEntry(Effect[Proposal]):
    """Propose something to the notebook."""

    kind = "propose_entry"

    proposal: Proposal


class ProposeInstruction(Effect[Instruction]):
    """Propose an instruction for the agent's system prompt."""

    kind = "propose_instruction"

    instruction: Instruction


# Effects of the diagnosis of failed calls, and of the fixes that are remembered.


class RecallFix(Effect[FixRecall]):
    """Look for the fix that has worked best on this tool with this signature of an error, `without` these pairs.

    Parameters that worked are remembered for the same failed `params`; for others, what the fix changed. Besides, how
    alike the run's other tools are to this one, and what the `error` means is to be done.
    """

    kind = "recall_fix"

    tool: str
    signature: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    error: Text = ""
    status: int | None = None
    without: tuple[str, ...] = ()


class RecordToolFailure(Effect[DiagnosedFailure]):
    """Keep a failed call with its diagnosis."""

    kind = "record_tool_failure"

    failure: DiagnosedFailure


class RecordFixOutcome(Effect[FixOutcome]):
    """Keep how a fix went; one that worked becomes a fix pair, or counts for the one that was remembered."""

    kind = "record_fix_outcome"

    outcome: FixOutcome


# Takes time outside of any transaction.
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
# Somebody else, or time, brings the result.
Waiting = AskReviewer | AwaitAttempt | AwaitTurns | AskPerson | Wait
# Asks the desk's own memory.
Lookup = FindSimilarIssues | RecallFix | ReadSession
# Gets a name and a time when it is kept.
Naming = IssueTicket | RecordReport
# Is kept as it is; Draw and DrawCheck have chance in them.
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
