"""Beginning the two forks that look back: at a session in the transaction that ends it, at a run soon after its end.

They are best effort: whatever goes wrong here is logged, and the end stands without them.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import QuerySet

from notebook_app.public import compiled
from reflection_app.adapters.llm import can_look_back
from reflection_app.core.models import Project
from reflection_app.loops.after import looking_back
from reflection_app.loops.project_settings import NotebookSettings, ReflectionMode
from reflection_app.loops.task_spec import NOT_FOR_TASKS, Limits, Mode, TaskSpec
from reflection_app.loops.verdicts import Outcome
from reflection_app.runs.batch import Batch
from reflection_app.runs.models import Run
from reflection_app.runs.queueing import announce, begin_run, is_scripted
from reflection_app.sessions.looked_back_at import has_conversation
from reflection_app.sessions.models import LookBackDue, Reflector, ReflectorKind, Transcript
from reflection_app.tasks.models import Task

# When work is reflected on: as the work itself says, else its project, else the desk.


def reflection_mode(usual: NotebookSettings, *, own: str = "") -> ReflectionMode:
    """Return the mode for work of a project with the settings `usual`; `own` is the work's own mode, or empty."""
    return said_mode(usual, own=own) or ReflectionMode(settings.REFLECTION_MODE)


def said_mode(usual: NotebookSettings, *, own: str = "") -> ReflectionMode | None:
    """Return the mode chosen for this work or its project, or None if only the server's setting applies."""
    return ReflectionMode(own) if own else usual.reflection


def is_switched_on(kind: ReflectorKind, usual: NotebookSettings, *, own: dict[str, bool]) -> bool:
    """Return True if this reflector is on: by the work's own switch, else by its project's."""
    of_project = usual.error_reflector if kind is ReflectorKind.ERRORS else usual.memory_reflector
    return own.get(kind.value, of_project)


log = logging.getLogger(__name__)

LONGEST_TITLE = 110
MOST_DUE_AT_ONCE = 100
LIMITS = Limits(max_iterations=5, token_budget=60_000, time_budget_s=300.0)


@dataclass(frozen=True)
class Fork:
    """One of the two: its mode, the role of its model, and how the keys of its model calls begin."""

    kind: ReflectorKind
    mode: Mode
    role: str
    key: str


FORKS = (
    Fork(ReflectorKind.ERRORS, Mode.ERROR_REFLECTION, looking_back.ERRORS_ROLE, looking_back.ERRORS_KEY),
    Fork(ReflectorKind.MEMORY, Mode.MEMORY_REFLECTION, looking_back.MEMORIES_ROLE, looking_back.MEMORIES_KEY),
)


@dataclass(frozen=True)
class Subject:
    """What is looked back at: a run, or a session without one."""

    project: Project
    title: str
    agent: str
    own_mode: str
    own_switches: dict[str, bool]
    models: dict[str, str]
    run: Run | None = None
    transcript: Transcript | None = None


@compiled
def _what_decides(run_id: UUID) -> QuerySet[Run, tuple[Any, ...]]:
    return Run.objects.filter(pk=run_id).values_list(
        *("task__reflection", "task__reflector_switches", "task__models_by_role"),
        *("project__notebook", "project__models_by_role", "spec__models", "spec__chosen_models"),
    )


def is_due_after(run: Run) -> bool:
    """Return True if a reflector will begin on the run that ends, by its task, its project and the server's settings.

    Costs one query, so that the background worker is not asked about runs that nobody reflects on. If the answer cannot
    be given, it is True: the background worker logs why.
    """
    if Mode(run.mode) in NOT_FOR_TASKS or run.outcome == Outcome.CANCELLED:
        return False
    [(mode, switches, of_task, notebook, of_project, of_run, chosen)] = _what_decides(run.pk)
    try:
        usual = NotebookSettings.model_validate(notebook)
        models = of_run if is_scripted(of_run) else of_project | of_task | (chosen or {})
        return bool(chosen_forks(usual, own_mode=mode, own_switches=switches, models=models))
    except Exception:  # the end of a run must not fail for want of a reflection
        log.exception("it could not be decided who reflects on %s", run)
        return True


