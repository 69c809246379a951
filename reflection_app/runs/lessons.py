"""Lessons a run is told, the rows that remember them, and what became of its first attempt."""

import logging
import time
from collections.abc import Iterable
from secrets import SystemRandom
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from notebook_app.public import (
    BINDING_KINDS,
    Drawn,
    EntryFilter,
    EntryKind,
    binding_rules,
    bounded,
    compiled,
    fitting,
    new_boundary,
    recall,
    recorded_exposures,
    settle,
    settled,
    told_of,
    usable_entries,
    was_drawn_for,
    withhold,
)
from reflection_app.adapters.llm.question_vectors import query_vector
from reflection_app.core.models import Project
from reflection_app.loops.attempts import first_attempt_succeeded
from reflection_app.loops.effect import Performed, Spent
from reflection_app.loops.lessons import Gate, Lesson, Lessons, RecallLessons, Rejected, Rule
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.storable import storable
from reflection_app.loops.verdicts import Judgement, Outcome, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models import Report
from reflection_app.runs.following import StepCommit, follows_from
from reflection_app.runs.models import VOID, Run, Verdict

# Referee, verdict and score, as their row has them.
FirstVerdict = tuple[int, str, float | None]

# How a run's first attempt went, as it is told to the lessons that were drawn for it.


def settle_first_attempt(run: Run) -> None:
    """Records how the run's first attempt went for the lessons drawn for it, as its rows tell it now.

    Of a run that goes on again, what was recorded is taken back. Call it where the caller's transaction locked `run`.
    """
    if was_drawn_for(run.project_id, subject=str(run.pk)):
        rows = Verdict.objects.filter(attempt__run=run, attempt__number=1).exclude(VOID).order_by("created_at", "id")
        kept = run.best_attempt.number if run.best_attempt else None
        settle(
            run.project_id,
            subject=str(run.pk),
            succeeded=_first_succeeded(run, rows.values_list("referee", "verdict", "score"), kept=kept),
        )


def settled_first_attempt(
    run: Run, verdicts: Iterable[FirstVerdict], *, kept: int | None
) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that does the same, with its values; `verdicts` are the first attempt's, oldest first."""
    return settled(run.project_id, subject=str(run.pk), succeeded=_first_succeeded(run, verdicts, kept=kept))


def _first_succeeded(run: Run, verdicts: Iterable[FirstVerdict], *, kept: int | None) -> bool | None:
    judgements = [
        Judgement(attempt=1, referee=Referee(referee), verdict=VerdictName(verdict), score=score)
        for referee, verdict, score in verdicts
    ]
    outcome = Outcome(run.outcome) if run.outcome else None
    return first_attempt_succeeded(judgements, outcome=outcome, kept=kept, made=run.attempts_made)


def can_still_count(run: Run) -> bool:
    """Whether a lesson given to this run now can show its worth.

    Not where its first attempt is made, nor where it was scripted, nor in a fork or a redo: they begin with more than
    a task, and their like with no lesson does not exist.
    """
    return not (run.is_scripted or run.parent_id or run.attempts_made or run.is_finished)


log = logging.getLogger(__name__)

# Lessons are a help: no run waits long for them.
EMBED_WITHIN_S = 2.0
LOOK_WITHIN_MS = 3_000


@compiled
def _usable_entry(project_id: UUID) -> QuerySet[Any, UUID]:
    return usable_entries(project_id).order_by().values_list("pk", flat=True)[:1]


def notebook_for(project: Project, *, is_managed: bool) -> dict[str, Any]:
    """Return the fields of a new run's spec that say what it gets of the notebook; nothing while no entry is approved.

    An outside agent retrieves lessons itself.
    """
    if not is_managed or not _usable_entry(project.pk):
        return {"lessons": None, "injects_rules": False}
    return {"lessons": project.get_notebook().lessons, "injects_rules": True}


def recall_lessons(effect: RecallLessons, *, run: Run) -> Performed[Any]:
    """Return the run's rules and lessons. On any problem the run goes on without lessons, and the result says why."""
    began = time.monotonic()
    value = Lessons()
    try:
        if effect.rules_characters is not None:
            value = _with_rules(effect, project_id=run.project_id)
        if effect.most:
            value = _with_lessons(effect, value, project_id=run.project_id)
    except Exception as error:  # lessons are a help, and no run fails for want of them
        log.exception("no lessons could be recalled for run %s", run.pk)
        value = value.model_copy(update={"problem": storable(f"{type(error).__name__}: {error}")[:400]})
    return Performed(value=value, spent=Spent(duration_s=time.monotonic() - began))


def _with_rules(effect: RecallLessons, *, project_id: UUID) -> Lessons:
    """Return the rules and preferences for the effect's agent, relevant to the task or not."""
    found = binding_rules(project_id, agent=effect.agent, longest=effect.rules_characters or 0)
    left_out = [(one, Gate.NO_ROOM) for one in found.no_room] + [(one, Gate.FLAGGED) for one in found.flagged]
    return Lessons(
        rules_block=found.text,
        rules=tuple(Rule(entry_id=one.id, version=one.version, kind=one.kind, name=one.name) for one in found.entries),
        rejected=tuple(Rejected(entry_id=one.id, version=one.version, gate=gate) for one, gate in left_out),
    )


