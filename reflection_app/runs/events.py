"""Events: the rows that live pages, long polls and webhooks are told from. The table is the truth, not the bell."""

from typing import Any

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.runs.models import Run


class EventType(models.TextChoices):
    RUN_CREATED = "run.created"
    RUN_WAITING = "run.waiting"
    RUN_RESUMED = "run.resumed"
    RUN_RETRIED = "run.retried"
    RUN_FORKED = "run.forked"
    RUN_REDONE = "run.redone"
    RUN_FINISHED = "run.finished"
    STEP_STARTED = "step.started"
    STEP_FINISHED = "step.finished"
    REVIEW_OPENED = "review.opened"
    REVIEW_CLAIMED = "review.claimed"
    REVIEW_RELEASED = "review.released"
    REVIEW_DECIDED = "review.decided"
    REVIEW_ASSIGNED = "review.assigned"
    # A blind reviewer has decided; what they said is not told before the panel is settled.
    REVIEW_OPINION = "review.opinion"
    REVIEW_UNDONE = "review.undone"
    TICKET_ISSUED = "ticket.issued"
    TICKET_STARTED = "ticket.started"
    TICKET_ENDED = "ticket.ended"
    REPORT_KEPT = "report.kept"
    QUESTION_ASKED = "question.asked"
    QUESTION_ANSWERED = "question.answered"
    COMMENT_ADDED = "comment.added"
    TOOL_FAILURE_DIAGNOSED = "tool_failure.diagnosed"
    # Both forks that look back have ended; says how many errors and memories they found.
    REFLECTED = "run.reflected"
    # Of the completeness check, named as in the second design seed.
    REFLECTION = "reflection"
    REFLECTION_PLAN = "reflection_plan"
    REFLECTION_EXEC = "reflection_exec"
    # Work whose supplements all worked was looked at once more.
    REFLECTION_AGAIN = "reflection_again"
    # In runs from before suggestions of how often to check were removed; no longer sent.
    CHECKS_SUGGESTED = "checks.suggested"
    # What a check comes to, for who wants nothing of the rest: something is missing, and then it was done.
    FOUND_INCOMPLETE = "completeness.incomplete"
    COMPLETED = "completeness.completed"


class Event(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="events")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events", db_index=False)
    seq = models.PositiveIntegerField()
    type = models.CharField(max_length=30, choices=EventType)
    payload = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("seq",)
        constraints = (models.UniqueConstraint(fields=("run", "seq"), name="event_seq_once"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


def add_event(run: Run, kind: EventType, **payload: Any) -> Event:
    """The event, written with the next number of its run.

    `run` must be locked by the transaction (select_for_update) and saved with `last_event_seq` by the caller: numbers
    without gaps are what makes "all events after n" complete for a reader.
    """
    event = next_event(run, kind, **payload)
    event.save(force_insert=True)
    return event


def next_event(run: Run, kind: EventType, **payload: Any) -> Event:
    """The event with the next number of its run, as `add_event` makes it, to be written by the caller."""
    run.last_event_seq += 1
    return Event(project_id=run.project_id, run=run, seq=run.last_event_seq, type=kind.value, payload=payload)
