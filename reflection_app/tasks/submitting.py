"""Handing in a task and starting its first run."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from notebook_app.public import compiled
from reflection_app.adapters.llm.roles import has_critic, has_escalation, has_vision, offered_models
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.catalogue import mode_for
from reflection_app.loops.completeness.checks import CompletenessSettings, SettingsFrom
from reflection_app.loops.completeness.sampling import When
from reflection_app.loops.task_spec import Execution, Mode, ModelRole, TaskSpec
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.loops.tool_permission import ToolRule
from reflection_app.repairs.models import AgentInstruction, InstructionState
from reflection_app.reviews.own_work import hands_of
from reflection_app.rubrics.changing import rubric_of
from reflection_app.runs.batch import Batch
from reflection_app.runs.lessons import hints_for, notebook_for
from reflection_app.runs.models import Run
from reflection_app.runs.queueing import announce, begin_run, is_scripted
from reflection_app.tasks.external_ids import kept_apart
from reflection_app.tasks.models import Task, TaskFile
from reflection_app.tasks.submission import ChosenModels, TaskSubmission, by_role, check_it_can_run
from reflection_app.teams.models import Tool

NO_CRITIC = "This project has no critic: its critic's model is “none”. Choose another mode."
NO_JUDGE = (
    "This project has no critic: its critic's model is “none”. "
    "Give minimum requirements to judge by, or choose another mode."
)

MOST_INSTRUCTIONS = 20
# What a task, and its runs, have from the submission as it is.
OF_BOTH = (
    *("objective", "mode", "kind", "agent", "phase", "execution", "tests", "output_schema", "tool_call"),
    *("chain_of_thought", "review"),
)
OF_TASK = {*OF_BOTH, "external_id", "tools", "metadata"}


@transaction.atomic
def submit_task(
    project: Project, submission: TaskSubmission, *, actor: Actor, models: dict[str, str] | None = None
) -> Run:
    """The first run of a new task, queued; the workers are told once it is committed.

    `models` are model names by role in front of the project's own. Raises InvalidInput where the task cannot run, and
    ExternalIdTaken where the project has a task of that name and wants each once.
    """
    check_it_can_run(submission)
    refusal = _("The task is invalid; nothing was saved.")
    check_models(project, submission.models, execution=submission.execution, refusal=refusal)
    with kept_apart(project, submission.external_id) as unique_external_id:
        batch = Batch()
        run = _submit(
            project, submission, unique_external_id, actor=actor, models=models or {}, batch=batch, once=Once()
        )
        batch.write()
        announce([run])
        return run


@transaction.atomic
def submit_together(project: Project, submissions: Sequence[TaskSubmission], *, actor: Actor) -> list[Run]:
    """Return the first runs of new tasks, all written in one trip. For tasks whose external ids are not kept apart.

    The submissions were read by `read_submission`. Raises InvalidInput where a task cannot run; nothing is stored then.
    """
    batch, once = Batch(), Once()
    refusal = _("The task is invalid; nothing was saved.")
    runs = []
    for submission in submissions:
        check_models(project, submission.models, execution=submission.execution, refusal=refusal)
        runs.append(_submit(project, submission, None, actor=actor, models={}, batch=batch, once=once))
    batch.write()
    announce(runs)
    return runs


class Once:
    """What is read for one task or for many that are submitted together: each question is asked once."""

    def __init__(self) -> None:
        self._known: dict[object, Any] = {}

    def __call__[T](self, read: Callable[..., T], *arguments: Hashable, **named: Hashable) -> T:
        question = (read, arguments, tuple(sorted(named.items())))
        if question not in self._known:
            self._known[question] = read(*arguments, **named)
        found: T = self._known[question]
        return found


def _submit(
    project: Project,
    submission: TaskSubmission,
    unique_external_id: str | None,
    *,
    actor: Actor,
    models: dict[str, str],
    batch: Batch,
    once: Once,
) -> Run:
    """Return the first run of a new task, to be written with `batch`."""
    requirements = submission.requirements
    task = Task(
        project=project,
        unique_external_id=unique_external_id,
        requirements=requirements.model_dump(mode="json", exclude_defaults=True) if requirements else None,
        reflection=submission.reflection.mode.value if submission.reflection.mode else "",
        reflector_switches=submission.reflection.switches,
        limits=submission.limits.over(once(Project.get_limits, project)).model_dump(mode="json"),
        models_by_role=submission.models_by_role,
        created_by=actor.user,
        **submission.model_dump(mode="json", include=OF_TASK),
    )
    batch.insert(task)
    for file in submission.files:
        batch.insert(TaskFile(task=task, path=file.path, content=file.content))
    audit(project.pk, actor, "task.submitted", target=task, write=batch.insert)
    in_all = project.models_by_role | models | submission.models_by_role
    return start_run(task, submission=submission, models=in_all, handed_in_by=hands_of(actor), beside=batch, once=once)


def begin_own_task(
    project: Project,
    spec: TaskSpec,
    *,
    actor: Actor,
    external_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Run:
    """Return the queued run of a task that `spec` describes whole: a check, a diagnosis, reflections on a session.

    Call it in a transaction.
    """
    task = Task.objects.create(
        project=project,
        external_id=external_id,
        objective=spec.objective,
        kind=spec.kind,
        mode=spec.mode.value,
        agent=spec.agent,
        execution=spec.execution.value,
        tools=[tool.name for tool in spec.tools],
        limits=spec.limits.model_dump(mode="json"),
        metadata=metadata or {},
        created_by=actor.user,
    )
    audit(project.pk, actor, "task.submitted", target=task)
    return begin_run(task, spec, handed_in_by=hands_of(actor))


def start_run(
    task: Task,
    *,
    submission: TaskSubmission,
    models: dict[str, str],
    handed_in_by: Sequence[str],
    beside: Batch,
    once: Once,
) -> Run:
    """A queued run of `task`, to be written with `beside`; call it inside a transaction."""
    project = task.project
    policy = once(Project.get_review_policy, project)
    if is_scripted(models):  # a script's verdicts are a sample of no critic, so they are never drawn for an audit
        policy = policy.model_copy(update={"audit_share": 0.0})
    spec = TaskSpec(
        **{name: getattr(submission, name) for name in OF_BOTH},
        requirements=submission.requirements,
        instructions=once(accepted_instructions, project, agent=submission.agent),
        hints=once(hints_for, project, agent=submission.agent, kind=submission.kind),
        tools=once(tools_for, project, names_of_tools(submission)),
        tool_rules=once(rules_now, project, (*names_of_tools(submission), project.knowledge_tool)),
        file_names=tuple(file.path for file in submission.files),
        **once(_abilities, frozenset(models.items())),
        knowledge_tool=once(knowledge_tool_of, project),
        completeness=completeness_of(project, submission),
        completeness_from=SettingsFrom.TASK if submission.completeness.chosen else project.completeness_from(),
        **once(notebook_for, project, is_managed=submission.execution is Execution.MANAGED),
        limits=submission.limits.over(once(Project.get_limits, project)),
        thresholds=once(Project.get_thresholds, project),
        review_policy=policy,
        rubric=once(rubric_of, project),
        models=models,
    )
    if spec.mode is Mode.ACTOR_CRITIC and not spec.has_critic:
        raise InvalidInput(NO_CRITIC, errors=[{"field": "mode", "message": NO_CRITIC}])
    if spec.mode is Mode.REFLECTION_PROTOCOL and not spec.has_critic and spec.requirements is None:
        raise InvalidInput(NO_JUDGE, errors=[{"field": "mode", "message": NO_JUDGE}])
    spec = spec.model_copy(update={"mode": mode_for(spec)})
    return begin_run(task, spec, handed_in_by=handed_in_by, beside=beside)


def _abilities(models: frozenset[tuple[str, str]]) -> dict[str, bool]:
    """Return the fields of a new run's spec that say for which roles there is a model, by the overrides `models`."""
    overrides = dict(models)
    return {
        "has_critic": has_critic(overrides),
        "has_escalation": has_escalation(overrides),
        "has_vision": has_vision(overrides),
    }


