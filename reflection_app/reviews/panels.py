"""Several people judge one verdict blindly: their opinions, what they say together, and disputes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from uuid import uuid4

from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict
from reflection_app.loops.attempt_effects import Decision, ReviewDecision, ReviewReason
from reflection_app.loops.rubrics import together
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.verdicts import Issue
from reflection_app.queues.routing import route
from reflection_app.reviews.claiming import lease_end, tell_pages
from reflection_app.reviews.decisions import Decided, put_in_force, score_within
from reflection_app.reviews.models import About, Panel, PanelState, Review, ReviewState
from reflection_app.reviews.undo import FORGOTTEN, take_back
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Run, Verdict
from reflection_app.teams.models import Notification, NotificationKind
from reflection_app.teams.notifications import tell_of_adjudication

# What people who judged blindly say together. Pure.


def consensus(opinions: Sequence[ReviewDecision], *, thresholds: Thresholds) -> ReviewDecision | None:
    """What all opinions come to: their verdict, the median score, every issue once. None where they differ.

    Those who say which attempt to keep agree where they name the same one.
    """
    if len({(opinion.verdict, opinion.picked) for opinion in opinions}) != 1:
        return None
    approved = all(opinion.decision is Decision.APPROVE for opinion in opinions)
    return ReviewDecision(
        decision=Decision.APPROVE if approved else Decision.OVERRULE,
        verdict=opinions[0].verdict,
        score=score_within(opinions[0].verdict, median(opinion.score for opinion in opinions), thresholds),
        issues=each_once(issue for opinion in opinions for issue in opinion.issues),
        reason="\n\n".join(f"{opinion.reviewer}: {opinion.reason}" for opinion in opinions if opinion.reason.strip()),
        reviewer=", ".join(opinion.reviewer for opinion in opinions),
        picked=opinions[0].picked,
        ratings=together([opinion.ratings for opinion in opinions]),
    )


def majority(opinions: Sequence[ReviewDecision], *, thresholds: Thresholds) -> ReviewDecision | None:
    """What more than half of the opinions come to; None where there is no such majority."""
    said = Counter((opinion.verdict, opinion.picked) for opinion in opinions)
    if not said:
        return None
    most, times = said.most_common(1)[0]
    if 2 * times <= len(opinions):
        return None
    return consensus([one for one in opinions if (one.verdict, one.picked) == most], thresholds=thresholds)


def each_once(issues: Iterable[Issue]) -> tuple[Issue, ...]:
    """The issues in their order; one that several people name in the same words counts once, as the first names it.

    Of other passages, or parts of files, the same words are another issue.
    """
    found: dict[tuple[object, ...], Issue] = {}
    for issue in issues:
        words = (" ".join(text.casefold().split()) for text in (issue.description, issue.suggested_fix, issue.path))
        description, suggested_fix, path = words
        found.setdefault((issue.category.value, description, suggested_fix, path, issue.mark, issue.region), issue)
    return tuple(found.values())


# A dispute: opinions that were given blindly differ, and one more person decides, who sees them all.


def open_dispute(panel: Panel, run: Run, *, actor: Actor) -> Review:
    """The review that settles it, in the transaction of the opinion that made the dispute."""
    # Whose work it is the seats know as well: beside the run's own, who edited the text that is judged.
    hands = [hand for seat in Review.objects.filter(panel=panel) for hand in seat.handed_in_by]
    review = Review.objects.create(
        project_id=panel.project_id,
        run=run,
        attempt_id=panel.attempt_id,
        verdict_id=panel.verdict_id,
        step_id=panel.step_id,
        panel=panel,
        reason=ReviewReason.ADJUDICATION.value,
        holds_run=panel.holds_run,
        handed_in_by=list(dict.fromkeys([*run.handed_in_by, *hands])),
    )
    route([review])
    add_event(run, EventType.REVIEW_OPENED, review=str(review.pk), reason=review.reason)
    run.save(update_fields=["last_event_seq"])
    audit(panel.project_id, actor, "panel.disputed", target=panel, after={"adjudication": str(review.pk)})
    tell_of_adjudication(review, actor=actor)
    return review


def drop_dispute(panel: Panel) -> None:
    """Withdraws the review that was to settle it. Raises Conflict where somebody is at it, or has decided."""
    review = (
        Review.objects.select_for_update()
        .filter(panel=panel, reason=ReviewReason.ADJUDICATION, state__in=(ReviewState.WAITING, ReviewState.CLAIMED))
        .first()
    )
    if review is None:
        raise Conflict(_("The disagreement is already settled. Undo that decision first."))
    if review.is_held:
        raise Conflict(_("%(who)s is settling the disagreement. Nothing was changed.") % {"who": review.holder_label})
    review.state, review.lease_token, review.lease_until = ReviewState.WITHDRAWN, None, None
    review.save(update_fields=["state", "lease_token", "lease_until"])
    Notification.objects.filter(about=About.REVIEW, about_id=review.pk, kind=NotificationKind.ADJUDICATION).delete()


# Opinions of people who judge the same verdict blindly.
#
# An opinion is kept at its seat, and nothing follows from it before the last one is in. Where all agree, their verdict
# comes into force; where they differ, one more review is opened, and whoever takes it decides.


def keep_opinion(review: Review, run: Run, decided: Decided, *, actor: Actor) -> None:
    """Keeps what was said at the seat, in the caller's transaction that has locked `run` and recorded the decision."""
    panel = _locked(review)
    Review.objects.filter(pk=review.pk).update(opinion=decided.decision.model_dump(mode="json"))
    given = opinions_of(panel)
    # What was said is not in the event: it is told to everybody who may read the run.
    add_event(run, EventType.REVIEW_OPINION, review=str(review.pk), given=len(given), wanted=panel.wanted)
    run.save(update_fields=["last_event_seq"])
    if len(given) >= panel.wanted:
        opinions = [opinion for seat in given if (opinion := seat.get_opinion())]
        agreed = consensus(opinions, thresholds=run.get_spec().thresholds)
        panel.complete_at, panel.agreed = timezone.now(), agreed is not None
        if agreed is None:
            panel.state = PanelState.DISPUTED
            panel.save(update_fields=["state", "complete_at", "agreed"])
            open_dispute(panel, run, actor=actor)
        else:
            panel.state, panel.settled_at = PanelState.SETTLED, panel.complete_at
            panel.save(update_fields=["state", "complete_at", "agreed", "settled_at"])
            put_in_force(review, run, Decided(decision=agreed, attempt=decided.attempt), actor=actor)
            settled = Review.objects.get(pk=review.pk)
            # It is the word of all of them, not of the one who happened to be the last.
            Verdict.objects.filter(decided_by_reviews=settled).update(given_by=None)
            Review.objects.filter(pk__in=[seat.pk for seat in given]).update(
                decided_verdict=settled.decided_verdict_id,
                decided_seq=settled.decided_seq,
                ordered_run=settled.ordered_run_id,
            )
            audit(panel.project_id, actor, "panel.settled", target=panel, after=agreed.model_dump(mode="json"))
    tell_pages(run.pk, project_id=run.project_id)


