"""What a message says of the things that a channel is to be told: only of those that still stand, one line each."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from notebook_app.public import ConflictKind, conflict_of
from reflection_app.alerts.digests import digest_of
from reflection_app.alerts.models import Channel, ChannelItem, Topic
from reflection_app.alerts.services.notes import Line, Note, inert
from reflection_app.core.models import Digest, Project
from reflection_app.loops.task_spec import OF_THE_DESK
from reflection_app.loops.verdicts import Outcome
from reflection_app.reviews.goals import review_goal
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Question, QuestionState, Run

DESKS_OWN = {mode.value for mode in OF_THE_DESK}
MINUTE, HOUR, DAY = 60, 3600, 86_400


def note_of(channel: Channel, items: Sequence[ChannelItem], *, now: datetime, is_again: bool = False) -> Note | None:
    """The message in the channel's language; None where nothing of it has to be told any more.

    `is_again` where one like it may have arrived already.
    """
    with translation.override(channel.language):
        composer = _Composer(channel.project, items, now=now)
        lines = tuple(composer.lines())
        return _note(channel.project, lines, is_again=is_again) if lines else None


def test_note(channel: Channel) -> Note:
    """What a test says."""
    with translation.override(channel.language):
        words = _("This is a test. Messages from this channel look like this.")
        line = Line(words, _address("channel", channel.project, channel.pk), inert(channel.name))
        return _note(channel.project, (line,))


def waited(seconds: float) -> str:
    """`less than a minute`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    whole = int(seconds)
    if whole < MINUTE:
        return _("less than a minute")
    if whole < HOUR:
        return _("%(number)s min") % {"number": whole // MINUTE}
    larger, smaller = (HOUR, MINUTE) if whole < DAY else (DAY, HOUR)
    parts = [(_("%(number)s h") if larger == HOUR else _("%(number)s d")) % {"number": whole // larger}]
    if rest := whole % larger // smaller:
        parts.append((_("%(number)s min") if smaller == MINUTE else _("%(number)s h")) % {"number": rest})
    return " ".join(parts)


def _note(project: Project, lines: tuple[Line, ...], *, is_again: bool = False) -> Note:
    title = f"Reflection Desk · {inert(project.name)}"
    if is_again:
        title += " · " + _("possible duplicate")

    def more(number: int) -> str:
        return ngettext("And %(count)d more.", "And %(count)d more.", number) % {"count": number}

    return Note(
        title=title,
        lines=lines,
        all_words=_("Open Reflection Desk"),
        all_url=_address("project_overview", project),
        more=more,
    )


def _address(page: str, project: Project, *args: object) -> str:
    return str(settings.PUBLIC_URL + reverse(page, args=(project.slug, *args)))


class _Composer:
    """The items of one message with what they are about, read together."""

    def __init__(self, project: Project, items: Sequence[ChannelItem], *, now: datetime) -> None:
        self.project, self.items, self.now = project, items, now
        self.goals = project.get_waiting()
        reviews = Review.objects.filter(project=project).select_related("run__task", "panel", "queue")
        self.reviews = reviews.defer("run__spec", "run__task__tests").in_bulk(list(self._ids("review", Topic.REVIEW)))
        questions = Question.objects.filter(project=project, state=QuestionState.OPEN)
        self.questions = questions.in_bulk(list(self._ids("question", Topic.QUESTION)))

    def _ids(self, name: str, topic: Topic) -> Iterator[UUID]:
        """The ids of what the items of a topic, and escalations, are about."""
        for item in self.items:
            if item.topic == topic and item.event is not None:
                yield UUID(item.event.payload[name])
            elif item.topic == Topic.ESCALATION and item.about_id is not None:
                yield item.about_id

    def lines(self) -> Iterator[Line]:
        """What escalated first, then the rest as it came; of one thing there is one line."""
        escalated = {item.about_id for item in self.items if item.topic == Topic.ESCALATION}
        told: set[UUID] = set()
        for item in sorted(self.items, key=lambda one: one.topic != Topic.ESCALATION):
            about = self._about(item)
            if about in told or (item.topic != Topic.ESCALATION and about in escalated):
                continue
            told.add(about)
            yield from self._lines_of(item, about)

    def _about(self, item: ChannelItem) -> UUID:
        match Topic(item.topic):
            case Topic.REVIEW if item.event is not None:
                return UUID(item.event.payload["review"])
            case Topic.QUESTION if item.event is not None:
                return UUID(item.event.payload["question"])
            case Topic.RUN_FAILED if item.event is not None:
                return item.event.run_id
        return item.about_id or item.pk

    def _lines_of(self, item: ChannelItem, about: UUID) -> Iterator[Line]:
        match Topic(item.topic):
            case Topic.REVIEW | Topic.QUESTION | Topic.ESCALATION:
                yield from self._waiting(about, is_late=item.topic == Topic.ESCALATION)
            case Topic.RUN_FAILED:
                yield from self._failed(about)
            case Topic.CONFLICT:
                yield from self._conflict(about)
            case Topic.DAILY | Topic.WEEKLY if item.day is not None:
                yield from self._digest(Digest(item.topic), item.day)

    def _waiting(self, about: UUID, *, is_late: bool) -> Iterator[Line]:
        """What nobody waits for any more is nobody's news."""
        review, question = self.reviews.get(about), self.questions.get(about)
        if review is not None and review.is_open:
            goal = waited(60 * (review_goal(review, project=self.project) or 0))
            facts = {"span": self._since(review.created_at), "goal": goal}
            words = _("Overdue review: waiting %(span)s, SLA target %(goal)s") % facts if is_late else ""
            words = words or _("Review waiting for %(span)s") % facts
            yield Line(words, _address("review", self.project, about), inert(review.run.task.title))
        elif question is not None:
            goal = waited(60 * (self.goals.question_goal_minutes or 0))
            facts = {"span": self._since(question.created_at), "goal": goal}
            words = _("Overdue question: waiting %(span)s, SLA target %(goal)s") % facts if is_late else ""
            words = words or _("Agent question waiting for %(span)s") % facts
            yield Line(words, _address("question", self.project, about), inert(question.text))

    def _failed(self, run_id: UUID) -> Iterator[Line]:
        """A run that goes on again, or that the desk made for itself, is not told of."""
        run = Run.objects.select_related("task").defer("spec", "task__tests").filter(pk=run_id).first()
        if run is None or run.mode in DESKS_OWN or run.finished_at is None:
            return
        facts = {"span": self._since(run.finished_at)}
        match run.outcome:
            case Outcome.FAILED:
                words = _("Run failed %(span)s ago") % facts
            case Outcome.OVER_BUDGET:
                words = _("Run went over budget %(span)s ago") % facts
            case Outcome.TIMED_OUT:
                words = _("Run timed out %(span)s ago") % facts
            case _other:
                return
        yield Line(words, _address("run", self.project, run_id), inert(run.task.title))

    def _conflict(self, conflict_id: UUID) -> Iterator[Line]:
        conflict = conflict_of(self.project.pk, conflict_id)
        if conflict is None or not conflict.is_open:
            return
        facts = {"span": self._since(conflict.created_at)}
        if conflict.kind == ConflictKind.CONTRADICTION:
            words = _("Contradicting notebook entries, found %(span)s ago") % facts
        else:
            words = _("Duplicate notebook entries, found %(span)s ago") % facts
        yield Line(words, _address("conflict", self.project, conflict_id), inert(conflict.first.name))

    def _digest(self, period: Digest, day: date) -> Iterator[Line]:
        """Nothing where nothing happened and nothing waits."""
        told = digest_of(self.project, period, day=day, now=self.now)
        queue = _address("reviews", self.project)
        if told.reviews or told.questions:
            words = _("Waiting: %(reviews)s reviews, %(questions)s questions; overdue: %(overdue)s")
            facts = {"reviews": told.reviews, "questions": told.questions, "overdue": told.overdue}
            yield Line(words % facts, queue)
        if told.decided:
            words = _("Decided in the last day: %(number)s") if period is Digest.DAILY else ""
            words = words or _("Decided in the last week: %(number)s")
            yield Line(words % {"number": told.decided}, f"{queue}?view=decided")
        if told.proposed:
            words = _("Lessons proposed in the last day: %(number)s") if period is Digest.DAILY else ""
            words = words or _("Lessons proposed in the last week: %(number)s")
            yield Line(words % {"number": told.proposed}, _address("notebook_inbox", self.project))

    def _since(self, when: datetime) -> str:
        return waited((self.now - when).total_seconds())
