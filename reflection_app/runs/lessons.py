"""Lessons a run is told, the rows that remember them, and what became of its first attempt."""

import logging
import time
from secrets import SystemRandom
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from notebook_app.public import (
    Drawn,
    EntryFilter,
    bounded,
    fitting,
    has_approved,
    new_boundary,
    recall,
    record_exposures,
    settle,
    told_of,
    was_drawn_for,
    withhold,
)
from reflection_app.adapters.llm.question_vectors import query_vector
from reflection_app.core.models import Project
from reflection_app.loops.attempts import first_attempt_succeeded
from reflection_app.loops.effect import Performed, Spent
from reflection_app.loops.lessons import Lesson, Lessons, RecallLessons
from reflection_app.loops.project_settings import LessonSettings
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.storable import storable
from reflection_app.loops.verdicts import Judgement, Outcome, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models import Report
from reflection_app.runs.following import StepCommit, follows_from
from reflection_app.runs.models import VOID, Run, Verdict

# How a run's first attempt went, as it is told to the lessons that were drawn for it.


def settle_first_attempt(run: Run) -> None:
    """Records how the run's first attempt went for the lessons drawn for it, as its rows tell it now.

    Of a run that goes on again, what was recorded is taken back. Call it where the caller's transaction locked `run`.
    """
    subject = str(run.pk)
    if was_drawn_for(run.project_id, subject=subject):
        rows = Verdict.objects.filter(attempt__run=run, attempt__number=1).exclude(VOID).order_by("created_at", "id")
        judgements = [
            Judgement(attempt=1, referee=Referee(referee), verdict=VerdictName(verdict), score=score)
            for referee, verdict, score in rows.values_list("referee", "verdict", "score")
        ]
        kept = run.best_attempt.number if run.best_attempt else None
        outcome = Outcome(run.outcome) if run.outcome else None
        succeeded = first_attempt_succeeded(judgements, outcome=outcome, kept=kept, made=run.attempts_made)
        settle(run.project_id, subject=subject, succeeded=succeeded)


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


def lessons_of(project: Project, *, is_managed: bool) -> LessonSettings | None:
    """How many lessons a new run is told; None where it is told none, also because the notebook has none yet."""
    settings = project.get_notebook().lessons
    if settings is None or not is_managed or not has_approved(project.pk):
        return None
    return settings


def recall_lessons(effect: RecallLessons, *, run_id: UUID) -> Performed[Any]:
    """What the run is told. Whatever goes wrong, the run goes on without lessons, and the result says why."""
    began = time.monotonic()
    try:
        vector = query_vector(effect.question, timeout_s=EMBED_WITHIN_S)
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = {LOOK_WITHIN_MS}")
            project_id = Run.objects.values_list("project_id", flat=True).get(pk=run_id)
            among = EntryFilter(agent=effect.agent)
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
                kind=one.entry.kind.value,
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
        value = Lessons(
            block=bounded(given, boundary=boundary, most=effect.most_characters),
            lessons=lessons,
            used_meaning=found.used_meaning,
            looked_at=found.looked_at,
            surest=found.surest,
            least_sure=found.least_sure,
        )
    except Exception as error:  # lessons are a help, and no run fails for want of them
        log.exception("no lessons could be recalled for run %s", run_id)
        value = Lessons(problem=storable(f"{type(error).__name__}: {error}")[:400])
    finally:
        if not connection.in_atomic_block:
            connection.close()
    return Performed(value=value, spent=Spent(duration_s=time.monotonic() - began))


@follows_from(RecallLessons)
def write_exposures(_effect: RecallLessons, recalled: Lessons, commit: StepCommit) -> None:
    """Keeps who was told what, in the transaction that keeps the step."""
    run = commit.run
    if not recalled.lessons:
        return
    drawn = [
        Drawn(
            entry_id=one.entry_id,
            entry_version=one.version,
            rank=one.rank,
            score=one.score,
            share=one.share,
            draw=one.draw,
            is_withheld=one.is_withheld,
        )
        for one in recalled.lessons
    ]
    record_exposures(run.project_id, subject=str(run.pk), drawn=drawn, is_counted=can_still_count(run))


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
    iteration = ErrorClass.NORMAL_ITERATION.value
    holds = Q(corrected_type=iteration) | Q(corrected_type__isnull=True, error_type=iteration)
    rows = Report.objects.filter(
        holds, project=project, agent=agent[:120], run__task__kind=kind, run__outcome=Outcome.SUCCEEDED.value
    )
    newest = rows.order_by("-created_at", "-id").values_list("content__hint", flat=True)[:MOST_LOOKED_AT]
    hints = dict.fromkeys(" ".join(str(hint or "").split())[:LONGEST_HINT] for hint in newest)
    return tuple(hint for hint in hints if hint)[:MOST_HINTS]
