"""Effects: everything that a loop wants from the world, by subject in the modules named here."""

from reflection_app.loops.after_effects import ReadSession, RecordFindings, RecordMemories
from reflection_app.loops.attempt_effects import (
    AwaitAttempt,
    CallTool,
    Generate,
    KeepAttempt,
    RecordPick,
    RecordVerdict,
    RunTests,
)
from reflection_app.loops.completeness_effects import RecordCompleteness, RecordSupplements
from reflection_app.loops.lessons import RecallLessons
from reflection_app.loops.merging import RecordMergeSuggestion
from reflection_app.loops.plan_effects import ChooseLoop, RecordPlan, RecordPlanStep
from reflection_app.loops.protocol_effects import (
    FindSimilarIssues,
    IssueTicket,
    ProposeEntry,
    ProposeInstruction,
    RecordReport,
    RecordStage,
)
from reflection_app.loops.review_effects import (
    AskReviewer,
    Draw,
    RequestAudit,
)
from reflection_app.loops.session_effects import AwaitTurns, RecordReflection
from reflection_app.loops.tool_failure_effects import RecallFix, RecordFixOutcome, RecordToolFailure
from reflection_app.loops.waiting_effects import AskPerson, Wait

# Takes time outside of any transaction.
Performing = Generate | RunTests | CallTool | RecallLessons
# Somebody else, or time, brings the result.
Waiting = AskReviewer | AwaitAttempt | AwaitTurns | AskPerson | Wait
# Asks the desk's own memory.
Lookup = FindSimilarIssues | RecallFix | ReadSession
# Gets a name and a time when it is kept.
Naming = IssueTicket | RecordReport
# Is kept as it is; Draw has chance in it.
Noted = (
    RecordVerdict
    | KeepAttempt
    | Draw
    | RequestAudit
    | RecordReflection
    | ChooseLoop
    | RecordPlan
    | RecordPlanStep
    | RecordPick
    | RecordStage
    | ProposeEntry
    | ProposeInstruction
    | RecordToolFailure
    | RecordFixOutcome
    | RecordCompleteness
    | RecordSupplements
    | RecordFindings
    | RecordMemories
    | RecordMergeSuggestion
)
AnyEffect = Performing | Waiting | Lookup | Naming | Noted
