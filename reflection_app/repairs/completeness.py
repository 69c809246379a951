"""Completeness checks of histories that are handed in, and supplements that keep being missing."""

from dataclasses import replace
from hashlib import sha256
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from notebook_app.public import EntryKind, Proposal, keep_all, lock_notebook, proposed_from, take_back_proposal
from reflection_app.adapters.llm.roles import has_vision
from reflection_app.attachments.keeping import MOST_FILES
from reflection_app.attachments.produced import keep_history_files
from reflection_app.core.audit import Actor
from reflection_app.core.json_sizes import at_most
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import CheckNumbers, HistoryStep, SettingsFrom
from reflection_app.loops.completeness.files import MOST_REQUIRED, FileRequirement
from reflection_app.loops.completeness.sampling import When
from reflection_app.loops.content_parts import MediaPart, media_of_parts
from reflection_app.loops.effects import RecordCompleteness
from reflection_app.loops.requirements import Requirements
from reflection_app.loops.storable import AgentName
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.loops.values import Value
from reflection_app.repairs.models import Supplement
from reflection_app.runs.following import goes_to_notebook
from reflection_app.runs.models import Run, Step
from reflection_app.tasks.submission import LARGEST_METADATA
from reflection_app.tasks.submitting import begin_own_task

# A history of work that was done elsewhere, submitted to be checked for what it lacks: a run that asks one model and
# carries nothing out.

MOST_STEPS = 500
MOST_TOOLS = 100
LONGEST_OBJECTIVE = 20_000
LONGEST_OPERATION = 2_000
LONGEST_RESULT = 20_000
LARGEST_HISTORY = 1_000_000
LARGEST_TOOLS = 500_000

# A history is longer than a task: where a project's limits are lower, these hold for the one call that is made.
CHECK_LIMITS = Limits(max_iterations=1, token_budget=100_000, time_budget_s=300.0)


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


class StepInput(HistoryStep):
    """One step of the work done. A failed step has `ok: false` and counts as not done.

    With the `arguments` of its call, a repeated call is recognized even if it is worded differently.
    """

    operation: Annotated[str, Field(min_length=1, max_length=LONGEST_OPERATION), AfterValidator(_said)]
    tool: str = Field(default="", max_length=64)
    result: str = Field(default="", max_length=LONGEST_RESULT)


