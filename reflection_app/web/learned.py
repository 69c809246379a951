"""What the notebook has of a run or of a session, for their pages."""

from notebook_app.public import learned_from
from reflection_app.models import Run, Transcript
from reflection_app.web.entry_view import EntryView, views_of


def learned_from_run(run: Run) -> list[EntryView]:
    """The entries that rest on the run, or that it found itself where it is a reflector; the most frequent first."""
    return views_of(learned_from(run.project_id, any_of=[{"run": str(run.pk)}, {"reflector": str(run.pk)}]))


def learned_from_session(transcript: Transcript) -> list[EntryView]:
    """The entries that rest on the session or on the run that reflected on it; the most frequent first."""
    runs = [{"run": str(transcript.run_id)}] if transcript.run_id else []
    return views_of(learned_from(transcript.project_id, any_of=[{"transcript": str(transcript.pk)}, *runs]))
