from django.urls import path, re_path

from reflection_app.api import attempts, docs, reviews, run_graph, run_history, runs, secrets, tasks, tools, transcripts
from reflection_app.api.unknown_path import NoSuchPath

urlpatterns = [
    path("tasks", tasks.TaskList.as_view(), name="api-tasks"),
    path("tasks/batch", tasks.TaskBatch.as_view(), name="api-task-batch"),
    path("tasks/<uuid:task_id>", tasks.TaskDetail.as_view(), name="api-task"),
    path("runs", runs.RunList.as_view(), name="api-runs"),
    path("runs/<uuid:run_id>", runs.RunDetail.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/cancel", runs.CancelRun.as_view(), name="api-run-cancel"),
    path("runs/<uuid:run_id>/fork", runs.ForkRun.as_view(), name="api-run-fork"),
    path("runs/<uuid:run_id>/steps", run_history.RunSteps.as_view(), name="api-run-steps"),
    path("runs/<uuid:run_id>/attempts", attempts.RunAttempts.as_view(), name="api-run-attempts"),
    path("runs/<uuid:run_id>/graph", run_graph.RunGraph.as_view(), name="api-run-graph"),
    path("runs/<uuid:run_id>/events", run_history.RunEvents.as_view(), name="api-run-events"),
    path("reviews", reviews.ReviewList.as_view(), name="api-reviews"),
    path("reviews/claim", reviews.ClaimReview.as_view(), name="api-review-claim"),
    path("reviews/<uuid:review_id>", reviews.ReviewDetail.as_view(), name="api-review"),
    path("reviews/<uuid:review_id>/heartbeat", reviews.Heartbeat.as_view(), name="api-review-heartbeat"),
    path("reviews/<uuid:review_id>/decision", reviews.Decide.as_view(), name="api-review-decision"),
    path("reviews/<uuid:review_id>/release", reviews.Release.as_view(), name="api-review-release"),
    path("transcripts", transcripts.TranscriptList.as_view(), name="api-transcripts"),
    path("transcripts/<uuid:transcript_id>", transcripts.TranscriptDetail.as_view(), name="api-transcript"),
    path("transcripts/<uuid:transcript_id>/turns", transcripts.TranscriptTurns.as_view(), name="api-turns"),
    path("transcripts/<uuid:transcript_id>/end", transcripts.EndTranscript.as_view(), name="api-transcript-end"),
    path("tools", tools.ToolList.as_view(), name="api-tools"),
    path("tools/import-mcp", tools.ImportMcp.as_view(), name="api-import-mcp"),
    path("tools/<slug:name>", tools.ToolDetail.as_view(), name="api-tool"),
    path("secrets", secrets.SecretList.as_view(), name="api-secrets"),
    path("secrets/<slug:name>", secrets.SecretDetail.as_view(), name="api-secret"),
    path("schema", docs.schema, name="api-schema"),
    path("docs", docs.docs, name="api-docs"),
    re_path("", NoSuchPath.as_view(), name="api-unknown"),
]