class UsableTool(Value):
    """An available tool. `parameters` is a JSON Schema of its arguments."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
    description: str = Field(default="", max_length=8_000)
    parameters: dict[str, JsonValue] = Field(default_factory=dict)


def _is_file(part: dict[str, JsonValue]) -> dict[str, JsonValue]:
    found = media_of_parts([part])
    if len(found) != 1 or found[0].url:
        raise ValueError("is no file: it needs its data in Base64, or the id of what was uploaded before")
    return part


FilePart = Annotated[dict[str, JsonValue], AfterValidator(_is_file)]


class CheckSettings(CheckNumbers):
    """Settings of this check only. Omitted settings come from the project."""


class CheckSubmission(Value):
    """The objective, the steps done and the available tools."""

    objective: Annotated[str, Field(min_length=1, max_length=LONGEST_OBJECTIVE), AfterValidator(_said)]
    history: Annotated[tuple[StepInput, ...], Field(max_length=MOST_STEPS), at_most(LARGEST_HISTORY)]
    tools: Annotated[tuple[UsableTool, ...], Field(max_length=MOST_TOOLS), at_most(LARGEST_TOOLS)] = ()
    kind: str = Field(default="", max_length=60)
    agent: AgentName = Field(default="", max_length=120)
    external_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    files: Annotated[tuple[FilePart, ...], Field(max_length=MOST_FILES)] = Field(
        default=(),
        exclude=True,
        description="files that the work produced, inspected before the model is asked: parts with Base64 data and "
        'a name, as in the content of attempts, or earlier uploads: `{"type": "attachment", "id": "…"}`',
    )
    required_files: Annotated[tuple[FileRequirement, ...], Field(max_length=MOST_REQUIRED)] = Field(
        default=(), description="files that the work must have produced; a missing or faulty one makes it incomplete"
    )
    settings: CheckSettings = CheckSettings()
    metadata: Annotated[dict[str, JsonValue], at_most(LARGEST_METADATA)] = Field(default_factory=dict)

    @property
    def media(self) -> tuple[MediaPart, ...]:
        """The files, decoded."""
        return tuple(
            replace(one, number=number) for number, part in enumerate(self.files) for one in media_of_parts([part])
        )


@transaction.atomic
def check_completeness(project: Project, submission: CheckSubmission, *, actor: Actor) -> Run:
    """The queued run of the check; the workers are told once it is committed."""
    # The project's limits or a check's, the larger of each; the project's cost budget holds as it is.
    limits = project.get_limits()
    limits = limits.model_copy(
        update={
            "max_iterations": 1,
            "token_budget": max(limits.token_budget, CHECK_LIMITS.token_budget),
            "time_budget_s": max(limits.time_budget_s, CHECK_LIMITS.time_budget_s),
        }
    )
    usual = project.get_completeness()
    spec = TaskSpec(
        objective=submission.objective,
        mode=Mode.COMPLETENESS_CHECK,
        kind=submission.kind,
        agent=submission.agent,
        tools=tuple(ToolSpec(**tool.model_dump()) for tool in submission.tools),
        history=submission.history,
        requirements=Requirements(files=submission.required_files) if submission.required_files else None,
        has_history_files=bool(submission.files),
        # What is asked for here is done, also where the project has it off.
        completeness=submission.settings.over(usual).model_copy(update={"when": When.ON}),
        completeness_from=SettingsFrom.TASK if submission.settings.chosen else project.completeness_from(),
        limits=limits,
        has_vision=has_vision(project.models_by_role),
        models=project.models_by_role,
    )
    run = begin_own_task(project, spec, actor=actor, external_id=submission.external_id, metadata=submission.metadata)
    keep_history_files(run, submission.media)
    return run


# Supplements that keep recurring: what is found missing again and again is offered to the notebook.

RECURS_FROM = 3
MOST_EVIDENCE = 50
MOST_RECURRING_TOOLS = 30
KIND = EntryKind.SUPPLEMENT


@goes_to_notebook(RecordCompleteness)
def propose_what_recurs(_effect: RecordCompleteness, run: Run, step: Step) -> None:
    """Offers each supplement that was found missing by this step, and that runs of this kind of task lacked before.

    Call it in a transaction after the one that wrote their rows, so that of two runs at the same moment the second sees
    the first one's. A run that has a parent is no evidence of its own.
    """
    if run.parent_id is not None:
        return
    lock_notebook(run.project_id)
    found = Supplement.objects.filter(completeness_check__step=step)
    supplements = {source_of(one.task_kind, one.operation_key): one for one in found}
    for source, one in sorted(supplements.items(), key=lambda item: item[0]):
        if proposed_from(run.project_id, sources=[source]):
            keep_all(run.project_id, [_proposal(one, run_id=run.pk)])
            continue
        runs = runs_that_lacked(one)
        if len(runs) >= RECURS_FROM:
            keep_all(run.project_id, [_proposal(one, run_id=each) for each in runs[-MOST_EVIDENCE:]])


def withdraw_what_recurred(run: Run, one: Supplement) -> None:
    """Takes back that `run` lacked it, whose row is gone, and the whole offer where too few other runs did.

    Call it with the notebook locked. A fork was no evidence.
    """
    if run.parent_id is not None:
        return
    lacked = runs_that_lacked(one)
    if run.pk not in lacked:
        recurs = len(lacked) >= RECURS_FROM
        for run_id in [run.pk, *([] if recurs else lacked)]:
            take_back_proposal(run.project_id, _proposal(one, run_id=run_id))


def source_of(task_kind: str, key: str) -> str:
    """Return the name by which the notebook knows what these words ask for in this kind of task."""
    return f"{KIND}:{sha256(f'{task_kind}\0{key}'.encode()).hexdigest()[:40]}"


def _with_same_words(one: Supplement) -> QuerySet[Supplement]:
    """Return the supplements with the same words, oldest first. Forks are no evidence of their own."""
    return Supplement.objects.filter(
        project=one.project_id,
        task_kind=one.task_kind,
        operation_key=one.operation_key,
        completeness_check__run__parent=None,
    ).order_by("created_at", "id")


def runs_that_lacked(one: Supplement) -> list[UUID]:
    """Return the runs in which it was found missing, oldest first."""
    return list(dict.fromkeys(_with_same_words(one).values_list("completeness_check__run", flat=True)))


def _proposal(lacked: Supplement, *, run_id: UUID) -> Proposal:
    """The offer as the oldest supplement with these words puts it."""
    one = _with_same_words(lacked).first() or lacked
    kind = f"of the kind “{one.task_kind}”" if one.task_kind else "without a kind"
    reason = f"\n\nWhy: {one.reason}" if one.reason else ""
    return Proposal(
        kind=KIND,
        name=one.operation,
        source=source_of(one.task_kind, one.operation_key),
        category=one.task_kind,
        description=f"Tasks {kind} were found to lack this again and again.",
        content=f"Before it is summed up: {one.operation}{reason}",
        details={"operation": one.operation, "suggested_tools": one.suggested_tools[:MOST_RECURRING_TOOLS]},
        evidence={"run": str(run_id)},
    )
