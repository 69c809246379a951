"""What a run asks its outside agent for, told alike by REST and by the run's page."""

from dataclasses import dataclass

from reflection_app.loops.effects import AwaitAttempt, IssueTicket, RecordStage
from reflection_app.loops.messages import Message
from reflection_app.loops.protocol.stages import StageRecord, Submitted
from reflection_app.loops.tickets import Ticket
from reflection_app.runs.models.attempt import Verdict
from reflection_app.runs.models.run import Run, RunState, Step, StepState


@dataclass(frozen=True)
class NextAttempt:
    """The attempt that is waited for, what the agent is told, what was said of the attempt before, and its ticket.

    `submitted` is how that attempt stood as a revised output, where it was one of the six steps.
    """

    number: int
    messages: tuple[Message, ...]
    verdict: Verdict | None
    ticket: Ticket | None
    submitted: Submitted | None

    @property
    def prompt(self) -> str:
        """The newest thing that the agent is told."""
        return next((message.content for message in reversed(self.messages) if message.role == "user"), "")


def next_attempt_of(run: Run) -> NextAttempt | None:
    """The attempt that the run waits for, None where it waits for none."""
    if run.state != RunState.WAITING_AGENT:
        return None
    step = Step.objects.filter(run=run, state=StepState.WAITING, kind=AwaitAttempt.kind).last()
    if step is None or step.attempt_number is None:
        return None
    return NextAttempt(
        number=step.attempt_number,
        messages=tuple(Message.model_validate(message) for message in step.request["messages"]),
        verdict=_decisive(run, step.attempt_number - 1),
        ticket=_ticket(run, step.attempt_number - 1),
        submitted=_submitted(run, step.attempt_number - 1),
    )


def _decisive(run: Run, number: int) -> Verdict | None:
    """The verdict on an attempt that counts: the strongest referee's, of two equal ones the later."""
    strongest_last = Verdict.objects.filter(attempt__run=run, attempt__number=number)
    return strongest_last.order_by("referee", "created_at", "id").last()


def _ticket(run: Run, number: int) -> Ticket | None:
    """The ticket that sent the attempt back, from the step that issued it: a fork has the step, too."""
    issued = Step.objects.filter(run=run, kind=IssueTicket.kind, attempt_number=number, state=StepState.DONE).last()
    return Ticket.model_validate(issued.result) if issued else None


def _submitted(run: Run, number: int) -> Submitted | None:
    """How attempt `number` stood when it was submitted, from the last of the six steps for the attempt before it."""
    kept = Step.objects.filter(run=run, key=f"attempt-{number - 1}/submit", state=StepState.DONE).first()
    output = StageRecord.model_validate(kept.result).output if kept and kept.kind == RecordStage.kind else None
    return output if isinstance(output, Submitted) else None
