"""Forking a run: a second run that has the first one's steps up to a point, and goes its own way from there.

What is inherited was paid by the parent: the fork's totals begin at 0, and its limits are its own. The parent stays as
it is but for one event that tells of the fork.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import ValidationError

from reflection_app.adapters.live import ring
from reflection_app.attachments.keeping import copy_attachments
from reflection_app.attachments.produced import copy_produced
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import CannotFork, InvalidInput
from reflection_app.loops.attempt_effects import (
    AskPerson,
    AskReviewer,
    AwaitAttempt,
    CallTool,
    Generate,
    HandedIn,
    RecordVerdict,
    ReviewDecision,
)
from reflection_app.loops.catalogue import LOOPS, run_loop
from reflection_app.loops.effect import EffectFailed, EffectTimedOut, Performed
from reflection_app.loops.effects import AnyEffect, ChooseLoop, Route
from reflection_app.loops.task_spec import Mode, ModelRole, TaskSpec
from reflection_app.loops.tool_permission import Ground
from reflection_app.loops.verdicts import Judgement, Referee
from reflection_app.reviews.own_work import note_hand_in, refuse_deciding
from reflection_app.runs.consequences import best_of
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.fork_input import ForkInput, edited_result, wrong_result
from reflection_app.runs.models import Attempt, Run, Step, StepState, Verdict
from reflection_app.runs.queueing import Origin, begin_run
from reflection_app.tasks.submission import by_role
from reflection_app.tasks.submitting import check_models

# The rows that a fork has from its parent: copies of steps, and of the attempts and verdicts that followed from them.
# Reviews are not copied: what was decided is in the step's result, and what is still open is the parent's. Copies are
# told from what a run did itself by `is_inherited` of their step: whoever counts what critics said leaves them out.

# What a copy does not have from its original.
OWN = frozenset({"id", "run", "step", "attempt", "last_event_seq", "is_inherited", "owes_notebook", "created_at"})


def _copied(row: models.Model) -> dict[str, Any]:
    """Return the columns of a step, an attempt or a verdict that its copy has as well."""
    fields = row._meta.concrete_fields  # noqa: SLF001 - Django's documented API
    return {field.attname: getattr(row, field.attname) for field in fields if field.name not in OWN}


def inherit(run: Run, steps: Sequence[Step], *, edited: Step | None, editor: Actor) -> None:
    """Gives the saved `run` copies of the parent's `steps` with all that followed from them, and counts them in it.

    `edited` is the unsaved last step with a person's result in place of the recorded one, or None. The caller saves
    what changes in `run`.
    """
    # The event that tells of the run itself tells of its copies, too.
    copies = {
        step.seq: Step(
            run=run,
            is_inherited=True,
            last_event_seq=run.last_event_seq,
            **_copied(step),
        )
        for step in [*steps, *([edited] if edited else [])]
    }
    Step.objects.bulk_create(copies.values())
    seqs = {step.pk: step.seq for step in steps}
    copied = {
        row.pk: Attempt(run=run, step=copies[seqs[row.step_id]], **_copied(row))
        for row in Attempt.objects.filter(step__in=seqs)
        if row.step_id is not None
    }
    attempts = {attempt.number: attempt for attempt in copied.values()}
    if edited and (made := _edited_attempt(copies[edited.seq])) is not None:
        attempts[made.number] = made
        # Its text is a person's; the files stay those that the agent handed in.
        copied |= dict.fromkeys(Attempt.objects.filter(step=edited.pk).values_list("pk", flat=True), made)
    Attempt.objects.bulk_create(attempts.values())
    copy_attachments(copied)
    if run.parent_id is not None:
        originals = {pk: copies[seq] for pk, seq in seqs.items()}
        if edited and edited.kind == CallTool.kind:
            originals[edited.pk] = copies[edited.seq]
        copy_produced(run, steps=originals, attempts=attempts, parent=run.parent_id)
    # Copies in the order in which they were given; what a person decided belongs to the step that asked for it.
    recorded = {row.pk: row.step_id for row in Verdict.objects.filter(step__in=seqs)}
    decided = dict(
        Verdict.objects.filter(decided_by_reviews__step__in=seqs).values_list("pk", "decided_by_reviews__step")
    )
    by_step = decided | recorded
    rows = Verdict.objects.filter(pk__in=by_step).select_related("attempt").order_by("created_at", "id")
    verdicts = []
    for row in rows:
        step_id = by_step[row.pk]
        if step_id is None or row.attempt.number not in attempts:
            continue
        verdicts.append(Verdict(attempt=attempts[row.attempt.number], step=copies[seqs[step_id]], **_copied(row)))
    if edited:
        step = copies[edited.seq]
        judgement: Judgement | None = None
        if step.kind == RecordVerdict.kind:
            judgement = Judgement.model_validate(step.result)
        elif step.kind == AskReviewer.kind:
            assert step.attempt_number is not None
            judgement = ReviewDecision.model_validate(step.result).judgement_of(step.attempt_number)
        if judgement is not None:
            verdict = Verdict.from_judgement(judgement, attempt=attempts[judgement.attempt], step=step)
            verdict.given_by = editor.user if judgement.referee is Referee.PERSON else None
            verdicts.append(verdict)
    Verdict.objects.bulk_create(verdicts)
    run.attempts_made = len(attempts)
    run.best_attempt_id = best_of(run).id
    for copy in copies.values():
        if copy.kind == ChooseLoop.kind and copy.result:
            run.mode = Route.model_validate(copy.result).mode.value


def _edited_attempt(step: Step) -> Attempt | None:
    number = step.attempt_number
    if number is None:
        return None
    if step.kind == Generate.kind and step.request.get("attempt") is not None:
        assert isinstance(step.result, dict)
        if step.result.get("fault"):
            return None
        return Attempt(run=step.run, number=number, step=step, content=step.result["text"])
    if step.kind == AwaitAttempt.kind:
        return Attempt.from_handed_in(HandedIn.model_validate(step.result), run=step.run, step=step)
    return None


# How far today's loop goes along with a journal that was written before.
# Pure but for reading step rows. A fork pays nothing for what it inherits, so the loop is driven with every step
# costing nothing, as the fork's own replay will drive it.

FINISHED = frozenset({StepState.DONE, StepState.FAILED})


@dataclass(frozen=True)
class Followed:
    """The steps that today's loop asks for just so, what it asks for after them, and why it goes no further.

    `asks` is None where the loop has ended or broken. `why` is empty where all steps were followed.
    """

    kept: tuple[Step, ...]
    asks: AnyEffect | None
    why: str = ""


def follow(spec: TaskSpec, steps: Sequence[Step]) -> Followed:
    """The longest beginning of `steps`, in order from the first, that today's loop goes along with."""
    loop = run_loop(spec)
    resume = partial(loop.send, None)
    kept: list[Step] = []
    try:
        while True:
            try:
                effect = resume()
            except StopIteration:
                left = len(kept) < len(steps)
                return Followed(tuple(kept), None, f"the loop ends after step {len(kept)}" if left else "")
            except Exception as error:  # noqa: BLE001 - whatever it trips over, it cannot go on from there
                return Followed(tuple(kept[:-1]), None, f"the loop cannot use the result of step {len(kept)}: {error}")
            if len(kept) == len(steps):
                return Followed(tuple(kept), effect)
            step = steps[len(kept)]
            result, why = _recorded(step, effect)
            if result is None:
                return Followed(tuple(kept), effect, why)
            kept.append(step)
            resume = partial(loop.throw, result) if isinstance(result, EffectFailed) else partial(loop.send, result)
    finally:
        loop.close()


