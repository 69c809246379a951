"""A person's order to do again what a finished run did, with instructions.

The order is a run of its own on the same task: it begins with the old answer and what is to be different, and goes
through the six steps where the old loop had a critic or the model itself as its judge. The old run stays as it is but
for one event.
"""

from collections.abc import Iterable
from typing import Annotated

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.adapters.live import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import CannotRedo, InvalidInput
from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.catalogue import LOOPS
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Execution, Mode, Redo
from reflection_app.loops.tool_calls import NEVER_SENT, ToolCall, ToolResult
from reflection_app.loops.tool_permission import ToolEffect
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.own_work import hands_of
from reflection_app.reviews.rows import hands_of_editors
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.lessons import notebook_for
from reflection_app.runs.models import Attempt, Run, Step, Verdict
from reflection_app.runs.queueing import Origin, begin_run
from reflection_app.tasks.submitting import accepted_instructions, rules_now
from reflection_app.web.forms import Form

# Judged by what a model thinks of it: such work is done again by the six steps. Others keep their real signal.
BY_SIX_STEPS = frozenset({Mode.ACTOR_CRITIC, Mode.REFLEXION, Mode.REFLECTION_PROTOCOL})
IN_THEIR_MODE = frozenset({Mode.EXTERNAL_LOOP, Mode.PLANNING})
WHY_NOT = {
    Mode.INLINE_REFLECTION: "This run went along with an agent's session, which is over; post a new session.",
    Mode.TOOL_DIAGNOSIS: "This run diagnosed a failed call; report the failure again for another diagnosis.",
    Mode.COMPLETENESS_CHECK: "This run checked a history; hand the history in again for another check.",
    Mode.ERROR_REFLECTION: "This run looked back at another; do that one again.",
    Mode.MEMORY_REFLECTION: "This run looked back at another; do that one again.",
    Mode.MERGE_SUGGESTION: "This run suggested a merge; ask for another suggestion at the conflict.",
    Mode.ADAPTIVE: "This run ended before a loop was chosen for it; fork it, or hand the task in again.",
}


class RedoInput(Value):
    """Instructions for the new run and the attempt that it begins from. Default: the best attempt."""

    instructions: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = Field(
        default="", description="what to do differently; must not be blank"
    )
    attempt: int | None = Field(default=None, ge=1, le=2**31 - 1, description="number of the attempt to begin from")


@transaction.atomic
def redo_run(run: Run, wanted: RedoInput, *, actor: Actor, issues: tuple[Issue, ...] = ()) -> Run:
    """The new run, queued; the workers are told once it is committed. Raises InvalidInput and CannotRedo.

    `issues` are what the person found wrong, for the ticket.
    """
    instructions = wanted.instructions.strip()
    if not instructions:
        message = _("Enter instructions; the next attempt follows them.")
        raise InvalidInput(message, errors=[{"field": "instructions", "message": _("must not be blank")}])
    old = Run.objects.select_for_update(of=("self",)).select_related("task__project").get(pk=run.pk)
    if why := why_no_redo(old):
        raise CannotRedo(why)
    if redo_mode(old) not in LOOPS:
        raise CannotRedo(f"There is no loop named {redo_mode(old).value} any more, so the run cannot be ordered again.")
    attempt = _attempt_of(old, wanted.attempt)
    # The strongest referee's, of two equal ones the later.
    judged = Verdict.objects.filter(attempt=attempt).order_by("referee", "created_at", "id").last()
    wrote = hands_of_editors(judged) if judged else []
    redo = Redo(
        content=attempt.content,
        instructions=instructions,
        issues=issues,
        by=actor.label,
        attempt=attempt.number,
        **({"verdict": VerdictName(judged.verdict), "score": judged.score} if judged else {}),
    )
    # As before, with the order in front and with what people accepted since.
    spec, project = old.get_spec(), old.task.project
    changed = {
        "mode": redo_mode(old),
        "redo": redo,
        "instructions": accepted_instructions(project, agent=spec.agent),
        "tool_rules": rules_now(project, (tool.name for tool in (*spec.tools, spec.knowledge_tool) if tool)),
        "calls_made": (*spec.calls_made, *_calls_made_by(old)),
        **notebook_for(project, is_managed=spec.execution is Execution.MANAGED),
    }
    child = begin_run(
        old.task,
        spec.model_copy(update=changed),
        origin=Origin(run=old, note=instructions, by=actor.label),
        # The authors of the text that the next attempt is made from count as submitters.
        handed_in_by=list(dict.fromkeys([*old.handed_in_by, *wrote, *hands_of(actor)])),
    )
    add_event(old, EventType.RUN_REDONE, redo=str(child.pk), attempt=attempt.number)
    old.save(update_fields=["last_event_seq"])
    after = {"parent": str(old.pk), "attempt": attempt.number, "mode": child.mode, "instructions": instructions}
    audit(old.project_id, actor, "run.redone", target=child, after=after)
    transaction.on_commit(lambda: ring(old.pk, project_id=old.project_id))
    return child


def _calls_made_by(run: Run) -> list[ToolCall]:
    """Return the run's calls that were carried out, or may have been, but for those that only read."""
    rules = run.get_spec().tool_rules or {}
    steps = Step.objects.filter(run=run, kind=CallTool.kind).order_by("seq").values_list("request", "result")
    made = list[ToolCall]()
    for request, result in steps:
        known = ToolResult.model_validate(result) if result is not None else None
        is_void = known is not None and known.failure in NEVER_SENT
        rule = rules.get(request["tool"])
        if not is_void and (rule is None or rule.effect is not ToolEffect.READ):
            made.append(ToolCall(tool=request["tool"], arguments=request["arguments"]))
    return made


def why_no_redo(run: Run) -> str:
    """Why the run cannot be ordered again, or nothing where it can."""
    if not run.is_finished:
        return "The run is still under way. Wait for its end, or cancel it; then it can be ordered again."
    mode = Mode(run.mode)
    if mode not in BY_SIX_STEPS | IN_THEIR_MODE:
        return WHY_NOT.get(mode, f"A run of the mode {mode.value} cannot be ordered again.")
    if not run.attempts_made:
        return "The run made no attempt that could be done again; hand the task in again."
    return ""


def redo_mode(run: Run) -> Mode:
    """The loop that does the run's task again."""
    mode = Mode(run.mode)
    return Mode.REFLECTION_PROTOCOL if mode in BY_SIX_STEPS else mode


def _attempt_of(run: Run, number: int | None) -> Attempt:
    made = Attempt.objects.filter(run=run)
    if number is None:
        kept = made.filter(pk=run.best_attempt_id).first() if run.best_attempt_id else None
        found = kept or made.order_by("number").last()
    else:
        found = made.filter(number=number).first()
    if found is None:
        numbers = ", ".join(map(str, made.order_by("number").values_list("number", flat=True)))
        why = f"the run has no attempt {number}; it made {numbers}"
        raise InvalidInput(_("Attempt not found; no redo was created."), errors=[{"field": "attempt", "message": why}])
    return found


# The form that orders a run again, on its own page and on the run's.

REDO_FIELDS = ("instructions", "attempt")


def redo_form_of(attempts: Iterable[Attempt], form: Form | None = None) -> dict[str, object]:
    form = form or Form(dict.fromkeys(REDO_FIELDS, ""))
    return {"fields": form.fields, "general": form.general, "numbers": [attempt.number for attempt in attempts]}