def choosable_models(project: Project) -> list[str]:
    """The models that a task of the project may name: those that it allows and the desk still offers."""
    return sorted(set(project.allowed_models) & set(offered_models()))


def check_models(project: Project, chosen: ChosenModels, *, execution: Execution, refusal: str) -> None:
    """Raises InvalidInput, with `refusal`, where a model is named that the project does not let its tasks choose."""
    if not chosen:
        return
    allowed = choosable_models(project)
    told = ", ".join(allowed) or _("none (an admin sets them in the settings)")
    errors = [
        {
            "field": f"models.{role}",
            "message": _("%(name)s is not a model that tasks of this project can use. Allowed: %(allowed)s")
            % {"name": repr(name), "allowed": told},
        }
        for role, name in by_role(chosen).items()
        if name not in allowed
    ]
    if ModelRole.ACTOR in chosen and execution is Execution.EXTERNAL:
        message = _("an external agent makes the attempts; it reports its model in `usage` with each submission")
        errors.append({"field": "models.actor", "message": message})
    if errors:
        raise InvalidInput(refusal, errors=errors)


@compiled
def _accepted_instructions(project_id: UUID, agent: str) -> QuerySet[AgentInstruction, str]:
    rows = AgentInstruction.objects.filter(project=project_id, agent=agent, state=InstructionState.ACCEPTED)
    return rows.order_by("decided_at", "id").values_list("text", flat=True)[:MOST_INSTRUCTIONS]


