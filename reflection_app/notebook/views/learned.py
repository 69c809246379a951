"""What the notebook has of a run, a session, a report, a review or a failed call, for their pages."""

from typing import Any

from notebook_app.public import learned_from
from reflection_app.notebook.views.entry_view import EntryView, views_of
from reflection_app.repairs.models import Report, ToolFailure
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Attempt, Run, Verdict
from reflection_app.sessions.models import Transcript

# Of a run that was attempted more often, what rests on later attempts alone is not listed with it.
MOST_PARTS = 100


def learned_from_run(run: Run) -> list[EntryView]:
    """The entries that rest on the run or on a part of it, or that it found itself where it is a reflector."""
    attempts = Attempt.objects.filter(run=run).order_by("number").values_list("pk", flat=True)[:MOST_PARTS]
    verdicts = Verdict.objects.filter(attempt__run=run).order_by("created_at").values_list("pk", flat=True)[:MOST_PARTS]
    parts = [{"attempt": str(one)} for one in attempts] + [{"verdict": str(one)} for one in verdicts]
    return _views(run, [{"run": str(run.pk)}, {"reflector": str(run.pk)}, *parts])


def learned_from_session(transcript: Transcript) -> list[EntryView]:
    """The entries that rest on the session or on the run that reflected on it."""
    runs = [{"run": str(transcript.run_id)}] if transcript.run_id else []
    return _views(transcript, [{"transcript": str(transcript.pk)}, *runs])


def learned_from_report(report: Report) -> list[EntryView]:
    """The entries that rest on the report."""
    return _views(report, [{"report": report.reflection_id}])


def learned_from_review(review: Review) -> list[EntryView]:
    """The entries that rest on the review."""
    return _views(review, [{"review": str(review.pk)}])


def learned_from_failure(failure: ToolFailure) -> list[EntryView]:
    """The entries that rest on the failed call."""
    return _views(failure, [{"tool_failure": str(failure.pk)}])


def _views(thing: Run | Transcript | Report | Review | ToolFailure, any_of: list[dict[str, Any]]) -> list[EntryView]:
    """The most frequent first."""
    return views_of(learned_from(thing.project_id, any_of=any_of))