def chosen_forks(
    usual: NotebookSettings, *, own_mode: str, own_switches: dict[str, bool], models: dict[str, str]
) -> list[Fork]:
    """Return the reflectors that begin on ended work of a project with the settings `usual`.

    The work's own mode and switches come first, then its project's, then the server's.
    """
    if not reflection_mode(usual, own=own_mode).is_after:
        return []
    is_asked_for = said_mode(usual, own=own_mode) is not None
    return [
        fork
        for fork in FORKS
        if is_switched_on(fork.kind, usual, own=own_switches)
        and can_look_back(fork.role, models, key=fork.key, is_asked_for=is_asked_for)
    ]


def begin_due_reflectors(*, most: int = MOST_DUE_AT_ONCE) -> int:
    """Begins the forks that look back at runs that have ended, the oldest first; how many runs were gone through.

    Only runs that `is_due_after` found reflectors for are due. Not in the transactions that end them: whoever waits for
    a run need not wait for that.
    """
    due = list(LookBackDue.objects.order_by("id").values_list("pk", "run_id")[:most])
    for due_id, run_id in due:
        try:
            with transaction.atomic():
                # Whoever undoes the run's end has locked it; then there is nothing due any more.
                run = Run.objects.select_for_update(of=("self",)).defer("spec").filter(pk=run_id).first()
                is_due = LookBackDue.objects.filter(pk=due_id).delete()[0]
                if is_due and run is not None and run.is_finished and has_conversation(run):
                    _begin_safely(partial(_subject_of_run, run), name=str(run))
        except (OperationalError, InterfaceError) as error:
            log.warning("run %s is looked back at later: %s", run_id, error)
    return len(due)


def begin_reflectors_for_transcript(transcript: Transcript) -> None:
    """Begins the forks that look back at a session which has ended; call it in the transaction that ends it."""
    if transcript.turns_made:
        _begin_safely(lambda: _subject_of_transcript(transcript), name=str(transcript))


def _subject_of_run(run: Run) -> Subject:
    task, project = run.task, run.project
    models: dict[str, str] = run.get_spec().models
    return Subject(
        project=project,
        title=task.title,
        agent=task.agent,
        own_mode=task.reflection,
        own_switches=task.reflector_switches,
        # A script plays all the roles of its run; else who looks back is as the project has it by now, behind what was
        # chosen for this work.
        models=models if is_scripted(models) else project.models_by_role | run.chosen_models,
        run=run,
    )


def _subject_of_transcript(transcript: Transcript) -> Subject:
    project = transcript.project
    return Subject(
        project=project,
        title=transcript.objective.strip()[:LONGEST_TITLE] or str(transcript),
        agent=transcript.agent,
        own_mode=transcript.reflection,
        own_switches=transcript.reflector_switches,
        models=project.models_by_role,
        transcript=transcript,
    )


def _begin_safely(subject: Callable[[], Subject], *, name: str) -> None:
    try:
        with transaction.atomic():
            _begin(subject())
    except (OperationalError, InterfaceError):
        # It passes, and then they can be begun.
        raise
    except Exception:  # whatever else it is, the work has ended and that must be kept
        log.exception("nobody looks back at %s", name)


def _begin(subject: Subject) -> None:
    forks = chosen_forks(
        subject.project.get_notebook(),
        own_mode=subject.own_mode,
        own_switches=subject.own_switches,
        models=subject.models,
    )
    if not forks:
        return
    about = {"run": subject.run, "transcript": subject.transcript}
    begun = set(Reflector.objects.filter(**about).values_list("kind", flat=True))
    batch, runs = Batch(), []
    for fork in forks:
        if fork.kind not in begun:
            # The queued run of the fork, with a task of its own; written with the batch.
            spec = TaskSpec(
                objective=f"{fork.kind.label}: {subject.title}",
                mode=fork.mode,
                agent=subject.agent,
                limits=LIMITS,
                models=subject.models,
            )
            task = Task(
                project=subject.project,
                objective=spec.objective,
                mode=spec.mode.value,
                agent=spec.agent,
                limits=spec.limits.model_dump(mode="json"),
            )
            batch.insert(task)
            run = begin_run(task, spec, handed_in_by=subject.run.handed_in_by if subject.run else (), beside=batch)
            batch.insert(Reflector(project=subject.project, kind=fork.kind, fork=run, **about))
            runs.append(run)
    batch.write()
    announce(runs)
