"""Performing effects: the part outside of any transaction, with no database connection held."""

import secrets
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from desk_sandbox import SandboxUnavailable, run_tests, working_clock
from notebook_app.public import asked_of
from reflection_app.adapters.files import inspect_files
from reflection_app.adapters.live import is_watched, writing
from reflection_app.adapters.llm import (
    CompletionRequest,
    ModelError,
    ModelTimedOut,
    ModelUnavailable,
    complete,
    model_for,
)
from reflection_app.attachments.produced import produced_by
from reflection_app.attachments.rendering import NotRendered, bytes_of_pages, render_pages
from reflection_app.core.connections import released
from reflection_app.loops.attempt_effects import (
    AskPerson,
    AskReviewer,
    AwaitAttempt,
    CallTool,
    Draw,
    Drawn,
    Generate,
    Generation,
    InspectFiles,
    KeepAttempt,
    RequestAudit,
    ReviewReason,
    RunTests,
    Wait,
    fault_of,
)
from reflection_app.loops.completeness.looked import RenderPages
from reflection_app.loops.completeness.sampling import CheckLots
from reflection_app.loops.effect import EffectFailed, EffectTimedOut, Performed, Spent
from reflection_app.loops.effects import (
    AnyEffect,
    AwaitTurns,
    CompareSupplements,
    DrawCheck,
    EstimateSupplements,
    FindSimilarIssues,
    IssueTicket,
    Lookup,
    Naming,
    Noted,
    Performing,
    ReadSession,
    RecallFix,
    RecordReport,
    Turns,
    Waiting,
)
from reflection_app.loops.lessons import RecallLessons
from reflection_app.loops.merging import KeptSuggestion, RecordMergeSuggestion
from reflection_app.loops.progress import SHORTEST_CALL_S
from reflection_app.loops.protocol.reports import KeptReport
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.texts import cut_middle
from reflection_app.loops.thinking import split_thinking
from reflection_app.loops.tickets import Ticket
from reflection_app.loops.values import Picture
from reflection_app.repairs.likeness import compare_supplements
from reflection_app.repairs.rows import find_similar_issues, is_ours, recall_fix
from reflection_app.repairs.supplement_history import read_records
from reflection_app.repairs.unknown import read_unknown
from reflection_app.runs.journal import Journal, attempt_of
from reflection_app.runs.journal_writes import Follow
from reflection_app.runs.lessons import recall_lessons
from reflection_app.runs.models import Run, RunState
from reflection_app.runs.tool_calling import call_tool
from reflection_app.sessions.looked_back_at import call_on_session, read_session
from reflection_app.sessions.models import Transcript, TranscriptTurn


class TryLater(Exception):
    """The effect could not be performed now; the run is tried again later."""

    def __init__(self, message: str, *, duration_s: float, tries: int = 1, after_s: float | None = None) -> None:
        super().__init__(message)
        self.duration_s = duration_s
        self.tries = tries
        self.after_s = after_s


def model_of(effect: AnyEffect, *, spec: TaskSpec) -> str:
    """The name of the model that `effect` will ask, or nothing where it asks none. Raises EffectFailed."""
    if not isinstance(effect, Generate):
        return ""
    try:
        return model_for(effect.role, spec.models)
    except ModelError as error:
        raise EffectFailed(str(error)) from None


@released()
def perform(
    effect: Performing, *, run: Run, model: str, seq: int, tries: int = 1, used_s: float = 0.0
) -> Performed[Any]:
    """The effect's fresh result, as step `seq` of the run; earlier tries have used `used_s` of its time.

    Raises EffectFailed (for good), TryLater, or SandboxFailed.
    """
    run_id = run.pk
    began = working_clock()
    value: Any = None
    match effect:
        case RunTests():
            try:
                value = run_tests(effect.code, tests=effect.tests, deadline_s=effect.timeout_s, wanted=effect.wanted)
            except SandboxUnavailable as error:
                raise EffectFailed(f"code is not run without a sandbox: {error}") from None
        case InspectFiles():
            produced = produced_by(run_id, attempt=effect.attempt, is_written=effect.is_written)
            with released():
                value = inspect_files(produced, effect.requirements, deadline_s=effect.timeout_s)
        case CallTool():
            value = call_on_session(effect, run_id=run_id) or call_tool(effect, run_id=run_id)
        case RenderPages():
            value = render_pages(run.project_id, effect.pictures, timeout_s=effect.timeout_s)
        case RecallLessons():
            return recall_lessons(effect, run=run)
        case CompareSupplements():
            return compare_supplements(effect)
        case EstimateSupplements():
            return read_records(effect, run_id=run_id)
        case Generate():
            return _ask_model(effect, run=run, model=model, seq=seq, tries=tries, left_s=effect.timeout_s - used_s)
    return Performed(value=value, spent=Spent(duration_s=working_clock() - began))


