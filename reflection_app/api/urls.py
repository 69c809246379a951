from django.urls import path, re_path

from reflection_app.alerts import api as alerts
from reflection_app.api import docs
from reflection_app.api.health import NoSuchPath
from reflection_app.attachments.api import Attachments
from reflection_app.comparisons import api as comparisons
from reflection_app.metrics.api import datasets, figures, judgements
from reflection_app.notebook.api import conflicts, curation, entries, files, recall
from reflection_app.queues.api import Queues, SavedViews, Skills
from reflection_app.repairs.api import completeness, failures, reports
from reflection_app.reviews.api.bulk import BulkDecisions, Comments
from reflection_app.reviews.api.policy import Agreement, ReviewPolicies
from reflection_app.reviews.api.reviews import AskForReview, HeldReview, Reviews
from reflection_app.rubrics.api import Examples, Guidelines, RubricAgreement, Rubrics
from reflection_app.runs.api import Questions, RunHistory, Runs
from reflection_app.search.api import Search
from reflection_app.sessions.api import Reflectors, Transcripts, UnreadSpans
from reflection_app.tasks.api import AgentWork, RedoRun, Tasks
from reflection_app.teams.api import members, tools, webhooks
from reflection_app.teams.api.completeness_settings import CompletenessSettingsView

