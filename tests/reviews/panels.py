"""Panels: verdicts that several people judge blindly, made by really running loops under a policy that asks for it."""

from typing import Any

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Panel, Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given
from tests.reviews.reviewed import decide_held
from tests.runs.critiques import critique

SECRET_REASON = "It reads like a timetable."


def panel_project(slug: str | None = None, *, reviewers: int = 3, **policy: Any) -> Project:
    """A project whose every verdict that the critic is unsure of, or rejects, waits for so many people."""
    rules = [{"verdicts": ["REJECT"], "reviewers": reviewers}, {"confidence_below": 0.6, "reviewers": reviewers}]
    return given.project(slug, review_policy={"audit_share": 0, "rules": rules} | policy)


def open_panel(
    project: Project | None = None, *, score: float = 80, reviewers: int = 3, confidence: float = 0.2
) -> Panel:
    """The panel that a fresh run waits for: a PASS, or by its score a REVISE or REJECT, that is not sure."""
    answers = {
        "attempt-1/answer": "Trains, and nothing but trains.",
        "attempt-1/critique": critique(score, approved=score >= 50, confidence=confidence),
        "attempt-2/answer": "A second text.",
        "attempt-2/critique": critique(95, approved=True),
    }
    project = project or panel_project(reviewers=reviewers)
    run = given.scripted_run(answers, project=project)
    # Scripted runs draw no audits unless a test says so.
    run.spec["review_policy"]["audit_share"] = project.get_review_policy().audit_share
    run.save(update_fields=["spec"])
    advance(run.pk)
    return Panel.objects.get(run=run)


def panel_of(review: Review) -> Panel:
    """The open panel of two that `review` is made a blind seat of."""
    review.panel = Panel.objects.create(wanted=2, **_same(review))
    review.save()
    return review.panel


def another_seat(review: Review) -> Review:
    """One more free seat of the review's panel."""
    return Review.objects.create(panel=review.panel, **_same(review))


def _same(review: Review) -> dict[str, Any]:
    names = ("project", "run", "attempt", "verdict", "step", "reason", "holds_run")
    return {name: getattr(review, name) for name in names}


def people(project: Project, number: int) -> list[Actor]:
    """Reviewers of the project."""
    return [Actor(user=given.member(project)) for _ in range(number)]


def say(
    panel: Panel, actor: Actor, verdict: VerdictName | None = None, *, reason: str = SECRET_REASON, **more: Any
) -> Review:
    """A free seat, taken and decided by `actor`: approved, or overruled with `verdict`."""
    held = take_seat(panel, actor)
    return decide_held(held, actor, "overrule" if verdict else "approve", verdict=verdict, reason=reason, **more)


def take_seat(panel: Panel, actor: Actor) -> Review:
    """A free seat of the panel, held by `actor` from now on."""
    seat = Review.objects.filter(panel=panel, state=ReviewState.WAITING).exclude(reason="adjudication").first()
    assert seat is not None
    return claim_review(seat, actor=actor)


def adjudication(panel: Panel) -> Review:
    """The review that is to settle the dispute."""
    return Review.objects.get(panel=panel, reason="adjudication", state__in=["waiting", "claimed", "decided"])


def fresh(panel: Panel) -> Panel:
    return Panel.objects.get(pk=panel.pk)


def run_of(panel: Panel) -> Run:
    return Run.objects.get(pk=panel.run_id)
