"""Effects: everything that a loop wants from the world, by subject in the modules named here."""

from reflection_app.loops.after_effects import ReadSession, RecordFindings, RecordMemories
from reflection_app.loops.attempt_effects import (
    AnswerFault,
    AwaitAttempt,
    CallTool,
    Generate,
    Generation,
    HandedIn,
    HandedInRepair,
    KeepAttempt,
    Pick,
    RecordPick,
    RecordVerdict,
    RunTests,
)
from reflection_app.loops.completeness_effects import RecordCompleteness, RecordSupplements
from reflection_app.loops.effect import Effect, EffectFailed, EffectTimedOut, Performed, Spent
from reflection_app.loops.lessons import Lesson, Lessons, RecallLessons
from reflection_app.loops.merging import RecordMergeSuggestion
from reflection_app.loops.plan_effects import ChooseLoop, RecordPlan, RecordPlanStep, Route
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
    Decision,
    DirectorsDecision,
    Draw,
    Drawn,
    RequestAudit,
    ReviewDecision,
    ReviewReason,
)
from reflection_app.loops.session_effects import AwaitTurns, RecordReflection, Turn, Turns
from reflection_app.loops.tool_failure_effects import RecallFix, RecordFixOutcome, RecordToolFailure
from reflection_app.loops.waiting_effects import AskPerson, Wait

__all__ = [
    "AnswerFault",
    "AnyEffect",
    "AskPerson",
    "AskReviewer",
    "AwaitAttempt",
    "AwaitTurns",
    "CallTool",
    "ChooseLoop",
    "Decision",
    "DirectorsDecision",
    "Draw",
    "Drawn",
    "Effect",
    "EffectFailed",
    "EffectTimedOut",
    "FindSimilarIssues",
    "Generate",
    "Generation",
    "HandedIn",
    "HandedInRepair",
    "IssueTicket",
    "KeepAttempt",
    "Lesson",
    "Lessons",
    "Lookup",
    "Naming",
    "Noted",
    "Performed",
    "Performing",
    "Pick",
    "ProposeEntry",
    "ProposeInstruction",
    "ReadSession",
    "RecallFix",
    "RecallLessons",
    "RecordCompleteness",
    "RecordFindings",
    "RecordFixOutcome",
    "RecordMemories",
    "RecordMergeSuggestion",
    "RecordPick",
    "RecordPlan",
    "RecordPlanStep",
    "RecordReflection",
    "RecordReport",
    "RecordStage",
    "RecordSupplements",
    "RecordToolFailure",
    "RecordVerdict",
    "RequestAudit",
    "ReviewDecision",
    "ReviewReason",
    "Route",
    "RunTests",
    "Spent",
    "Turn",
    "Turns",
    "Wait",
    "Waiting",
]

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
