"""Failed calls that agents report: taken, diagnosed, and how the fix went."""

import json
from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, AliasChoices, Field, JsonValue, model_validator

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, InvalidInput, OutcomeKnown
from reflection_app.core.json_sizes import at_most
from reflection_app.core.models import Project
from reflection_app.loops.catalogue import PLACE
from reflection_app.loops.diagnosis.diagnose import signature_of, symptoms_of
from reflection_app.loops.diagnosis.diagnoses import (
    LONGEST_DELAY_S,
    CorrectiveAction,
    Diagnosis,
    ErrorType,
    FailedCall,
    FixOutcome,
    JudgedRemedy,
    Remedy,
)
from reflection_app.loops.diagnosis.diagnosing import by_memory_or_rules
from reflection_app.loops.storable import AgentName, is_storable
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.loops.values import Value
from reflection_app.metrics.models import FigureDue
from reflection_app.repairs.fix_pairs import best_fix, keep_outcome
from reflection_app.repairs.models import ToolFailure
from reflection_app.reviews.own_work import refuse_own_work
from reflection_app.runs.models import Run
from reflection_app.tasks.submitting import begin_own_task
from reflection_app.teams.tools import LONGEST_DESCRIPTION, usable_schema

# A failed call as an outside agent reports it, and how what was done about it went.

LONGEST_TOOL = 200
LONGEST_ERROR = 20_000
LONGEST_FIX = 2_000
LARGEST_PARAMS = 65_536
MOST_TOOLS = 50
LARGEST_TOOLS = 200_000
LONGEST_RETRY_AFTER_S = 30 * 86_400.0


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


ToolName = Annotated[str, Field(min_length=1, max_length=LONGEST_TOOL), AfterValidator(_said)]
Params = Annotated[dict[str, JsonValue], at_most(LARGEST_PARAMS)]


class Storable(Value):
    """A value that PostgreSQL can store, also where it comes from a form: REST refuses such bodies itself."""

    @model_validator(mode="after")
    def check_it_can_be_stored(self) -> "Storable":
        if not is_storable(self.model_dump(mode="json")):
            raise ValueError("a text holds a NUL character or half a surrogate pair, which cannot be stored")
        return self


class OtherTool(Value):
    """A tool that the agent could call instead. `parameters` is the JSON Schema of its arguments."""

    name: str = Field(min_length=1, max_length=64)
    description: str = Field(default="", max_length=LONGEST_DESCRIPTION)
    parameters: Annotated[dict[str, JsonValue], AfterValidator(usable_schema)] = Field(default_factory=dict)


class ToolFailureSubmission(Value):
    """A failed call, as reported by the agent that made it."""

    tool: ToolName = Field(
        validation_alias=AliasChoices("tool", "failed_tool"),
        description="the tool that failed, by the name the agent uses; alias `failed_tool`",
    )
    params: Params = Field(
        default_factory=dict,
        validation_alias=AliasChoices("params", "failed_params"),
        description="arguments of the call; alias `failed_params`",
    )
    error_message: Annotated[str, Field(min_length=1, max_length=LONGEST_ERROR), AfterValidator(_said)]
    status: int | None = Field(default=None, ge=100, le=599, description="HTTP status, if there was one")
    retry_after_seconds: float | None = Field(
        default=None,
        ge=0,
        le=LONGEST_RETRY_AFTER_S,
        allow_inf_nan=False,
        description="value of the Retry-After header, in seconds",
    )
    agent: AgentName = Field(default="", max_length=120)
    external_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    run_id: UUID | None = Field(default=None, description="the run of this project that the call belongs to")
    tools: Annotated[tuple[OtherTool, ...], Field(max_length=MOST_TOOLS), at_most(LARGEST_TOOLS)] = Field(
        default=(), description="tools that could be called, including the failed one"
    )

    def failed_call(self, *, is_repeated: bool) -> FailedCall:
        """The call as it is diagnosed."""
        return FailedCall(
            tool=self.tool,
            params=self.params,
            error=self.error_message,
            status=self.status,
            retry_after_s=self.retry_after_seconds,
            is_repeated=is_repeated,
            tools=tuple(ToolSpec.model_validate(tool.model_dump()) for tool in self.tools),
        )


