"""Handing in a history to be checked for what it lacks: a run that asks one model and carries nothing out."""

from django.db import transaction

from reflection_app.core.audit import Actor, audit
from reflection_app.core.models import Project
from reflection_app.core.own_work import hands_of
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec
from reflection_app.repairs.completeness_submission import CHECK_LIMITS, CheckSubmission
from reflection_app.runs.models import Run
from reflection_app.runs.queueing import begin_run
from reflection_app.tasks.models import Task


@transaction.atomic
def check_completeness(project: Project, submission: CheckSubmission, *, actor: Actor) -> Run:
    """The queued run of the check; the workers are told once it is committed."""
    spec = TaskSpec(
        objective=submission.objective,
        mode=Mode.COMPLETENESS_CHECK,
        kind=submission.kind,
        agent=submission.agent,
        tools=submission.tool_specs,
        history=submission.history_steps,
        completeness=submission.settings.over(project.get_completeness()),
        limits=_limits_over(project.get_limits()),
        models=project.models_by_role,
    )
    task = Task.objects.create(
        project=project,
        external_id=submission.external_id,
        objective=spec.objective,
        kind=submission.kind,
        mode=spec.mode.value,
        agent=submission.agent,
        tools=[tool.name for tool in spec.tools],
        limits=spec.limits.model_dump(mode="json"),
        metadata=submission.metadata,
        created_by=actor.user,
    )
    audit(project.pk, actor, "task.submitted", target=task)
    return begin_run(task, spec, handed_in_by=hands_of(actor))


def _limits_over(project: Limits) -> Limits:
    """The project's limits or a check's, the larger of each; its cost budget holds as it is."""
    return project.model_copy(
        update={
            "max_iterations": 1,
            "token_budget": max(project.token_budget, CHECK_LIMITS.token_budget),
            "time_budget_s": max(project.time_budget_s, CHECK_LIMITS.time_budget_s),
        }
    )