def _recorded(step: Step, effect: AnyEffect) -> tuple[Performed[Any] | EffectFailed | None, str]:
    """What the step holds as the result of `effect`, or None and why it holds none."""
    if (step.key, step.kind) != (effect.key, effect.kind):
        recorded = f"step {step.seq} is recorded as {step.key} ({step.kind})"
        return None, f"{recorded}, and the loop asks for {effect.key} ({effect.kind})"
    if step.state not in FINISHED:
        return None, f"step {step.seq} was not finished"
    if step.state == StepState.FAILED:
        return (EffectTimedOut if step.timed_out else EffectFailed)(step.error), ""
    try:
        return Performed(value=effect.results.validate_python(step.result)), ""
    except ValidationError:
        return None, f"the result of step {step.seq} is of an older form"


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
    parent = Run.objects.select_for_update(of=("self",)).select_related("project", "task__project").get(pk=run.pk)
    if parent.mode == Mode.INLINE_REFLECTION:
        raise CannotFork("This run goes along with an agent's session, which cannot be replayed; it has no forks.")
    spec = parent.get_spec()
    if spec.mode not in LOOPS:
        raise CannotFork(f"There is no loop named {spec.mode.value} any more, so the run cannot go on.")
    refusal = _("The chosen models cannot be used; no fork was created.")
    check_models(parent.project, wanted.models, execution=spec.execution, refusal=refusal)
    spec = _with_models(spec, wanted)
    spec = spec.model_copy(update={"limits": wanted.limits.over(spec.limits)})
    steps = list(Step.objects.filter(run=parent))
    asked = _asked_for(steps, wanted)
    is_edited = wanted.result is not None or wanted.messages is not None
    decides = is_edited and asked is not None and not _is_work(asked)
    if decides:
        refuse_deciding(parent, actor=actor)
    fork = _fork_of(spec, steps, wanted, editor=actor)
    # The prompts that a person wrote, by step key. A step that is performed again as it was keeps an earlier edit.
    edited_prompts: dict[str, list[dict[str, str]]] = {}
    if asked is not None and wanted.messages is not None:
        edited_prompts = {asked.key: [message.model_dump(mode="json") for message in wanted.messages]}
    elif asked is not None and wanted.result is None and asked.key in parent.edited_prompts:
        edited_prompts = {asked.key: parent.edited_prompts[asked.key]}
    origin = Origin(parent, note=fork.note, by=actor.label, from_step=fork.from_step)
    child = begin_run(parent.task, spec, origin=origin, edited_prompts=edited_prompts)
    inherit(child, fork.steps, edited=fork.edited, editor=actor)
    child.save(update_fields=["last_event_seq", "attempts_made", "best_attempt", "mode"])
    if is_edited and not decides:
        # What comes of other words is in part the work of whoever wrote them.
        note_hand_in(child, actor=actor)
        child.save(update_fields=["handed_in_by"])
    add_event(parent, EventType.RUN_FORKED, fork=str(child.pk), from_step=fork.from_step)
    parent.save(update_fields=["last_event_seq"])
    edits = [name for name in ("result", "messages") if getattr(wanted, name) is not None]
    changed = wanted.limits.model_dump(mode="json", exclude_none=True)
    after = {"parent": str(parent.pk), "from_step": fork.from_step, "edited": edits, "limits": changed}
    after |= {"models": by_role(wanted.models)} if wanted.models else {}
    audit(parent.project_id, actor, "run.forked", target=child, after=after)
    transaction.on_commit(lambda: ring(parent.pk, project_id=parent.project_id))
    return child


