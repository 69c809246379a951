"""Forking a run: a second run that has the first one's steps up to a point, and goes its own way from there.

What is inherited was paid by the parent: the fork's totals begin at 0, and its limits are its own. The parent stays as
it is but for one event that tells of the fork.
"""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.adapters.doorbell import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import CannotFork, InvalidInput
from reflection_app.core.events import EventType, add_event
from reflection_app.core.own_work import note_hand_in, refuse_deciding
from reflection_app.loops import prompts
from reflection_app.loops.catalogue import LOOPS, version_of
from reflection_app.loops.effects import AwaitAttempt, Generate
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.runs.followed import Followed, follow
from reflection_app.runs.fork_input import ForkInput, edited_result, wrong_result
from reflection_app.runs.inherited import inherit
from reflection_app.runs.jobs import enqueue
from reflection_app.runs.models.attempt import Attempt
from reflection_app.runs.models.run import Run, Step, StepState, spec_as_json

# The roles of models that do work. All other steps are what a verdict is drawn from, in one way or another.
WORKERS = frozenset({"actor", "planner"})


@dataclass(frozen=True)
class Fork:
    """What the fork begins with: the parent's steps that are kept, and the edited one after them."""

    steps: tuple[Step, ...]
    edited: Step | None
    from_step: int
    note: str


@transaction.atomic
def fork_run(run: Run, wanted: ForkInput, *, actor: Actor) -> Run:
    """The fork, queued; the workers are told once it is committed.

    Where today's loop does not go along with the journal as far as asked, the fork begins where they part, and its note
    says so; an edit is then refused, since its step would never come. Raises InvalidInput and CannotFork; and where
    anything else than work is edited, OwnWorkRefused and MayNotDecide, as deciding on it would: a verdict is drawn from
    a critic's words, from test results, from what tools said.
    """
    parent = Run.objects.select_for_update(of=("self",)).select_related("project").get(pk=run.pk)
    if parent.mode == Mode.INLINE_REFLECTION:
        raise CannotFork("This run goes along with an agent's session, which cannot be replayed; it has no forks.")
    spec = parent.get_spec()
    if spec.mode not in LOOPS:
        raise CannotFork(f"There is no loop named {spec.mode.value} any more, so the run cannot go on.")
    spec = spec.model_copy(update={"limits": wanted.limits.over(spec.limits)})
    steps = list(Step.objects.filter(run=parent))
    asked = _asked_for(steps, wanted)
    is_edited = wanted.result is not None or wanted.messages is not None
    decides = is_edited and asked is not None and not _is_work(asked)
    if decides:
        refuse_deciding(parent, actor=actor)
    fork = _fork_of(spec, steps, wanted, editor=actor)
    child = _start(parent, fork, spec=spec, wanted=wanted, asked=asked, actor=actor)
    if is_edited and not decides:
        # What comes of other words is in part the work of whoever wrote them.
        note_hand_in(child, actor=actor)
        child.save(update_fields=["handed_in_by"])
    add_event(parent, EventType.RUN_FORKED, fork=str(child.pk), from_step=fork.from_step)
    parent.save(update_fields=["last_event_seq"])
    edits = [name for name in ("result", "messages") if getattr(wanted, name) is not None]
    changed = wanted.limits.model_dump(mode="json", exclude_none=True)
    after = {"parent": str(parent.pk), "from_step": fork.from_step, "edited": edits, "limits": changed}
    audit(parent.project_id, actor, "run.forked", target=child, after=after)
    transaction.on_commit(lambda: enqueue(child))
    for rung in (parent.pk, child.pk):
        transaction.on_commit(lambda run_id=rung: ring(run_id, project_id=parent.project_id))  # type: ignore[misc]
    return child


def _is_work(step: Step) -> bool:
    """Whether the step makes what is judged, rather than judging it or being what a judgement rests on."""
    if step.kind == Generate.kind:
        return step.request.get("attempt") is not None or step.request.get("role") in WORKERS
    return step.kind == AwaitAttempt.kind


