"""Recording sessions turn by turn: numbered without gaps, taken once, and shown to the run that reflects on them.

The run's lock comes before the transcript's everywhere, and the journal looks for turns under the run's lock: so new
turns either see the run waiting, or are seen by it before it waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.adapters.doorbell import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput, TurnsConflict
from reflection_app.core.models import Project
from reflection_app.loops.session_messages import calls_in, message_text, tool_name_of
from reflection_app.loops.tool_failures import is_tool_failure
from reflection_app.runs.batch import Batch
from reflection_app.runs.models import Run
from reflection_app.sessions.models.transcript import Transcript, TranscriptFile, TranscriptTurn
from reflection_app.sessions.reflection_mode import reflection_mode
from reflection_app.sessions.reflectors import begin_reflectors_for_transcript
from reflection_app.sessions.session_run import start_session_run, wake
from reflection_app.sessions.transcript_submission import (
    MOST_TURNS,
    TranscriptSubmission,
    TurnsInput,
)

# An answer comes soon after its call.
TURNS_LOOKED_BACK_AT = 100
LONGEST_TOOL_NAME = 120


@dataclass(frozen=True)
class Added:
    """The session with its new turns, how many it had before, and whether they had been there already."""

    transcript: Transcript
    before: int
    is_repeated: bool = False


@transaction.atomic
def open_transcript(project: Project, submission: TranscriptSubmission, *, actor: Actor) -> Transcript:
    """The new session with its first turns and, where that was asked for, the run that reflects on it."""
    transcript = Transcript(
        project=project,
        external_id=submission.external_id,
        agent=submission.agent,
        objective=submission.objective,
        metadata=submission.metadata,
        reflection=submission.reflection.mode.value if submission.reflection.mode else "",
        tool_errors=[error.model_dump(mode="json") for error in submission.tool_errors],
        ended_at=timezone.now() if submission.ended else None,
    )
    turns = _turns(transcript, submission.messages, called={})
    transcript.turns_made = len(turns)
    batch = Batch()
    batch.insert(transcript)
    for file in submission.files:
        batch.insert(TranscriptFile(transcript=transcript, path=file.path, content=file.content))
    for turn in turns:
        batch.insert(turn)
    opened = {"turns": transcript.turns_made}
    audit(project.pk, actor, "transcript.opened", target=transcript, after=opened, write=batch.insert)
    batch.write()
    if reflection_mode(project, own=transcript.reflection).is_inline:
        transcript.run = start_session_run(transcript, submission, actor=actor)
        transcript.save(update_fields=["run"])
    if transcript.is_ended:
        begin_reflectors_for_transcript(transcript)
    return transcript


@transaction.atomic
def add_turns(transcript: Transcript, given: TurnsInput, *, actor: Actor) -> Added:
    """The session with the turns at its end; those that are there already are not taken twice.

    Raises TurnsConflict where `after` is not where the session is, or it has ended; InvalidInput where it is full.
    """
    run, locked = _locked(transcript)
    made = locked.turns_made
    if given.after is not None and given.after < made and _are_there(locked, given):
        return Added(locked, before=given.after, is_repeated=True)
    if given.after is not None and given.after != made:
        raise TurnsConflict(
            _("The session has %(made)s turns, not %(after)s; nothing was taken. Go on from there.")
            % {"made": made, "after": given.after}
        )
    if locked.is_ended:
        raise TurnsConflict(_("The session has ended after %(made)s turns; nothing was taken.") % {"made": made})
    if made + len(given.messages) > MOST_TURNS:
        raise InvalidInput(
            _("A session has at most %(most_turns)s turns; nothing was taken.") % {"most_turns": f"{MOST_TURNS:,}"},
            errors=[
                {
                    "field": "messages",
                    "message": _("there is room for %(more)s more") % {"more": f"{MOST_TURNS - made:,}"},
                }
            ],
        )
    _append(locked, given.messages)
    audit(locked.project_id, actor, "transcript.turns_added", target=locked, after={"turns": locked.turns_made})
    _tell(run, locked)
    return Added(locked, before=made)


@transaction.atomic
def end_transcript(transcript: Transcript, *, actor: Actor) -> Transcript:
    """The session, ended; ending it again changes nothing."""
    run, locked = _locked(transcript)
    if not locked.is_ended:
        locked.ended_at = timezone.now()
        locked.save(update_fields=["ended_at"])
        begin_reflectors_for_transcript(locked)
        audit(locked.project_id, actor, "transcript.ended", target=locked, after={"turns": locked.turns_made})
        _tell(run, locked)
    return locked


def _locked(transcript: Transcript) -> tuple[Run | None, Transcript]:
    run = Run.objects.select_for_update(of=("self",)).filter(transcript=transcript.pk).first()
    return run, Transcript.objects.select_for_update(of=("self",)).get(pk=transcript.pk)


def _tell(run: Run | None, transcript: Transcript) -> None:
    if run is not None:
        wake(run)
        transaction.on_commit(lambda: ring(run.pk, project_id=transcript.project_id))


def _are_there(transcript: Transcript, given: TurnsInput) -> bool:
    """Whether the turns after number `given.after` are these very messages."""
    assert given.after is not None
    rows = TranscriptTurn.objects.filter(transcript=transcript, seq__gt=given.after).order_by("seq")
    return list(rows.values_list("message", flat=True)[: len(given.messages)]) == list(given.messages)


def _append(transcript: Transcript, messages: Sequence[dict[str, Any]]) -> None:
    """Writes the messages as the session's next turns."""
    rows = _turns(transcript, messages, called=_called_before(transcript) if messages else {})
    TranscriptTurn.objects.bulk_create(rows)
    transcript.turns_made += len(rows)
    transcript.save(update_fields=["turns_made"])


def _turns(
    transcript: Transcript, messages: Sequence[dict[str, Any]], *, called: dict[str, str]
) -> list[TranscriptTurn]:
    """The messages as the session's next turns; `called` are the names of tools by the ids of earlier calls."""
    rows = []
    for seq, message in enumerate(messages, start=transcript.turns_made + 1):
        called |= {call_id: name for call_id, name, _ in calls_in(message) if call_id}
        rows.append(
            TranscriptTurn(
                transcript=transcript,
                seq=seq,
                message=message,
                role=message["role"],
                content=message_text(message),
                tool_name=tool_name_of(message, called=called)[:LONGEST_TOOL_NAME],
                is_tool_failure=is_tool_failure(message),
            )
        )
    return rows


def _called_before(transcript: Transcript) -> dict[str, str]:
    """The names of the tools called lately, by the calls' ids."""
    callers = TranscriptTurn.objects.filter(transcript=transcript, role="assistant").order_by("-seq")
    messages = list(callers.values_list("message", flat=True)[:TURNS_LOOKED_BACK_AT])
    return {call_id: name for message in messages for call_id, name, _ in calls_in(message) if call_id}