def _ask_model(effect: Generate, *, run: Run, model: str, seq: int, tries: int, left_s: float) -> Performed[Any]:
    """The model's answer, shown while it is written where somebody watches. Raises as `perform` does."""
    with writing(run.pk, step=seq, tries=tries, role=effect.role, attempt=attempt_of(effect)) as show:
        # What has a form is not shown: see Streams.take.
        may_show = settings.LLM_STREAMING and effect.json_schema is None
        on_text = show if may_show and is_watched(run.pk, run.project_id) else None
        pictures = _pictures_of(effect, project_id=run.project_id, left_s=left_s)
        return _generate(
            effect, model=model, left_s=left_s, waited_s=run.asked_wait_s, on_text=on_text, pictures=pictures
        )


@released()
def _pictures_of(effect: Generate, *, project_id: UUID, left_s: float) -> dict[Picture, bytes]:
    """The bytes of what the messages name. Raises EffectFailed where one cannot be had."""
    wanted = [one for message in effect.messages for one in message.pictures]
    if not wanted:
        return {}
    try:
        return bytes_of_pages(project_id, wanted, timeout_s=left_s)
    except NotRendered as error:
        raise EffectFailed(f"a picture that the model was to look at cannot be had: {error}") from None


def _generate(
    effect: Generate,
    *,
    model: str,
    left_s: float,
    waited_s: float,
    on_text: Callable[[str], None] | None,
    pictures: Mapping[Picture, bytes],
) -> Performed[Any]:
    if left_s < SHORTEST_CALL_S:
        raise EffectTimedOut("Time limit reached before the model answered")
    own_limit_s = settings.LLM_TIMEOUT_S
    request = CompletionRequest(
        model=model,
        messages=effect.messages,
        key=effect.key,
        temperature=effect.temperature,
        top_p=effect.top_p,
        max_tokens=min(effect.max_tokens, settings.LLM_MAX_TOKENS * effect.room),
        timeout_s=min(left_s, own_limit_s),
        json_schema=effect.json_schema,
        pictures=pictures,
    )
    began = time.monotonic()
    try:
        completion = complete(request, on_text=on_text)
    except ModelTimedOut as error:
        if left_s <= own_limit_s:
            spent = Spent(duration_s=time.monotonic() - began, tries=error.tries)
            raise EffectTimedOut(f"Time limit reached: {error}", spent=spent) from None
        raise TryLater(str(error), duration_s=time.monotonic() - began, tries=error.tries) from None
    except ModelUnavailable as error:
        took_s, asked_s = time.monotonic() - began, error.retry_after_s
        # Waiting costs a run no time, yet who gave it seconds does not want it back in an hour: all that it was made to
        # wait has to fit into what is left.
        if asked_s is not None and waited_s + asked_s > left_s - took_s:
            before = f", after {waited_s:.0f} s before" if waited_s else ""
            left = f"the run has {max(0.0, left_s - took_s):.0f} s left"
            reason = f"the model's provider asked to wait {asked_s:.0f} s{before}, and {left}: {error}"
            raise EffectFailed(reason, spent=Spent(duration_s=took_s, tries=error.tries)) from None
        raise TryLater(str(error), duration_s=took_s, tries=error.tries, after_s=asked_s) from None
    except ModelError as error:
        spent = Spent(duration_s=time.monotonic() - began, tries=error.tries)
        raise EffectFailed(str(error), spent=spent) from None
    thought, text = split_thinking(completion.text)
    return Performed(
        value=Generation(
            text=storable(text),
            model=storable(completion.model),
            finish_reason=storable(completion.finish_reason),
            refusal=completion.refusal,
            reasoning="\n".join(filter(None, (completion.reasoning, thought))),
            tool_calls=completion.tool_calls,
            fault=fault_of(
                text,
                finish_reason=completion.finish_reason,
                refusal=completion.refusal,
                tool_calls=completion.tool_calls,
            ),
        ),
        spent=Spent(
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            # As many places as are kept: a replay must not see another sum than the first run of the loop did.
            cost_usd=completion.cost_usd.quantize(Decimal("1e-8"), rounding=ROUND_UP),
            cost_known=completion.cost_known,
            duration_s=time.monotonic() - began,
            is_estimated=completion.is_estimated,
            cached_tokens=completion.cached_tokens,
            reasoning_tokens=completion.reasoning_tokens,
            tries=completion.tries,
        ),
    )


