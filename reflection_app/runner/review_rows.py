"""The rows of reviews that a run asks for: one, or a panel's seats where several people are to judge blindly."""

from reflection_app.loops.effects import AskReviewer, RequestAudit, ReviewReason
from reflection_app.models import (
    OPEN,
    Attempt,
    EventType,
    Panel,
    PanelState,
    Review,
    ReviewState,
    Run,
    Step,
    Verdict,
    add_event,
)


def open_reviews(run: Run, step: Step, effect: AskReviewer | RequestAudit, *, attempt: Attempt) -> None:
    """Puts the attempt's newest verdict before as many people as the effect asks for."""
    reason = effect.reason if isinstance(effect, AskReviewer) else ReviewReason.AUDIT
    holds_run = isinstance(effect, AskReviewer)
    verdict = attempt.verdicts.latest("created_at", "id")
    panel = None
    if effect.reviewers > 1:
        panel = _panel(run, step, verdict, reason=reason, holds_run=holds_run, wanted=effect.reviewers)
    for _seat in range(effect.reviewers):
        review = Review.objects.create(
            project_id=run.project_id,
            run=run,
            attempt=attempt,
            verdict=verdict,
            step=step,
            panel=panel,
            reason=reason.value,
            holds_run=holds_run,
        )
        add_event(run, EventType.REVIEW_OPENED, review=str(review.pk), reason=reason.value)


def _panel(run: Run, step: Step, verdict: Verdict, *, reason: ReviewReason, holds_run: bool, wanted: int) -> Panel:
    return Panel.objects.create(
        project_id=run.project_id,
        run=run,
        attempt_id=verdict.attempt_id,
        verdict=verdict,
        step=step,
        reason=reason.value,
        holds_run=holds_run,
        wanted=wanted,
    )


def withdraw_reviews(run: Run) -> None:
    """Takes back what a run that ends still waits for. Audits stay: they do not hold it."""
    waited_for = {"run": run, "holds_run": True}
    Review.objects.filter(**waited_for, state__in=OPEN).update(
        state=ReviewState.WITHDRAWN, lease_token=None, lease_until=None
    )
    Panel.objects.filter(**waited_for, state__in=(PanelState.OPEN, PanelState.DISPUTED)).update(
        state=PanelState.WITHDRAWN
    )
