"""A rewind ticket in words, as models and agents are shown it."""

from reflection_app.loops.protocol.listed import item
from reflection_app.loops.protocol.rounds import SentBack
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.tool_frames import framed

LONGEST_LISTED = 8_000
LONGEST_HEAD = 1_000
SENT_BACK_BY = {
    Trigger.CRITIC_EVALUATION: "a critic's evaluation",
    Trigger.FAILED_REQUIREMENT: "minimum requirements that do not hold",
    Trigger.FAILED_CHECK: "a check that failed",
    Trigger.SELF_CHECK: "the agent's own check",
    Trigger.PERSONS_REVIEW: "a person's review; the person's words count most",
    Trigger.PERSONS_ORDER: "a person's order to do it again; the person's words count most",
    Trigger.INTERRUPTION: "an interruption",
}


def framed_ticket(back: SentBack) -> str:
    """The ticket as data: what outside agents say of their work, and what is quoted from it, is in it."""
    return framed(told_ticket(back), name="ticket", most=2 * LONGEST_LISTED + LONGEST_HEAD)


def told_ticket(back: SentBack) -> str:
    """The ticket with its issues and its repair plan."""
    ticket = back.ticket
    issues = [
        item(
            f"[{issue.category.value}, {issue.severity.value}] "
            + (f"{issue.path}: {issue.description}" if issue.path else issue.description)
        )
        for issue in ticket.issues
    ]
    issues += [item(weakness) for weakness in back.judgement.feedback.weaknesses]
    lines = [
        f"Rewind ticket {ticket.ticket_id}",
        f"Sent back by: {SENT_BACK_BY[ticket.trigger]}",
        f"Verdict: {ticket.verdict.value}, quality score {ticket.quality_score:g} of 100",
        "Issues:",
        _listed(issues or ["- None was named."]),
        "What is to be done:",
        _listed([item(repair) for repair in ticket.repair_plan] or ["- Find out and do it."]),
    ]
    return "\n".join(lines)


def _listed(lines: list[str]) -> str:
    text = "\n".join(lines)
    return text if len(text) <= LONGEST_LISTED else f"{text[:LONGEST_LISTED]}\n- … and more."