def _with_lessons(effect: RecallLessons, value: Lessons, *, project_id: UUID) -> Lessons:
    """Return `value` with the lessons for the task, and for other entries why they are not used."""
    vector = query_vector(effect.question, timeout_s=EMBED_WITHIN_S)
    # Journals from before the two were apart hold rules among the lessons.
    kinds = tuple(kind for kind in EntryKind if effect.rules_characters is None or kind not in BINDING_KINDS)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {LOOK_WITHIN_MS}")
        among = EntryFilter(kinds=kinds, agent=effect.agent)
        found = recall(project_id, effect.question, vector=vector, among=among, limit=effect.most)
    boundary = new_boundary()
    texts = [told_of(one.entry) for one in found.entries]
    # Before the draws: what does not fit would not have been told, and is no hold-out.
    room = len(fitting(texts, boundary=boundary, most=effect.most_characters))
    drawn = withhold(found.entries[:room], share=effect.share, chance=SystemRandom().random)
    lessons = tuple(
        Lesson(
            entry_id=one.entry.id,
            version=one.entry.version,
            kind=one.entry.kind,
            name=one.entry.name,
            text="" if draw.is_withheld else text.text,
            rank=draw.rank,
            score=draw.score,
            words=one.words,
            likeness=one.likeness,
            share=draw.share,
            draw=draw.draw,
            is_withheld=draw.is_withheld,
        )
        for one, draw, text in zip(found.entries, drawn, texts, strict=False)
    )
    given = [text for text, draw in zip(texts, drawn, strict=False) if not draw.is_withheld]
    rejected = [
        Rejected(entry_id=one.entry.id, version=one.entry.version, gate=Gate.NO_ROOM, confidence=min(one.score, 1.0))
        for one in found.entries[room:]
    ]
    for one in found.rejected:
        gate = Gate.FLAGGED if one.is_flagged else Gate.OVER_LIMIT if one.fits else Gate.NOT_RELEVANT
        rejected.append(Rejected(entry_id=one.entry_id, version=one.version, gate=gate, confidence=one.confidence))
    return value.model_copy(
        update={
            "block": bounded(given, boundary=boundary, most=effect.most_characters),
            "lessons": lessons,
            "used_meaning": found.used_meaning,
            "looked_at": found.looked_at,
            "surest": found.surest,
            "least_sure": found.least_sure,
            "rejected": (*value.rejected, *rejected),
        }
    )


@follows_from(RecallLessons)
def write_exposures(_effect: RecallLessons, recalled: Lessons, commit: StepCommit) -> None:
    """Keeps who was told what, in the transaction that keeps the step."""
    run = commit.run
    if not recalled.lessons and not recalled.rules:
        return
    is_counted = can_still_count(run)
    drawn = [
        (
            Drawn(
                entry_id=one.entry_id,
                entry_version=one.version,
                rank=one.rank,
                score=one.score,
                share=one.share,
                draw=one.draw,
                is_withheld=one.is_withheld,
            ),
            is_counted,
        )
        for one in recalled.lessons
    ]
    # Rules have no control group, so they never count for lift.
    drawn += [
        (Drawn(one.entry_id, one.version, rank=rank, score=1.0, share=0, draw=1, is_withheld=False), False)
        for rank, one in enumerate(recalled.rules, 1)
    ]
    statement, values = recorded_exposures(run.project_id, subject=str(run.pk), drawn=drawn)
    commit.batch.add(statement, *values)


# What a run is told for a better start: the hints that normal iterations (3.3.5) of the same agent left behind.

MOST_HINTS = 3
MOST_LOOKED_AT = 20
LONGEST_HINT = 1_000


def hints_for(project: Project, *, agent: str, kind: str) -> tuple[str, ...]:
    """The newest hints from the agent's runs on tasks of this kind that came to an accepted answer, each once.

    A report whose class a person corrected to another leaves none. A task without an agent's name has none.
    """
    if not agent:
        return ()
    newest = _newest_hints(project.pk, agent[:120], kind)
    hints = dict.fromkeys(" ".join(str(hint or "").split())[:LONGEST_HINT] for hint in newest)
    return tuple(hint for hint in hints if hint)[:MOST_HINTS]


@compiled
def _newest_hints(project_id: UUID, agent: str, kind: str) -> QuerySet[Report, Any]:
    iteration = ErrorClass.NORMAL_ITERATION.value
    holds = Q(corrected_type=iteration) | Q(corrected_type__isnull=True, error_type=iteration)
    rows = Report.objects.filter(
        holds, project=project_id, agent=agent, run__task__kind=kind, run__outcome=Outcome.SUCCEEDED.value
    )
    return rows.order_by("-created_at", "-id").values_list("content__hint", flat=True)[:MOST_LOOKED_AT]