class FixOutcomeSubmission(Storable):
    """Outcome of the agent's next try. `tool`, `params` and `delay_seconds` are what it did, if different from the
    advice; `fix` describes it.
    """

    worked: bool
    tool: ToolName | None = None
    params: Params | None = None
    fix: str = Field(default="", max_length=LONGEST_FIX)
    delay_seconds: float | None = Field(default=None, ge=0, le=LONGEST_DELAY_S, allow_inf_nan=False)
    note: str = Field(default="", max_length=LONGEST_FIX)


# What failed yesterday and fails today has not failed twice in a row.
IN_A_ROW = timedelta(hours=24)
LONGEST_QUOTE = 1_000
LONGEST_TOOL_NAME = 64


@transaction.atomic
def report_tool_failure(
    project: Project, data: ToolFailureSubmission, *, actor: Actor, judged: JudgedRemedy | None = None
) -> ToolFailure:
    """The failure, kept: with its diagnosis where a fix pair or a rule fits, else with the run that asks a model.

    `judged` is what the error means by the classifier, which is asked beforehand: no model is waited for here.
    Raises InvalidInput where it names a run that the project does not have.
    """
    run = None
    if data.run_id is not None:
        run = Run.objects.select_related("task").filter(project=project, pk=data.run_id).first()
        if run is None:
            raise InvalidInput(
                _("The report was rejected. Nothing was saved."),
                errors=[{"field": "run_id", "message": _("no such run in this project")}],
            )
    agent = data.agent or (run.task.agent if run else "")
    # Reports of the same tool by the same agent follow one another, so that each sees the one before.
    teller = agent or str(data.run_id or "")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{project.pk}\n{data.tool}\n{teller}"]
        )
    failed = data.failed_call(is_repeated=_is_repeated(project, data, agent=agent))
    failure = ToolFailure(
        project=project,
        run=run,
        agent=agent,
        external_id=data.external_id,
        tool=failed.tool,
        params=failed.params,
        error_message=failed.error,
        status=failed.status,
        is_repeated=failed.is_repeated,
        signature=signature_of(failed.error, tool=failed.tool),
        symptoms=list(symptoms_of(failed.error)),
        reported_by_label=actor.label,
    )
    diagnosis = _diagnose(project, failed, judged, signature=failure.signature, asked_by=actor.label)
    if diagnosis is not None:
        failure.set_diagnosis(diagnosis, fix_pair_id=UUID(diagnosis.fix_pair) if diagnosis.fix_pair else None)
    else:
        failure.run, failure.place = _ask_a_model(project, data, failed, agent=agent, actor=actor), PLACE
    failure.save(force_insert=True)
    if run is not None and failure.run_id == run.pk:
        # No event of the run tells of it, and a run that has ended counts its failures all the same.
        FigureDue.objects.create(run_id=run.pk)
    told = {"tool": failure.tool, "error_type": failure.error_type, "source": failure.source}
    audit(project.pk, actor, "tool_failure.reported", target=failure, after=told)
    return failure


def _is_repeated(project: Project, data: ToolFailureSubmission, *, agent: str) -> bool:
    """Whether this very call was the last that the same agent, or run, reported of this tool, and nothing helped."""
    since = timezone.now() - IN_A_ROW
    rows = ToolFailure.objects.filter(project=project, tool=data.tool, created_at__gte=since)
    if data.run_id is not None:
        rows = rows.filter(Q(run=data.run_id) | Q(run__task__metadata__run_id=str(data.run_id)))
    else:
        rows = rows.filter(agent=agent)
    last = rows.exclude(reported_by_label="").order_by("-created_at", "-id").first()
    if last is None or last.worked is True:
        return False
    # Python takes 1, 1.0 and true for equal, and an agent that sends another of them has changed something.
    return json.dumps(last.params, sort_keys=True) == json.dumps(data.params, sort_keys=True)


def _diagnose(
    project: Project, failed: FailedCall, judged: JudgedRemedy | None, *, signature: str, asked_by: str
) -> Diagnosis | None:
    """What is known about it without asking a model: a fix that has worked before, else a rule."""
    known = best_fix(project.pk, tool=failed.tool, signature=signature, params=failed.params, asked_by=asked_by)
    fallback = known.action.fallback_tool if known else None
    if fallback is None or fallback in {tool.name for tool in failed.tools}:
        return by_memory_or_rules(failed, known, judged)
    if failed.tools or len(fallback) > LONGEST_TOOL_NAME:
        return by_memory_or_rules(failed, None, judged)
    # An agent that names no tools may well have the one that helped before.
    return by_memory_or_rules(failed.model_copy(update={"tools": (ToolSpec(name=fallback),)}), known)