def _with_models(spec: TaskSpec, wanted: ForkInput) -> TaskSpec:
    """The specification with the models that the fork chooses, where it chooses any."""
    chosen = by_role(wanted.models)
    return spec.model_copy(
        update={
            "models": spec.models | chosen,
            "chosen_models": spec.chosen_models | chosen,
            # Whom a model is chosen for is asked, though there was none before.
            "has_critic": spec.has_critic or ModelRole.CRITIC in chosen,
            "has_escalation": spec.has_escalation or ModelRole.ESCALATION in chosen,
            "has_vision": spec.has_vision or ModelRole.VISION in chosen,
        }
    )


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
        raise InvalidInput(_("Step not found; no fork was created."), errors=[_at("from_step", message)])
    step = steps[wanted.from_step - 1] if wanted.from_step <= last else None
    under_way = step if step is not None else next((one for one in steps if one.is_open), None)
    if under_way is not None and under_way.is_open:
        doing = "waiting" if under_way.state == StepState.WAITING else "running"
        raise CannotFork(f"Step {under_way.seq} is still {doing}; fork from a step that is finished.")
    is_prompt = step is not None and step.kind in {Generate.kind, AwaitAttempt.kind}
    if wanted.messages is not None and not is_prompt:
        raise InvalidInput(
            _("Only model and agent steps have a prompt; no fork was created."),
            errors=[_at("messages", "this step asks nobody")],
        )
    if wanted.result is not None and step is None:
        raise InvalidInput(
            _("This step does not exist yet; no fork was created."),
            errors=[_at("from_step", f"a result can be given to steps 1 to {last}")],
        )
    return step


def _at(field: str, message: str) -> dict[str, str]:
    return {"field": field, "message": message}


def _fork_of(spec: TaskSpec, steps: list[Step], wanted: ForkInput, *, editor: Actor) -> Fork:
    before = steps[: wanted.from_step - 1]
    followed = follow(spec, before)
    if wanted.result is None and wanted.messages is None:
        followed = _before_used_approval(followed, steps)
        from_step, note = len(followed.kept) + 1, wanted.note
        if from_step < wanted.from_step:
            parted = f"Forked from step {from_step} instead of {wanted.from_step}: {followed.why}."
            note = f"{note}\n\n{parted}".strip()
        return Fork(followed.kept, None, from_step, note)
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
    # The step, not to be saved itself, as it would be had it come to `result`.
    step.result, step.edited_by_label = result, editor.label
    step.state, step.error, step.timed_out = StepState.DONE, "", False
    step.finished_at = step.finished_at or timezone.now()
    edited = step
    after = follow(spec, [*before, edited])
    if len(after.kept) <= len(before):
        raise wrong_result(("", after.why))
    return Fork(followed.kept, edited, wanted.from_step, wanted.note)


def _before_used_approval(followed: Followed, steps: Sequence[Step]) -> Followed:
    """Return `followed`, ended before the reviewer's approval where the call that it allowed would be made again."""
    asks = followed.asks
    if not isinstance(asks, CallTool) or asks.ground is not Ground.REVIEWER:
        return followed
    if not any(one.key == asks.key for one in steps):
        return followed  # allowed, and not called yet
    for place in range(len(followed.kept), 0, -1):
        step = followed.kept[place - 1]
        prepared = (step.request.get("question") or {}).get("prepared") if step.kind == AskPerson.kind else None
        if prepared and (prepared["tool"], prepared["arguments"]) == (asks.tool, asks.arguments):
            return Followed(followed.kept[: place - 1], asks, f"a reviewer allowed the call of {asks.tool} once")
    return followed
