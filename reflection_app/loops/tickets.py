"""Rewind tickets: why an attempt is sent back, and what to do. Source: Reflection Protocol of the design seeds."""

from enum import StrEnum

from pydantic import AwareDatetime, Field

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue, Score, Verdict


class Trigger(StrEnum):
    """Reason an attempt was sent back."""

    CRITIC_EVALUATION = "critic_evaluation"
    FAILED_REQUIREMENT = "failed_requirement"
    FAILED_CHECK = "failed_check"
    SELF_CHECK = "self_check"
    PERSONS_REVIEW = "persons_review"
    PERSONS_ORDER = "persons_order"
    INTERRUPTION = "interruption"


class TicketDraft(Value):
    """A ticket without id and time, which depend on chance and clock."""

    attempt: int = Field(ge=1)
    trigger: Trigger
    target_agent: Text = ""
    target_phase: Text = ""
    verdict: Verdict
    quality_score: Score
    issues: tuple[Issue, ...] = ()
    repair_plan: tuple[Text, ...] = ()
    context_needed: tuple[Text, ...] = ()


class Ticket(TicketDraft):
    """An issued ticket. `ticket_id` is `rewind_<date>_<time>_<random>`, in UTC."""

    ticket_id: str = Field(max_length=60)
    timestamp: AwareDatetime