urlpatterns = [
    path("tasks", Tasks.as_view({"get": "list", "post": "create"}), name="api-tasks"),
    path("tasks/batch", Tasks.as_view({"post": "create_batch"}), name="api-task-batch"),
    path(
        "tasks/<uuid:task_id>",
        Tasks.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="api-task",
    ),
    path("tasks/claim", AgentWork.as_view({"post": "claim"}), name="api-task-claim"),
    path("attachments", Attachments.as_view({"post": "create"}), name="api-attachments"),
    path("attachments/<uuid:attachment_id>", Attachments.as_view({"get": "retrieve"}), name="api-attachment"),
    path(
        "attachments/<uuid:attachment_id>/content",
        Attachments.as_view({"get": "content"}),
        name="api-attachment-content",
    ),
    path("runs", Runs.as_view({"get": "list"}), name="api-runs"),
    path("runs/<uuid:run_id>", Runs.as_view({"get": "retrieve"}), name="api-run"),
    path("runs/<uuid:run_id>/cancel", Runs.as_view({"post": "cancel"}), name="api-run-cancel"),
    path("runs/<uuid:run_id>/fork", Runs.as_view({"post": "fork"}), name="api-run-fork"),
    path("runs/<uuid:run_id>/heartbeat", AgentWork.as_view({"post": "keep"}), name="api-run-heartbeat"),
    path("runs/<uuid:run_id>/release", AgentWork.as_view({"post": "release"}), name="api-run-release"),
    path("runs/<uuid:run_id>/redo", RedoRun.as_view({"post": "redo"}), name="api-run-redo"),
    path("runs/<uuid:run_id>/steps", RunHistory.as_view({"get": "steps"}), name="api-run-steps"),
    path(
        "runs/<uuid:run_id>/attempts",
        RunHistory.as_view({"get": "attempts", "post": "hand_in"}),
        name="api-run-attempts",
    ),
    path("runs/<uuid:run_id>/graph", RunHistory.as_view({"get": "graph"}), name="api-run-graph"),
    path("runs/<uuid:run_id>/lessons", RunHistory.as_view({"get": "lessons"}), name="api-run-lessons"),
    path("runs/<uuid:run_id>/reflectors", Reflectors.as_view({"get": "of_run"}), name="api-run-reflectors"),
    path("runs/<uuid:run_id>/reviews", AskForReview.as_view({"post": "ask"}), name="api-ask-for-review"),
    path("runs/<uuid:run_id>/events", RunHistory.as_view({"get": "events"}), name="api-run-events"),
    path("comparisons", comparisons.Sets.as_view({"get": "list", "post": "create"}), name="api-comparison-sets"),
    path("comparisons/claim", comparisons.Judging.as_view({"post": "claim"}), name="api-claim-pair"),
    path("comparisons/ratings", comparisons.Ratings.as_view({"get": "retrieve"}), name="api-comparison-ratings"),
    path(
        "comparisons/judgements/<uuid:judgement_id>",
        comparisons.Judging.as_view({"get": "retrieve", "post": "judge"}),
        name="api-judge-pair",
    ),
    path(
        "comparisons/judgements/<uuid:judgement_id>/skip",
        comparisons.Judging.as_view({"post": "skip"}),
        name="api-skip-pair",
    ),
    path(
        "comparisons/judgements/<uuid:judgement_id>/undo",
        comparisons.Judging.as_view({"post": "undo"}),
        name="api-undo-pair",
    ),
    path(
        "comparisons/<uuid:set_id>",
        comparisons.Sets.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="api-comparison-set",
    ),
    path(
        "comparisons/<uuid:set_id>/pairs",
        comparisons.Sets.as_view({"get": "list_pairs", "post": "hand_in"}),
        name="api-pairs",
    ),
    path("questions", Questions.as_view({"get": "list"}), name="api-questions"),
    path("questions/<uuid:question_id>", Questions.as_view({"get": "retrieve"}), name="api-question"),
    path("questions/<uuid:question_id>/answer", Questions.as_view({"post": "answer"}), name="api-question-answer"),
    path("reviews", Reviews.as_view({"get": "list"}), name="api-reviews"),
    path("reviews/agreement", Agreement.as_view({"get": "retrieve"}), name="api-agreement"),
    path("reviews/claim", Reviews.as_view({"post": "claim"}), name="api-review-claim"),
    path("reviews/examples", Examples.as_view({"get": "list"}), name="api-review-examples"),
    path(
        "reviews/<uuid:review_id>/example",
        Examples.as_view({"put": "update", "delete": "destroy"}),
        name="api-review-example",
    ),
    path("reviews/bulk", BulkDecisions.as_view({"post": "create"}), name="api-bulk-decisions"),
    path("reviews/bulk/<uuid:bulk_id>", BulkDecisions.as_view({"get": "retrieve"}), name="api-bulk-decision"),
    path("reviews/bulk/<uuid:bulk_id>/undo", BulkDecisions.as_view({"post": "undo"}), name="api-undo-bulk"),
    path("reviews/<uuid:review_id>", Reviews.as_view({"get": "retrieve"}), name="api-review"),
    path("reviews/<uuid:review_id>/heartbeat", HeldReview.as_view({"post": "keep"}), name="api-review-heartbeat"),
    path("reviews/<uuid:review_id>/decision", HeldReview.as_view({"post": "decide"}), name="api-review-decision"),
    path("reviews/<uuid:review_id>/undo", HeldReview.as_view({"post": "undo"}), name="api-review-undo"),
    path("reviews/<uuid:review_id>/release", HeldReview.as_view({"post": "release"}), name="api-review-release"),
    path("reviews/<uuid:review_id>/skip", HeldReview.as_view({"post": "skip"}), name="api-review-skip"),
    path("reviews/<uuid:review_id>/assign", HeldReview.as_view({"post": "assign"}), name="api-review-assign"),
    path("reviews/<uuid:review_id>/hand-over", HeldReview.as_view({"post": "hand_over"}), name="api-review-hand-over"),
    path("metrics", figures.Figures.as_view({"get": "retrieve"}), name="api-metrics"),
    path("metrics.csv", figures.Figures.as_view({"get": "table"}), name="api-metrics-csv"),
    path("metrics/definitions", figures.Figures.as_view({"get": "definitions"}), name="api-metric-definitions"),
    path("metrics/reviews", figures.Figures.as_view({"get": "of_reviews"}), name="api-review-metrics"),
    path("metrics/corrections", figures.Corrections.as_view({"get": "retrieve"}), name="api-correction-metrics"),
    path("metrics/corrections.csv", figures.Corrections.as_view({"get": "table"}), name="api-correction-metrics-csv"),
    path(
        "labels/settings",
        figures.KeptLabels.as_view({"get": "retrieve", "put": "update"}),
        name="api-label-settings",
    ),
    path("metrics/runs", figures.Figures.as_view({"get": "runs"}), name="api-metrics-runs"),
    path("metrics/calibration", figures.Calibration.as_view({"get": "retrieve"}), name="api-calibration"),
    path("metrics/calibration/labels", judgements.Labels.as_view({"post": "create"}), name="api-import-labels"),
    path("datasets", datasets.Datasets.as_view({"get": "list"}), name="api-datasets"),
    path("datasets/runs", datasets.Datasets.as_view({"get": "runs"}), name="api-runs-dataset"),
    path("datasets/preferences", datasets.Datasets.as_view({"get": "preferences"}), name="api-preferences-dataset"),
    path("datasets/critic", datasets.Datasets.as_view({"get": "critic"}), name="api-critic-dataset"),
    path("datasets/findings", datasets.Datasets.as_view({"get": "findings"}), name="api-findings-dataset"),
    path("datasets/<slug:kind>/export", datasets.Datasets.as_view({"get": "export"}), name="api-dataset-export"),
    path("search", Search.as_view({"get": "retrieve"}), name="api-search"),
    path("comments", Comments.as_view({"get": "list", "post": "create"}), name="api-comments"),
    path(
        "comments/<uuid:comment_id>",
        Comments.as_view({"patch": "partial_update", "delete": "destroy"}),
        name="api-comment",
    ),
    path("review-queues", Queues.as_view({"get": "list", "post": "create"}), name="api-review-queues"),
    path("review-queues/order", Queues.as_view({"put": "order"}), name="api-review-queue-order"),
    path(
        "review-queues/<uuid:queue_id>",
        Queues.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="api-review-queue",
    ),
    path("saved-views", SavedViews.as_view({"get": "list", "post": "create"}), name="api-saved-views"),
    path(
        "saved-views/<uuid:view_id>",
        SavedViews.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="api-saved-view",
    ),
    path("review-policy", ReviewPolicies.as_view({"get": "retrieve", "put": "update"}), name="api-review-policy"),
    path("review-policy/try", ReviewPolicies.as_view({"post": "try_out"}), name="api-review-policy-try"),
    path("rubric", Rubrics.as_view({"get": "retrieve", "put": "update"}), name="api-rubric"),
    path("rubric/versions", Rubrics.as_view({"get": "list"}), name="api-rubric-versions"),
    path("rubric/agreement", RubricAgreement.as_view({"get": "retrieve"}), name="api-rubric-agreement"),
    path("guidelines", Guidelines.as_view({"get": "retrieve", "put": "update"}), name="api-guidelines"),
    path("guidelines/versions", Guidelines.as_view({"get": "list"}), name="api-guidelines-versions"),
    path("audit-entries", members.AuditEntries.as_view({"get": "list"}), name="api-audit-entries"),
    path("notebook/imports", files.Imports.as_view({"post": "create"}), name="api-notebook-imports"),
    path("notebook/imports/<uuid:import_id>", files.Imports.as_view({"get": "retrieve"}), name="api-notebook-import"),
    path("notebook/imports/<uuid:import_id>/apply", files.Imports.as_view({"post": "apply"}), name="api-import-apply"),
    path("export/notebook.jsonl", files.Export.as_view({"get": "list"}), name="api-export-notebook"),
    path("export/project.zip", members.Export.as_view({"get": "retrieve"}), name="api-export-project"),
    path("tickets", reports.Tickets.as_view({"get": "list"}), name="api-tickets"),
    path("tickets/<slug:ticket_id>", reports.Tickets.as_view({"get": "retrieve"}), name="api-ticket"),
    path("tickets/<slug:ticket_id>/start", reports.Tickets.as_view({"post": "start"}), name="api-ticket-start"),
    path("tickets/<slug:ticket_id>/close", reports.Tickets.as_view({"post": "close"}), name="api-ticket-close"),
    path("reports", reports.Reports.as_view({"get": "list"}), name="api-reports"),
    path("reports/<slug:reflection_id>", reports.Reports.as_view({"get": "retrieve"}), name="api-report"),
    path(
        "reports/<slug:reflection_id>/document",
        reports.Reports.as_view({"get": "document"}),
        name="api-report-document",
    ),
    path("reports/<slug:reflection_id>/class", reports.Reports.as_view({"post": "correct"}), name="api-report-class"),
    path("instructions", reports.Instructions.as_view({"get": "list"}), name="api-instructions"),
    path(
        "instructions/<uuid:instruction_id>/decision",
        reports.Instructions.as_view({"post": "decide"}),
        name="api-instruction-decision",
    ),
    path("unread-spans", UnreadSpans.as_view({"get": "list"}), name="api-unread-spans"),
    path("unread-spans/<uuid:span_id>", UnreadSpans.as_view({"get": "retrieve"}), name="api-unread-span"),
    path("transcripts", Transcripts.as_view({"get": "list", "post": "create"}), name="api-transcripts"),
    path("transcripts/<uuid:transcript_id>", Transcripts.as_view({"get": "retrieve"}), name="api-transcript"),
    path(
        "transcripts/<uuid:transcript_id>/turns",
        Transcripts.as_view({"get": "turns", "post": "add_turns"}),
        name="api-turns",
    ),
    path("transcripts/<uuid:transcript_id>/end", Transcripts.as_view({"post": "end"}), name="api-transcript-end"),
    path(
        "transcripts/<uuid:transcript_id>/reflectors",
        Reflectors.as_view({"get": "of_transcript"}),
        name="api-transcript-reflectors",
    ),
    path(
        "completeness-checks",
        failures.Checks.as_view({"get": "list", "post": "create"}),
        name="api-completeness-checks",
    ),
    path(
        "completeness-checks/<uuid:check_id>",
        failures.Checks.as_view({"get": "retrieve"}),
        name="api-completeness-check",
    ),
    path(
        "completeness-settings",
        CompletenessSettingsView.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="api-completeness-settings",
    ),
    path("completeness/checks", completeness.Completeness.as_view({"get": "checks"}), name="api-run-checks"),
    path("completeness/recurring", completeness.Completeness.as_view({"get": "recurring"}), name="api-recurring"),
    path(
        "completeness/figures",
        completeness.Completeness.as_view({"get": "figures"}),
        name="api-completeness-figures",
    ),
    path("notebook/rules-prompt", recall.Rules.as_view({"get": "retrieve"}), name="api-rules-prompt"),
    path("notebook/recall", recall.Recall.as_view({"get": "recall", "post": "recall_for_text"}), name="api-recall"),
    path("notebook/lift", recall.Lift.as_view({"get": "list"}), name="api-notebook-lift"),
    path("notebook/outcomes", recall.Lift.as_view({"post": "report_outcome"}), name="api-notebook-outcomes"),
    path(
        "notebook/entries/<uuid:entry_id>/exposures",
        recall.Lift.as_view({"get": "exposures"}),
        name="api-entry-exposures",
    ),
    path("tools", tools.Tools.as_view({"get": "list", "post": "create"}), name="api-tools"),
    path("tools/import-mcp", tools.Tools.as_view({"post": "import_mcp"}), name="api-import-mcp"),
    path(
        "tools/<slug:name>",
        tools.Tools.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="api-tool",
    ),
    path("tool-failures", failures.ToolFailures.as_view({"get": "list", "post": "create"}), name="api-tool-failures"),
    path("tool-failures/cheat-sheet", failures.Fixes.as_view({"get": "cheat_sheet"}), name="api-cheat-sheet"),
    path(
        "tool-failures/<uuid:failure_id>", failures.ToolFailures.as_view({"get": "retrieve"}), name="api-tool-failure"
    ),
    path(
        "tool-failures/<uuid:failure_id>/diagnosis",
        failures.ToolFailures.as_view({"post": "judge"}),
        name="api-tool-failure-diagnosis",
    ),
    path(
        "tool-failures/<uuid:failure_id>/outcome",
        failures.ToolFailures.as_view({"post": "report_outcome"}),
        name="api-tool-failure-outcome",
    ),
    path("fix-pairs", failures.Fixes.as_view({"get": "list"}), name="api-fix-pairs"),
    path("webhooks", webhooks.WebhookSecrets.as_view({"get": "list", "post": "create"}), name="api-webhooks"),
    path(
        "webhooks/<uuid:webhook_id>",
        webhooks.Webhooks.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="api-webhook",
    ),
    path(
        "webhooks/<uuid:webhook_id>/rotate",
        webhooks.WebhookSecrets.as_view({"post": "rotate"}),
        name="api-webhook-rotate",
    ),
    path("webhooks/<uuid:webhook_id>/pause", webhooks.Webhooks.as_view({"post": "pause"}), name="api-webhook-pause"),
    path("webhooks/<uuid:webhook_id>/resume", webhooks.Webhooks.as_view({"post": "resume"}), name="api-webhook-resume"),
    path(
        "webhooks/<uuid:webhook_id>/test", webhooks.WebhookDeliveries.as_view({"post": "test"}), name="api-webhook-test"
    ),
    path(
        "webhooks/<uuid:webhook_id>/deliveries",
        webhooks.WebhookDeliveries.as_view({"get": "list_deliveries"}),
        name="api-deliveries",
    ),
    path(
        "webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>",
        webhooks.Deliveries.as_view({"get": "retrieve"}),
        name="api-delivery",
    ),
    path(
        "webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/redeliver",
        webhooks.Deliveries.as_view({"post": "redeliver"}),
        name="api-redeliver",
    ),
    path("channels", alerts.Channels.as_view({"get": "list", "post": "create"}), name="api-channels"),
    path(
        "channels/<uuid:channel_id>",
        alerts.Channels.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="api-channel",
    ),
    path("channels/<uuid:channel_id>/test", alerts.Channels.as_view({"post": "test"}), name="api-channel-test"),
    path(
        "channels/<uuid:channel_id>/messages",
        alerts.ChannelMessages.as_view({"get": "list_messages"}),
        name="api-channel-messages",
    ),
    path(
        "channels/<uuid:channel_id>/messages/<uuid:message_id>",
        alerts.OneChannelMessage.as_view({"get": "retrieve"}),
        name="api-channel-message",
    ),
    path("waiting-goals", alerts.WaitingGoals.as_view({"get": "retrieve", "put": "update"}), name="api-waiting-goals"),
    path("secrets", tools.Secrets.as_view({"get": "list", "post": "create"}), name="api-secrets"),
    path("secrets/<slug:name>", tools.Secrets.as_view({"delete": "destroy"}), name="api-secret"),
    path("notebook/conflicts", conflicts.Conflicts.as_view({"get": "list"}), name="api-conflicts"),
    path(
        "notebook/conflicts/<uuid:conflict_id>", conflicts.Conflicts.as_view({"get": "retrieve"}), name="api-conflict"
    ),
    path(
        "notebook/conflicts/<uuid:conflict_id>/settle",
        conflicts.Conflicts.as_view({"post": "settle"}),
        name="api-conflict-settle",
    ),
    path(
        "notebook/conflicts/<uuid:conflict_id>/settle-cluster",
        conflicts.Conflicts.as_view({"post": "settle_cluster"}),
        name="api-conflict-settle-cluster",
    ),
    path(
        "notebook/conflicts/<uuid:conflict_id>/undo",
        conflicts.Conflicts.as_view({"post": "undo"}),
        name="api-conflict-undo",
    ),
    path(
        "notebook/conflicts/<uuid:conflict_id>/suggestion",
        conflicts.Conflicts.as_view({"post": "suggest_merge"}),
        name="api-conflict-suggestion",
    ),
    path("notebook/entries", entries.Entries.as_view({"get": "list", "post": "create"}), name="api-entries"),
    path("notebook/bulk", curation.BulkCurations.as_view({"post": "create"}), name="api-entry-bulk"),
    path(
        "notebook/bulk/<uuid:entry_bulk_id>/undo",
        curation.BulkCurations.as_view({"post": "undo"}),
        name="api-undo-entry-bulk",
    ),
    path(
        "notebook/entries/<uuid:entry_id>",
        entries.Entries.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="api-entry",
    ),
    path(
        "notebook/entries/<uuid:entry_id>/approve",
        curation.Curation.as_view({"post": "approve"}),
        name="api-entry-approve",
    ),
    path(
        "notebook/entries/<uuid:entry_id>/reject",
        curation.Curation.as_view({"post": "reject"}),
        name="api-entry-reject",
    ),
    path(
        "notebook/entries/<uuid:entry_id>/retire",
        curation.Curation.as_view({"post": "retire"}),
        name="api-entry-retire",
    ),
    path(
        "notebook/entries/<uuid:entry_id>/reopen",
        curation.Curation.as_view({"post": "reopen"}),
        name="api-entry-reopen",
    ),
    path(
        "notebook/entries/<uuid:entry_id>/clear", curation.Curation.as_view({"post": "clear"}), name="api-entry-clear"
    ),
    path(
        "notebook/entries/<uuid:entry_id>/restore",
        curation.Curation.as_view({"post": "restore"}),
        name="api-entry-restore",
    ),
    path("notebook/entries/<uuid:entry_id>/tags", curation.Curation.as_view({"post": "tag"}), name="api-entry-tags"),
    path("notebook/entries/<uuid:entry_id>/owner", curation.Curation.as_view({"post": "own"}), name="api-entry-owner"),
    path(
        "notebook/entries/<uuid:entry_id>/merge", curation.Curation.as_view({"post": "merge"}), name="api-entry-merge"
    ),
    path(
        "notebook/entries/<uuid:entry_id>/supersede",
        curation.Curation.as_view({"post": "supersede"}),
        name="api-entry-supersede",
    ),
    path(
        "notebook/entries/<uuid:entry_id>/split", curation.Curation.as_view({"post": "split"}), name="api-entry-split"
    ),
    path("notebook/entries/<uuid:entry_id>/undo", curation.Curation.as_view({"post": "undo"}), name="api-entry-undo"),
    path(
        "notebook/entries/<uuid:entry_id>/versions",
        entries.EntryHistory.as_view({"get": "versions"}),
        name="api-entry-versions",
    ),
    path(
        "notebook/entries/<uuid:entry_id>/versions/diff",
        entries.EntryHistory.as_view({"get": "diff"}),
        name="api-entry-version-diff",
    ),
    path(
        "notebook/entries/<uuid:entry_id>/evidence",
        entries.EntryHistory.as_view({"get": "evidence"}),
        name="api-entry-evidence",
    ),
    path("runs/<uuid:run_id>/entries", entries.EntriesOf.as_view({"get": "of_run"}), name="api-run-entries"),
    path(
        "transcripts/<uuid:transcript_id>/entries",
        entries.EntriesOf.as_view({"get": "of_transcript"}),
        name="api-transcript-entries",
    ),
    path("members", members.Members.as_view({"get": "list"}), name="api-members"),
    path(
        "members/<slug:user_id>",
        members.Members.as_view({"patch": "partial_update", "delete": "destroy"}),
        name="api-member",
    ),
    path("members/<slug:user_id>/skills", Skills.as_view({"put": "update"}), name="api-member-skills"),
    path("invitations", members.Invitations.as_view({"get": "list", "post": "create"}), name="api-invitations"),
    path("invitations/<uuid:invitation_id>", members.Invitations.as_view({"delete": "destroy"}), name="api-invitation"),
    path("schema", docs.schema, name="api-schema"),
    path("docs", docs.docs, name="api-docs"),
    re_path("", NoSuchPath.as_view(), name="api-unknown"),
]