# Names for what the desk issues: a word, the date, the time and chance, `rewind_20250220_143022_k3v9qd`.
#
# The form of the design seed has no chance in it, and two names of the same second would be equal.

# Without letters and digits that people mistake for one another.
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
RANDOM_CHARACTERS = 8


def named(word: str) -> tuple[str, datetime]:
    """A fresh name that begins with `word`, and the time in it, in UTC."""
    now = timezone.now()
    chance = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))
    return f"{word}_{now:%Y%m%d}_{now:%H%M%S}_{chance}", now


# Results of the effects that ask nothing of the outside: what is kept as it is, chance, names, and our own memory.


def value_of(effect: Lookup | Naming | Noted, *, run_id: UUID) -> Any:  # noqa: PLR0911 - one a kind of effect
    """The result of `effect`. Lookups read the database; nothing is written here."""
    match effect:
        case FindSimilarIssues():
            found = find_similar_issues(effect, run_id=run_id)
            return found.model_copy(update={"unknown": read_unknown(effect, run_id=run_id)})
        case RecallFix():
            return recall_fix(effect, run_id=run_id)
        case ReadSession():
            return read_session(effect, run_id=run_id)
        case IssueTicket(draft=draft):
            ticket_id, now = named("rewind")
            return Ticket(ticket_id=ticket_id, timestamp=now, **dict(draft))
        case RecordReport(report=report):
            reflection_id, now = named("ref")
            if report.reflection_id and is_ours(report.reflection_id, run_id=run_id):
                reflection_id = report.reflection_id
            return KeptReport(reflection_id=reflection_id, timestamp=now)
        case Draw(share=share):
            return Drawn(value=secrets.SystemRandom().random(), share=share)
        case DrawCheck(share=share):
            return CheckLots(share=share, sampled_by=secrets.SystemRandom().random())
        case KeepAttempt() | RequestAudit():
            return None
        case RecordMergeSuggestion(suggestion=suggestion):
            project_id = Run.objects.values_list("project_id", flat=True).get(pk=run_id)
            return KeptSuggestion(**suggestion.model_dump(), is_kept=asked_of(project_id, run_id=run_id))
        case _:
            # Kept as it is: the one field that such an effect has beside its key.
            [kept] = (value for name, value in effect if name != "key")
            return kept


# Effects that somebody else brings the result of: the run is let go until then.

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
            run_id = journal.lease.run_id
            turns = turns_for(effect, run_id=run_id)
            if turns is None:
                # Looked for again under the run's lock: turns that came since would else wake nobody.
                let_go = journal.suspend(
                    effect,
                    state=RunState.WAITING_AGENT,
                    waiting_for=f"turn {effect.after + effect.count}",
                    follow=follow,
                    is_there=lambda: turns_for(effect, run_id=run_id) is not None,
                )
                turns = None if let_go else turns_for(effect, run_id=run_id)
            return journal.note(effect, turns, follow=follow) if turns is not None else None
        case Wait():
            # Nothing, once the time is over; until then the run is let go and woken when it is due.
            now = timezone.now()
            due = (journal.began() or now) + timedelta(seconds=effect.delay_s)
            if now >= due:
                return journal.note(effect, None, follow=follow)
            journal.suspend(effect, state=RunState.WAITING_TIME, waiting_for=effect.why[:40], follow=follow, due=due)
            journal.wakes_after_s = (due - now).total_seconds()
            return None
    return None


def turns_for(effect: AwaitTurns, *, run_id: Any) -> Turns | None:
    """The turns after number `effect.after` where they are what the effect waits for, else None.

    Not all at once where very many came, and long ones shortened: a step keeps them beside the session itself.
    """
    transcript = Transcript.objects.get(run=run_id)
    rows = TranscriptTurn.objects.filter(transcript=transcript, seq__gt=effect.after).defer("message").order_by("seq")
    turns = tuple(
        turn.model_copy(update={"content": cut_middle(turn.content, LONGEST_TURN)})
        for turn in (row.get_turn() for row in rows[:MOST_TURNS_AT_ONCE])
    )
    last = turns[-1].seq if turns else effect.after
    is_end = transcript.is_ended and last >= transcript.turns_made
    failed = effect.or_tool_failure and any(turn.is_tool_failure for turn in turns)
    if len(turns) >= effect.count or failed or is_end:
        return Turns(turns=turns, is_end=is_end)
    return None
