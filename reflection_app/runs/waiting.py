"""Effects that somebody else brings the result of: the run is let go until then."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from reflection_app.loops.effects import (
    AskPerson,
    AskReviewer,
    AwaitAttempt,
    AwaitTurns,
    Performed,
    ReviewReason,
    Turn,
    Turns,
    Wait,
    Waiting,
)
from reflection_app.loops.session_window import shortened
from reflection_app.runs.journal import Journal
from reflection_app.runs.journal_writes import Follow
from reflection_app.runs.models.run import RunState
from reflection_app.sessions.models.transcript import Transcript, TranscriptTurn

MOST_TURNS_AT_ONCE = 100
LONGEST_TURN = 8_000


def wait_for(effect: Waiting, *, journal: Journal, follow: Follow) -> Performed[Any] | None:
    """The effect's result where it is there already, else None: the run has been let go."""
    match effect:
        case AskReviewer(reason=reason):
            error = " ".join(effect.why) if reason is ReviewReason.BROKEN_TESTS else ""
            journal.suspend(effect, state=RunState.WAITING_REVIEW, waiting_for=reason.value, follow=follow, error=error)
        case AwaitAttempt(attempt=number):
            journal.suspend(effect, state=RunState.WAITING_AGENT, waiting_for=f"attempt {number}", follow=follow)
        case AskPerson(question=question):
            waiting_for = question.kind.value
            journal.suspend(effect, state=RunState.WAITING_REVIEW, waiting_for=waiting_for, follow=follow)
        case AwaitTurns():
            return _turns(effect, journal=journal, follow=follow)
        case Wait():
            return _passed(effect, journal=journal, follow=follow)
    return None


def _passed(effect: Wait, *, journal: Journal, follow: Follow) -> Performed[None] | None:
    """Nothing, once the time is over; until then the run is let go and woken when it is due."""
    now = timezone.now()
    due = (journal.began() or now) + timedelta(seconds=effect.delay_s)
    if now >= due:
        return journal.note(effect, None, follow=follow)
    journal.suspend(effect, state=RunState.WAITING_TIME, waiting_for=effect.why[:40], follow=follow, due=due)
    journal.wakes_after_s = (due - now).total_seconds()
    return None


def _turns(effect: AwaitTurns, *, journal: Journal, follow: Follow) -> Performed[Turns] | None:
    """The turns that the loop waits for, as soon as the session has them."""
    run_id = journal.lease.run_id
    found = turns_for(effect, run_id=run_id)
    if found is None:
        let_go = journal.suspend(
            effect,
            state=RunState.WAITING_AGENT,
            waiting_for=f"turn {effect.after + effect.count}",
            follow=follow,
            is_there=lambda: turns_for(effect, run_id=run_id) is not None,
        )
        found = None if let_go else turns_for(effect, run_id=run_id)
    return journal.note(effect, found, follow=follow) if found is not None else None


def turns_for(effect: AwaitTurns, *, run_id: Any) -> Turns | None:
    """The turns after number `effect.after` where they are what the effect waits for, else None.

    Not all at once where very many came, and long ones shortened: a step keeps them beside the session itself.
    """
    transcript = Transcript.objects.get(run=run_id)
    rows = TranscriptTurn.objects.filter(transcript=transcript, seq__gt=effect.after).defer("message").order_by("seq")
    turns = tuple(_bounded(row.get_turn()) for row in rows[:MOST_TURNS_AT_ONCE])
    last = turns[-1].seq if turns else effect.after
    is_end = transcript.is_ended and last >= transcript.turns_made
    failed = effect.or_tool_failure and any(turn.is_tool_failure for turn in turns)
    if len(turns) >= effect.count or failed or is_end:
        return Turns(turns=turns, is_end=is_end)
    return None


def _bounded(turn: Turn) -> Turn:
    return turn.model_copy(update={"content": shortened(turn.content, LONGEST_TURN)})