def _ask_a_model(project: Project, data: ToolFailureSubmission, failed: FailedCall, *, agent: str, actor: Actor) -> Run:
    """A queued run that diagnoses the call."""
    spec = TaskSpec(
        objective=f"Diagnose a failed call of {failed.tool}: {failed.error[:LONGEST_QUOTE]}",
        mode=Mode.TOOL_DIAGNOSIS,
        agent=agent,
        failed_call=failed,
        limits=project.get_limits(),
        models=project.models_by_role,
    )
    metadata = {"run_id": str(data.run_id)} if data.run_id else {}
    return begin_own_task(project, spec, actor=actor, external_id=data.external_id, metadata=metadata)


# Taking an agent's or a person's word on how a fix went, once for each failure.


@transaction.atomic
def report_fix_outcome(failure: ToolFailure, data: FixOutcomeSubmission, *, actor: Actor) -> ToolFailure:
    """The failure with its outcome, counted for the fix; the same outcome told again changes nothing.

    Raises OutcomeKnown where another one was told before.
    """
    locked = ToolFailure.objects.select_for_update(of=("self",)).select_related("fix_pair").get(pk=failure.pk)
    told: dict[str, Any] = data.model_dump(mode="json")
    if locked.worked is not None:
        kept = locked.outcome
        if isinstance(kept, dict) and {name: kept.get(name) for name in told} == told:
            return locked
        raise OutcomeKnown(
            _("The outcome is already recorded: the fix worked. Nothing was changed.")
            if locked.worked
            else _("The outcome is already recorded: the fix did not work. Nothing was changed.")
        )
    outcome = FixOutcome(
        worked=data.worked, tool=data.tool or "", params=data.params, fix=data.fix, delay_s=data.delay_seconds
    )
    pair = keep_outcome(locked, outcome, by=actor.label)
    locked.worked, locked.outcome_at = data.worked, timezone.now()
    locked.outcome = told | {"by": actor.label}
    locked.fix_pair = locked.fix_pair or pair
    locked.save(update_fields=["worked", "outcome", "outcome_at", "fix_pair"])
    audit(locked.project_id, actor, "tool_failure.outcome", target=locked, after={"worked": data.worked})
    return locked


# Taking a person's word on a diagnosis: that it is right, or what it should have been.


JUDGED = "tool_failure.diagnosis_judged"


class DiagnosisJudgement(Storable):
    """A judgment of the diagnosis. Fields that are omitted or unchanged confirm it."""

    error_type: ErrorType | None = None
    remedy: Remedy | None = None
    action: str = Field(default="", max_length=LONGEST_FIX, description="what to do; required if the remedy changes")


@transaction.atomic
def judge_diagnosis(failure: ToolFailure, data: DiagnosisJudgement, *, actor: Actor) -> ToolFailure:
    """The failure as it is diagnosed by then. Calls that were made again on the former advice stay made.

    Raises Conflict where there is no diagnosis yet, InvalidInput where another remedy is not put into words, and
    OwnWorkRefused.
    """
    locked = ToolFailure.objects.select_for_update(of=("self",)).select_related("run").get(pk=failure.pk)
    if locked.run is not None:
        refuse_own_work(locked.run.handed_in_by, project_id=locked.project_id, actor=actor)
    if not locked.is_diagnosed or locked.action is None:
        raise Conflict(_("Not diagnosed yet."))
    advised = CorrectiveAction.model_validate(locked.action)
    error_type, remedy = data.error_type or ErrorType(locked.error_type), data.remedy or advised.remedy
    before, said = (locked.error_type, advised.remedy.value), (error_type.value, remedy.value)
    if remedy is not advised.remedy:
        if not data.action.strip():
            message = _("Enter what to do.")
            raise InvalidInput(message, errors=[{"field": "action", "message": message}])
        locked.action = CorrectiveAction(remedy=remedy, action=data.action.strip()).model_dump(mode="json")
    locked.error_type = error_type.value
    locked.save(update_fields=["error_type", "action"])
    if locked.run_id is not None and before != said:
        FigureDue.objects.create(run_id=locked.run_id)
    told = [dict(zip(("error_type", "remedy"), one, strict=True)) for one in (before, said)]
    audit(locked.project_id, actor, JUDGED, target=locked, before=told[0], after=told[1])
    return locked
