"""The addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from reflection_app.web import (
    cheat_sheet_page,
    compare_page,
    fork_pages,
    new_task,
    overview,
    question_pages,
    review_decision,
    review_page,
    review_queue,
    run_pages,
    runs,
    sessions,
    settings_page,
    tool_edit,
    tool_failure_pages,
    tool_pages,
    tools_page,
)
from reflection_app.web.login_brake import BrakedLoginView
from reflection_app.web.login_links import login_link

project_pages: list[URLPattern | URLResolver] = [
    path("", overview.project_overview, name="project_overview"),
    path("runs/", runs.run_list, name="runs"),
    path("runs/<uuid:run_id>/", run_pages.run_page, name="run"),
    path("runs/<uuid:run_id>/cancel/", run_pages.cancel, name="cancel_run"),
    path("runs/<uuid:run_id>/fork/", fork_pages.fork_page, name="fork_run"),
    path("runs/<uuid:run_id>/compare/", compare_page.compare_page, name="compare_run"),
    path("runs/<uuid:run_id>/steps/<int:seq>/", run_pages.step_page, name="step"),
    path("tasks/new/", new_task.new_task, name="new_task"),
    path("reviews/", review_queue.queue, name="reviews"),
    path("reviews/count/", review_queue.count, name="review_count"),
    path("reviews/next/", review_queue.take_next, name="next_review"),
    path("reviews/<uuid:review_id>/", review_page.review_page, name="review"),
    path("reviews/<uuid:review_id>/claim/", review_page.claim, name="claim_review"),
    path("reviews/<uuid:review_id>/release/", review_page.release, name="release_review"),
    path("reviews/<uuid:review_id>/heartbeat/", review_page.heartbeat, name="keep_review"),
    path("reviews/<uuid:review_id>/decision/", review_decision.decide, name="decide_review"),
    path("questions/<uuid:question_id>/", question_pages.question_page, name="question"),
    path("questions/<uuid:question_id>/answer/", question_pages.answer, name="answer_question"),
    path("transcripts/", sessions.session_list, name="sessions"),
    path("transcripts/<uuid:transcript_id>/", sessions.session_page, name="session"),
    path("tools/", tools_page.tools, name="tools"),
    path("tools/built-in/", tools_page.add_builtins, name="add_builtins"),
    path("tools/new/", tool_edit.new_tool, name="new_tool"),
    path("tools/import/", tool_edit.import_page, name="import_tools"),
    path("tools/secrets/", tools_page.keep_secret, name="keep_secret"),
    path("tools/secrets/<uuid:secret_id>/delete/", tools_page.remove_secret, name="delete_secret"),
    path("tools/failures/", tool_failure_pages.tool_failures, name="tool_failures"),
    path("tools/failures/<uuid:failure_id>/", tool_failure_pages.tool_failure, name="tool_failure"),
    path("tools/failures/<uuid:failure_id>/outcome/", tool_failure_pages.tool_outcome, name="tool_outcome"),
    path("tools/cheat-sheet/", cheat_sheet_page.tool_cheat_sheet, name="tool_cheat_sheet"),
    path("tools/<uuid:tool_id>/", tool_pages.tool_page, name="tool"),
    path("tools/<uuid:tool_id>/edit/", tool_edit.edit_tool, name="edit_tool"),
    path("tools/<uuid:tool_id>/try/", tool_pages.try_it, name="try_tool"),
    path("tools/<uuid:tool_id>/switch/", tool_pages.switch_tool, name="switch_tool"),
    path("tools/<uuid:tool_id>/delete/", tool_pages.remove_tool, name="delete_tool"),
    path("settings/", settings_page.settings_page, name="settings"),
    path("settings/keys/", settings_page.create_key, name="create_key"),
    path("settings/keys/<uuid:key_id>/revoke/", settings_page.revoke_key, name="revoke_key"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", overview.home, name="overview"),
    path("login/", BrakedLoginView.as_view(), name="login"),
    path("login/link/<str:uidb64>/<str:token>/", login_link, name="login_link"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("p/<slug:slug>/", include(project_pages)),
]
