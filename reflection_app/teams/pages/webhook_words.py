"""The events that webhooks are told of, in words, grouped as the form offers them."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from reflection_app.core.events import Event, EventType
from reflection_app.teams.models.webhook import TEST

GROUPS: tuple[tuple[Promise, dict[EventType, Promise]], ...] = (
    (
        _("Runs"),
        {
            EventType.RUN_CREATED: _("a run was handed in"),
            EventType.RUN_WAITING: _("a run waits for a person or the agent"),
            EventType.RUN_RESUMED: _("a run goes on after waiting"),
            EventType.RUN_FINISHED: _("a run has ended, with its outcome"),
            EventType.RUN_FORKED: _("a run was forked"),
            EventType.RUN_REDONE: _("a run is to be done again"),
            EventType.RUN_RETRIED: _("a run is tried again after a failure"),
            EventType.REFLECTED: _("a run was looked back at"),
        },
    ),
    (
        _("Reviews and comments"),
        {
            EventType.REVIEW_OPENED: _("a verdict waits for a person"),
            EventType.REVIEW_ASSIGNED: _("a review was given to somebody"),
            EventType.REVIEW_OPINION: _("one of several reviewers has spoken, not what they said"),
            EventType.REVIEW_DECIDED: _("a review was decided"),
            EventType.REVIEW_UNDONE: _("a decision was taken back"),
            EventType.COMMENT_ADDED: _("somebody commented"),
        },
    ),
    (
        _("Tickets, reports and questions"),
        {
            EventType.TICKET_ISSUED: _("an attempt was sent back"),
            EventType.TICKET_STARTED: _("a ticket was taken up"),
            EventType.TICKET_ENDED: _("a ticket has ended"),
            EventType.REPORT_KEPT: _("a reflection report was written"),
            EventType.QUESTION_ASKED: _("an agent asks a person"),
            EventType.QUESTION_ANSWERED: _("a question was answered"),
            EventType.TOOL_FAILURE_DIAGNOSED: _("a failed call was diagnosed"),
        },
    ),
    (
        _("Inside of runs (many)"),
        {
            EventType.STEP_STARTED: _("a step was begun"),
            EventType.STEP_FINISHED: _("a step has ended"),
            EventType.REFLECTION: _("completeness was checked"),
            EventType.REFLECTION_PLAN: _("supplements were planned"),
            EventType.REFLECTION_EXEC: _("supplements were carried out"),
        },
    ),
)


@dataclass(frozen=True)
class Offered:
    value: str
    words: Promise


@dataclass(frozen=True)
class Group:
    title: Promise
    events: list[Offered]


def groups() -> list[Group]:
    return [Group(title, [Offered(kind.value, said) for kind, said in events.items()]) for title, events in GROUPS]


def kinds() -> list[str]:
    """The types that a log can be narrowed to."""
    return [*(kind.value for _title, events in GROUPS for kind in events), TEST]


def words_of(event: Event) -> str:
    """What happened, in words."""
    return next((str(events[kind]) for _title, events in GROUPS for kind in events if kind == event.type), event.type)
