"""A decision is taken back: its verdict goes, and with it everything that the run did because of it.

The reverse of `put_in_force`. `take_back` checks nothing: `undo_decision` asks `why_it_stands` before.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor
from reflection_app.loops.attempt_effects import AwaitAttempt, CallTool
from reflection_app.loops.catalogue import version_of
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tool_calls import ToolFailure as WhyFailed
from reflection_app.loops.verdicts import Outcome
from reflection_app.repairs.models import ClassCorrection, InstructionState, Ticket
from reflection_app.reviews.claiming import lease_end, tell_pages
from reflection_app.reviews.editing import correction_of, take_back_correction
from reflection_app.reviews.models import About, Comment, Panel, Review, ReviewState
from reflection_app.runs.consequences import best_of
from reflection_app.runs.events import Event, EventType, add_event
from reflection_app.runs.lessons import settle_first_attempt
from reflection_app.runs.models import Question, QuestionState, Run, Step, StepState, Verdict
from reflection_app.runs.undo import TakenBack, proposed_entries, proposed_instructions, take_back_run, take_back_steps
from reflection_app.teams.models import Tool, ToolKind

FORGOTTEN: dict[str, Any] = {
    "opinion": None,
    "decision": None,
    "decision_reason": "",
    "decided_by": None,
    "decided_by_label": "",
    "decided_by_key": None,
    "decided_at": None,
}


def _facts(taken: TakenBack) -> dict[str, Any]:
    return asdict(taken) | {"cost_usd": str(taken.cost_usd)}


def take_back(review: Review, run: Run, *, actor: Actor) -> dict[str, Any]:
    """What was taken back, as the audit trail keeps it: all that `put_in_force` did and its run did because of it.

    Call it in a transaction that has locked `run`.

    A run that waited for the decision waits for another one; one that was ordered because of it ends as cancelled. The
    review itself is left to the caller, but for what tied it, and the other seats of its panel, to the verdict.
    """
    assert review.decided_seq is not None, "a decision that came into force"
    ordered = None
    if review.ordered_run_id is not None:
        ordered_run = Run.objects.select_for_update().get(pk=review.ordered_run_id)
        ordered = take_back_run(ordered_run, why=f"The order was taken back by {actor.label}.")
        tell_pages(ordered_run.pk, project_id=ordered_run.project_id)
    taken = TakenBack()
    if review.holds_run:
        assert review.step is not None, "what holds a run was asked for by a step"
        taken = take_back_steps(run, review.step, since=review.decided_seq)
    take_back_correction(review, run)
    verdicts = Verdict.objects.filter(decided_by_reviews=review)
    verdict_ids = list(verdicts.values_list("pk", flat=True))
    Review.objects.filter(run=run, decided_seq=review.decided_seq).update(
        decided_verdict=None, decided_seq=None, ordered_run=None
    )
    Verdict.objects.filter(pk__in=verdict_ids).delete()
    if review.holds_run:
        run.best_attempt_id = best_of(run).id
    add_event(run, EventType.REVIEW_UNDONE, review=str(review.pk), by=actor.label, steps=taken.steps)
    run.save(update_fields=["last_event_seq", "best_attempt"])
    settle_first_attempt(run)
    tell_pages(run.pk, project_id=run.project_id)
    return _facts(taken) | ({"ordered_run": _facts(ordered)} if ordered else {})


def hold_again(review: Review, *, actor: Actor) -> Review:
    """The review, undecided and held by `actor`, who can decide it anew at once."""
    Review.objects.filter(pk=review.pk).update(
        state=ReviewState.CLAIMED,
        holder=actor.user,
        holder_label=actor.label,
        holder_person=actor.person_id,
        lease_token=uuid4(),
        lease_until=lease_end(timezone.now()),
        **FORGOTTEN,
    )
    review.refresh_from_db()
    return review


# Why a decision can no longer be taken back: somebody outside knows of it, or somebody has built on it.
#
# Each question is asked of the rows, in one place, so that the page can say it before anybody tries.

PROPOSED = "proposed"
# Calls that were stopped before anything left the desk.
NEVER_LEFT = (
    WhyFailed.UNKNOWN_TOOL,
    WhyFailed.INVALID_ARGUMENTS,
    WhyFailed.ADDRESS_REFUSED,
    WhyFailed.MISCONFIGURED,
)


def why_it_stands(review: Review, run: Run) -> str:
    """Why the decision cannot be taken back; nothing where it can, as an opinion that nothing has followed from."""
    if review.decided_seq is None:
        return "" if review.is_seat else _("The decision was made before undo was supported.")
    return next(_reasons(review, run, seq=review.decided_seq), "")


def _reasons(review: Review, run: Run, *, seq: int) -> Iterator[str]:
    """What speaks against taking back the decision of event `seq`; each is asked only where none before it holds."""
    if run.told_seq >= seq:
        yield _("The agent or pipeline was already notified.")
    asked = Q(verdict=review.decided_verdict_id)
    if review.decided_verdict_id and (Review.objects.filter(asked).exists() or Panel.objects.filter(asked).exists()):
        yield _("A review of this decision was requested.")
    if correction := correction_of(review):
        if Review.objects.filter(attempt=correction).exists():
            yield _("A review of the edited answer was requested.")
        yield from _reasons_of_steps(run, Step.objects.none(), seq=seq, by=review.decided_by_label)
    if review.holds_run:
        assert review.step is not None, "what holds a run was asked for by a step"
        if run.outcome == Outcome.CANCELLED:
            yield _("The run was canceled afterwards.")
        if run.loop_version != version_of(Mode(run.spec["mode"])):
            yield _("The review loop changed after this run started, so the run cannot resume from there.")
        fork = Run.objects.filter(parent=run, forked_from_step__gt=review.step.seq).first()
        if fork is not None:
            yield _("%(who)s forked the run from a later step.") % {"who": fork.forked_by_label}
        since = Step.objects.filter(run=run, seq__gt=review.step.seq)
        yield from _reasons_of_steps(run, since, seq=seq, by=review.decided_by_label)
    ordered = review.ordered_run
    if ordered is not None:
        if ordered.told_seq:
            yield _("The agent or pipeline was already notified of the new run.")
        yield from _reasons_of_steps(ordered, Step.objects.filter(run=ordered), seq=0, by=review.decided_by_label)


def _reasons_of_steps(run: Run, since: QuerySet[Step], *, seq: int, by: str) -> Iterator[str]:
    """What speaks against taking these steps back, which came after event `seq`, decided `by` one."""
    if since.filter(kind=AwaitAttempt.kind, state=StepState.DONE).exists():
        yield _("The agent already submitted its next attempt.")
    stopped = Q(state=StepState.DONE, result__failure__in=[why.value for why in NEVER_LEFT])
    called = since.filter(kind=CallTool.kind).exclude(stopped).values_list("request__tool", flat=True)
    names = list(dict.fromkeys(called))
    built_in = Tool.objects.filter(project=run.project_id, kind=ToolKind.BUILTIN, name__in=names)
    if outside := [name for name in names if name not in set(built_in.values_list("name", flat=True))]:
        yield _("The tool %(tool)s was called afterwards.") % {"tool": outside[0]}
    yield from _reasons_of_reviews(run, since, by=by)
    answered = Question.objects.filter(step__in=since, state=QuestionState.ANSWERED).first()
    if answered is not None:
        yield _("%(who)s answered the run's question afterwards.") % {"who": answered.answered_by_label}
    redone = Event.objects.filter(run=run, seq__gt=seq, type=EventType.RUN_REDONE).first()
    fork = Run.objects.filter(pk=redone.payload.get("redo")).first() if redone else None
    if fork is not None:
        yield _("%(who)s ordered a redo of the run afterwards.") % {"who": fork.forked_by_label}
    tickets = Event.objects.filter(run=run, seq__gt=seq, type=EventType.TICKET_ENDED)
    ended = list(tickets.values_list("payload__ticket", flat=True))
    closed = Ticket.objects.filter(run=run, ticket_id__in=ended).exclude(ended_by_label="").first()
    if closed is not None:
        yield _("%(who)s closed the ticket afterwards.") % {"who": closed.ended_by_label}
    correction = ClassCorrection.objects.filter(report__step__in=since).first()
    if correction is not None:
        yield _("%(who)s corrected the error class afterwards.") % {"who": correction.by_label}
    decided = proposed_instructions(run, since).exclude(state=InstructionState.PROPOSED).first()
    if decided is not None:
        yield _("%(who)s already decided on the resulting instruction.") % {"who": decided.decided_by_label}
    kept = next((entry for entry in proposed_entries(run, since) if entry.state != PROPOSED), None)
    if kept is not None:
        yield _("The resulting notebook entry “%(name)s” is no longer a proposal.") % {"name": kept.name}


def _reasons_of_reviews(run: Run, since: QuerySet[Step], *, by: str) -> Iterator[str]:
    """A later decision, also one that nothing has followed from yet, or anything that somebody else began on one."""
    # The reviews that would go with these steps.
    later = Review.objects.filter(Q(step__in=since) | Q(attempt__step__in=since) | Q(verdict__step__in=since), run=run)
    decided = later.filter(state=ReviewState.DECIDED).order_by("-decided_at").first()
    if decided is not None:
        facts = {"who": decided.decided_by_label, "number": decided.attempt.number}
        yield _("%(who)s decided on attempt %(number)s afterwards. Undo that decision first.") % facts
    asked = later.filter(step=None).first()
    if asked is not None:
        facts = {"who": asked.note_by_label, "number": asked.attempt.number}
        yield _("%(who)s requested a review of attempt %(number)s afterwards.") % facts
    held = later.filter(state=ReviewState.CLAIMED, lease_until__gt=timezone.now()).exclude(holder_label=by).first()
    if held is not None:
        facts = {"who": held.holder_label, "number": held.attempt.number}
        yield _("%(who)s is reviewing the later attempt %(number)s.") % facts
    on_later = {"about": About.REVIEW, "about_id__in": later.values("pk")}
    comment = Comment.objects.filter(**on_later, deleted_at=None).first()
    if comment is not None:
        facts = {"who": comment.author_label, "number": later.get(pk=comment.about_id).attempt.number}
        yield _("%(who)s commented on attempt %(number)s afterwards.") % facts