def _asked_for(steps: list[Step], wanted: ForkInput) -> Step | None:
    """The step to fork from; None where that is the end. Raises InvalidInput, or CannotFork while it is under way."""
    last = len(steps)
    if wanted.from_step > last + 1:
        message = _("the run has %(last)s steps") % {"last": last} if last else _("the run has no steps yet")
        raise InvalidInput(_("There is no such step; nothing was forked."), errors=[_at("from_step", message)])
    step = steps[wanted.from_step - 1] if wanted.from_step <= last else None
    under_way = step if step is not None else next((one for one in steps if one.is_open), None)
    if under_way is not None and under_way.is_open:
        doing = "waiting" if under_way.state == StepState.WAITING else "running"
        raise CannotFork(f"Step {under_way.seq} is still {doing}; fork from a step that is finished.")
    is_prompt = step is not None and step.kind in {Generate.kind, AwaitAttempt.kind}
    if wanted.messages is not None and not is_prompt:
        raise InvalidInput(
            _("Only a step that asks a model or the agent has a prompt; nothing was forked."),
            errors=[_at("messages", "this step asks nobody")],
        )
    if wanted.result is not None and step is None:
        raise InvalidInput(
            _("There is no such step yet; nothing was forked."),
            errors=[_at("from_step", f"a result can be given to steps 1 to {last}")],
        )
    return step


def _at(field: str, message: str) -> dict[str, str]:
    return {"field": field, "message": message}


def _fork_of(spec: TaskSpec, steps: list[Step], wanted: ForkInput, *, editor: Actor) -> Fork:
    before = steps[: wanted.from_step - 1]
    followed = follow(spec, before)
    if wanted.result is None and wanted.messages is None:
        return _as_far_as_it_goes(followed, wanted)
    step = steps[wanted.from_step - 1]
    asks = followed.asks
    if len(followed.kept) < len(before) or asks is None or (asks.key, asks.kind) != (step.key, step.kind):
        why = followed.why or f"the loop comes to something else than step {step.seq} ({step.key})"
        raise CannotFork(
            f"The loop was changed since this run began: {why}. The edit has no place any more; nothing was forked. "
            f"Without an edit, the run can be forked from step {len(followed.kept) + 1}."
        )
    if wanted.result is None:
        return Fork(followed.kept, None, wanted.from_step, wanted.note)
    attempts = Attempt.objects.filter(step__in=before).count()
    result = edited_result(asks, wanted.result, step=step, attempts=attempts, spec=spec, editor=editor)
    edited = _edited(step, result, editor=editor)
    after = follow(spec, [*before, edited])
    if len(after.kept) <= len(before):
        raise wrong_result(("", after.why))
    return Fork(followed.kept, edited, wanted.from_step, wanted.note)


def _as_far_as_it_goes(followed: Followed, wanted: ForkInput) -> Fork:
    from_step, note = len(followed.kept) + 1, wanted.note
    if from_step < wanted.from_step:
        told = f"Forked from step {from_step} instead of {wanted.from_step}: {followed.why}."
        note = f"{note}\n\n{told}".strip()
    return Fork(followed.kept, None, from_step, note)


def _edited(step: Step, result: object, *, editor: Actor) -> Step:
    """The step, not to be saved itself, as it would be had it come to `result`."""
    step.result, step.edited_by_label = result, editor.label
    step.state, step.error, step.timed_out = StepState.DONE, "", False
    step.finished_at = step.finished_at or timezone.now()
    return step


def _start(parent: Run, fork: Fork, *, spec: TaskSpec, wanted: ForkInput, asked: Step | None, actor: Actor) -> Run:
    child = Run(
        project=parent.project,
        task_id=parent.task_id,
        mode=spec.mode.value,
        spec=spec_as_json(spec),
        loop_version=version_of(spec.mode),
        prompt_versions=prompts.versions(),
        is_scripted=parent.is_scripted,
        parent=parent,
        forked_from_step=fork.from_step,
        fork_note=fork.note,
        forked_by_label=actor.label,
        edited_prompts=_edited_prompts(parent, wanted, asked=asked),
        handed_in_by=parent.handed_in_by,
        enqueued_at=timezone.now(),
    )
    child.save()
    add_event(child, EventType.RUN_CREATED, parent=str(parent.pk), from_step=fork.from_step)
    inherit(child, fork.steps, edited=fork.edited, editor=actor)
    child.save(update_fields=["last_event_seq", "attempts_made", "best_attempt", "mode"])
    return child


def _edited_prompts(parent: Run, wanted: ForkInput, *, asked: Step | None) -> dict[str, list[dict[str, str]]]:
    """The prompts that a person wrote, by step key. A step that is performed again as it was keeps an earlier edit."""
    if asked is None or wanted.result is not None:
        return {}
    if wanted.messages is not None:
        return {asked.key: [message.model_dump(mode="json") for message in wanted.messages]}
    return {key: messages for key, messages in parent.edited_prompts.items() if key == asked.key}
