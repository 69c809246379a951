"""Every effect whose result leaves rows behind is known to whoever commits a step."""

from reflection_app.loops import attempt_effects, effects
from reflection_app.loops.lessons import RecallLessons
from reflection_app.loops.merging import RecordMergeSuggestion
from reflection_app.runs.following import FOLLOWERS, FOR_NOTEBOOK


def test_what_leaves_rows_behind_is_registered_when_django_has_started() -> None:
    assert FOLLOWERS.keys() == {
        attempt_effects.AskPerson,
        attempt_effects.AskReviewer,
        attempt_effects.CallTool,
        attempt_effects.Generate,
        attempt_effects.InspectFiles,
        attempt_effects.KeepAttempt,
        attempt_effects.RecordPermission,
        attempt_effects.RecordPick,
        attempt_effects.RecordVerdict,
        attempt_effects.RequestAudit,
        effects.ChooseLoop,
        effects.IssueTicket,
        effects.ProposeInstruction,
        effects.RecordCompleteness,
        effects.RecordPlan,
        effects.RecordReport,
        effects.RecordSecondLook,
        effects.RecordStage,
        effects.RecordSupplements,
        effects.RecordToolFailure,
        RecallLessons,
        RecordMergeSuggestion,
    }
    for_notebook: set[object] = {
        effects.ProposeEntry,
        effects.RecordCompleteness,
        effects.RecordFindings,
        effects.RecordFixOutcome,
        effects.RecordMemories,
    }
    assert for_notebook == FOR_NOTEBOOK.keys()
