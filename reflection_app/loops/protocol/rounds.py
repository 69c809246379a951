"""What passes from step to step of the protocol: an attempt as it was made, its judgement, and what was found out."""

from dataclasses import dataclass
from enum import StrEnum

from reflection_app.loops.messages import Message
from reflection_app.loops.protocol.reports import Report
from reflection_app.loops.protocol.stages import Classified, Planned, Reflected, Submitted
from reflection_app.loops.tickets import Ticket, Trigger
from reflection_app.loops.verdicts import Judgement


class BrokenBy(StrEnum):
    """How the making of an attempt was interrupted, as far as code sees it."""

    FAILED_CALL = "failed_call"
    CUT_OFF = "cut_off"


@dataclass(frozen=True)
class Interruption:
    """What broke off: the key of the step, what was said, and the last step before it that had worked."""

    by: BrokenBy
    phase: str
    message: str
    last_good_step: str


@dataclass(frozen=True)
class Made:
    """An attempt, what it was made from, and what holds for the judgement that follows.

    `checkpoint` says why a person looks at that judgement, whatever the policy. `instructions` are those of this run.
    """

    number: int
    content: str
    messages: tuple[Message, ...]
    role: str = "actor"
    is_ordered: bool = False
    is_resumed: bool = False
    interruption: Interruption | None = None
    submitted: Submitted | None = None
    checkpoint: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it stands for an answer that never came."""
        return self.interruption is not None and self.interruption.by is BrokenBy.FAILED_CALL


@dataclass(frozen=True)
class Judged:
    judgement: Judgement
    trigger: Trigger


@dataclass(frozen=True)
class SentBack:
    """An attempt that goes back, why, and the ticket with which it does."""

    made: Made
    judgement: Judgement
    ticket: Ticket

    @property
    def number(self) -> int:
        return self.made.number

    @property
    def trigger(self) -> Trigger:
        return self.ticket.trigger


@dataclass(frozen=True)
class Analysis:
    """What the first four steps found out, and the report as it was first kept."""

    reflected: Reflected
    classified: Classified
    planned: Planned
    report: Report