def accepted_instructions(project: Project, *, agent: str) -> tuple[str, ...]:
    """What people accepted for this agent, oldest first. A task without an agent's name has none."""
    return tuple(_accepted_instructions(project.pk, agent)) if agent else ()


def knowledge_tool_of(project: Project) -> ToolSpec | None:
    """The tool that is asked for knowledge, where the project names one that can be used."""
    if not project.knowledge_tool:
        return None
    tool = Tool.objects.filter(project=project, name=project.knowledge_tool, is_enabled=True).first()
    return tool.get_spec() if tool else None


def completeness_of(project: Project, submission: TaskSubmission) -> CompletenessSettings | None:
    """Return the settings of the completeness check: the task's own, over the project's. None: it is off."""
    settings = submission.completeness.over(project.get_completeness())
    return None if settings.when is When.OFF else settings


def names_of_tools(submission: TaskSubmission) -> tuple[str, ...]:
    """Return the names of the tools that the task may call, each once."""
    called = [submission.tool_call.tool] if submission.tool_call else []
    return tuple(dict.fromkeys([*submission.tools, *called]))


def rules_now(project: Project, named: Iterable[str]) -> dict[str, ToolRule]:
    """Return the present rule of each named tool. One that is not there has none, and counts as external."""
    names = {name for name in named if name}
    found = Tool.objects.filter(project=project, name__in=names, is_enabled=True) if names else ()
    return {tool.name: tool.get_rule() for tool in found}


def tools_for(project: Project, named: Sequence[str]) -> tuple[ToolSpec, ...]:
    """The tools of these names, as they are described now. Raises InvalidInput for one that cannot be used."""
    if not named:
        return ()
    found = {tool.name: tool for tool in Tool.objects.filter(project=project, name__in=named, is_enabled=True)}
    missing = [name for name in named if name not in found]
    if missing:
        raise InvalidInput(
            _("The task names tools that this project does not have; nothing was saved."),
            errors=[
                {"field": "tools", "message": _("there is no tool named %(name)s") % {"name": repr(name)}}
                for name in missing
            ],
        )
    return tuple(found[name].get_spec() for name in named)
