"""Deciding on instructions for agents' system prompts. Only what a person accepted stands in a prompt."""

from enum import StrEnum
from typing import Annotated

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import AlreadyDecided, Conflict, InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.protocol.reporting import LONGEST_INSTRUCTION
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.repairs.models import AgentInstruction, InstructionState
from reflection_app.reviews.own_work import refuse_own_work
from reflection_app.runs.models import Run
from reflection_app.tasks.submitting import MOST_INSTRUCTIONS


class InstructionDecision(StrEnum):
    """Accept or decline a proposed instruction; withdraw an accepted one."""

    ACCEPT = "accept"
    DECLINE = "decline"
    WITHDRAW = "withdraw"


FROM = {
    InstructionDecision.ACCEPT: InstructionState.PROPOSED,
    InstructionDecision.DECLINE: InstructionState.PROPOSED,
    InstructionDecision.WITHDRAW: InstructionState.ACCEPTED,
}


class InstructionInput(Value):
    """The decision. When accepting, `text` replaces the text of the instruction."""

    decision: InstructionDecision
    text: Annotated[str, Field(max_length=LONGEST_INSTRUCTION), AfterValidator(storable)] | None = None


@transaction.atomic
def decide_instruction(instruction: AgentInstruction, data: InstructionInput, *, actor: Actor) -> AgentInstruction:
    """The decided instruction. Runs that begin from now on have what is accepted; those under way keep their own.

    Raises InvalidInput for a text that cannot be used, AlreadyDecided where it is too late, Conflict where the agent
    has as many accepted ones as a prompt takes, and OwnWorkRefused where it came of work that `actor` handed in.
    """
    came_of = Run.objects.filter(reports__instructions=instruction).values_list("handed_in_by", flat=True).first()
    refuse_own_work(came_of or (), project_id=instruction.project_id, actor=actor)
    accepts = data.decision is InstructionDecision.ACCEPT
    if data.text is not None:
        if not accepts:
            message = _("You can change the text only when accepting.")
            raise InvalidInput(message, errors=[{"field": "text", "message": message}])
        if not data.text.strip():
            message = _("Enter the instruction text.")
            raise InvalidInput(message, errors=[{"field": "text", "message": message}])
    if accepts:
        # Two people who accept at once for the same agent wait for one another here.
        Project.objects.select_for_update(no_key=True).get(pk=instruction.project_id)
        accepted = AgentInstruction.objects.filter(
            project=instruction.project_id, agent=instruction.agent, state=InstructionState.ACCEPTED
        ).count()
        if accepted >= MOST_INSTRUCTIONS:
            raise Conflict(
                _("%(agent)s already has %(accepted)s accepted instructions, the maximum for a prompt.")
                % {"agent": instruction.agent, "accepted": accepted}
            )
    state = InstructionState.ACCEPTED if accepts else InstructionState.DECLINED
    before = {"state": FROM[data.decision].value, "text": instruction.text}
    changed = _decide(instruction, data, state=state, actor=actor)
    instruction.refresh_from_db()
    if not changed:
        if instruction.state == InstructionState.PROPOSED:
            raise AlreadyDecided(_("This instruction was not accepted, so it cannot be withdrawn."))
        state_now = instruction.get_state_display().lower()
        raise AlreadyDecided(
            _("%(name)s already decided: %(state)s. Nothing was changed.")
            % {"name": instruction.decided_by_label, "state": state_now}
        )
    after = {"state": state.value, "text": instruction.text, "agent": instruction.agent}
    audit(instruction.project_id, actor, "instruction.decided", target=instruction, before=before, after=after)
    return instruction


def _decide(instruction: AgentInstruction, data: InstructionInput, *, state: InstructionState, actor: Actor) -> bool:
    """Whether the instruction was still to be decided so. Its words are left alone where none are given.

    Raises Conflict where the agent has an instruction in just these words already.
    """
    words = {"text": data.text.strip()} if data.text is not None else {}
    open_ones = AgentInstruction.objects.filter(pk=instruction.pk, state=FROM[data.decision])
    try:
        with transaction.atomic():
            changed = open_ones.update(
                state=state, decided_by=actor.user, decided_by_label=actor.label, decided_at=timezone.now(), **words
            )
    except IntegrityError:
        message = _("%(agent)s already has an identical instruction. Decide on that one.") % {
            "agent": instruction.agent
        }
        raise Conflict(message) from None
    return bool(changed)