def opinions_of(panel: Panel) -> list[Review]:
    """The seats whose opinions are in, first to last."""
    seats = Review.objects.filter(panel=panel, state=ReviewState.DECIDED, opinion__isnull=False)
    return list(seats.order_by("decided_at", "id"))


def _locked(review: Review) -> Panel:
    """The review's panel. The run has to be locked before it, as everywhere."""
    panel_id = review.panel_id
    assert panel_id is not None, "a review of a panel"
    return Panel.objects.select_for_update().get(pk=panel_id)


def settle_dispute(adjudication: Review, *, actor: Actor) -> None:
    """The panel is settled by the review that was opened because its opinions differ, which was decided just now."""
    panel = _locked(adjudication)
    panel.state, panel.settled_at = PanelState.SETTLED, timezone.now()
    panel.save(update_fields=["state", "settled_at"])
    audit(panel.project_id, actor, "panel.settled", target=panel, after={"adjudication": str(adjudication.pk)})


def take_back_opinion(review: Review, run: Run, *, actor: Actor) -> None:
    """The seat is its giver's again, to be decided anew, and what followed from the opinion is taken back with it.

    Call it in a transaction that has locked `run`. Raises Conflict where others have built on the opinion.
    """
    panel = _locked(review)
    if review.state != ReviewState.DECIDED or panel.state == PanelState.WITHDRAWN:
        raise Conflict(_("This opinion cannot be undone: the run continued without it."))
    if panel.state == PanelState.SETTLED:
        if not panel.agreed:
            raise Conflict(_("The disagreement is already settled. Undo that decision first."))
        take_back(review, run, actor=actor)
    else:
        if panel.state == PanelState.DISPUTED:
            drop_dispute(panel)
        add_event(run, EventType.REVIEW_UNDONE, review=str(review.pk), by=actor.label)
        run.save(update_fields=["last_event_seq"])
    panel.was_reopened = panel.was_reopened or panel.complete_at is not None
    panel.state, panel.agreed, panel.complete_at, panel.settled_at = PanelState.OPEN, None, None, None
    panel.save(update_fields=["state", "agreed", "complete_at", "settled_at", "was_reopened"])
    Review.objects.filter(pk=review.pk).update(
        state=ReviewState.CLAIMED,
        holder=review.decided_by,
        holder_label=review.decided_by_label,
        lease_token=uuid4(),
        lease_until=lease_end(timezone.now()),
        **FORGOTTEN,
    )
    tell_pages(run.pk, project_id=run.project_id)


def reopen_dispute(adjudication: Review) -> None:
    """The decision that settled the dispute was taken back: opinions differ again, and it waits for another one."""
    panel = _locked(adjudication)
    panel.state, panel.settled_at = PanelState.DISPUTED, None
    panel.save(update_fields=["state", "settled_at"])
