"""Critics' verdicts that people judged: what a critic is trained, or measured, on.

Unlike calibration, which needs to know by what chance each was looked at, this is all that people have judged, whoever
asked for it. Left out are what keys decided, the question which attempt to keep, which is about no verdict, and
verdicts that a person edited or a fork copied.
"""

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from reflection_app.loops.attempt_effects import Decision, ReviewReason
from reflection_app.loops.task_spec import OF_THE_DESK
from reflection_app.loops.verdicts import Referee
from reflection_app.metrics.critics import ASKED_BY, critique_before, prompts_version
from reflection_app.metrics.datasets.asking import Asked
from reflection_app.metrics.datasets.decisions import decided_reviews, in_force
from reflection_app.metrics.datasets.people import People
from reflection_app.metrics.datasets.reading import Sources
from reflection_app.metrics.datasets.rows import CriticRow, DatasetRow
from reflection_app.metrics.datasets.runs import task_columns
from reflection_app.reviews.models import Review, ReviewState

PICKS = (ReviewReason.UNSETTLED_PICK.value, ReviewReason.BROKEN_TESTS.value)


def _judged(asked: Asked) -> QuerySet[Review]:
    """Of each verdict the review that a person decided last; of a panel that agrees, the last seat."""
    by_people = decided_reviews(project=asked.project, decided_by_key__isnull=True).exclude(reason__in=PICKS)
    own = by_people.exclude(panel__reason__in=PICKS).filter(
        run__is_scripted=asked.query.scripted,
        verdict__referee=Referee.CRITIC.value,
        verdict__step__is_inherited=False,
        verdict__step__edited_by_label="",
        **asked.of_task("run__task__", run="run__"),
    )
    same = Review.objects.filter(verdict=OuterRef("verdict"), decided_by_key__isnull=True)
    decided = same.filter(state=ReviewState.DECIDED, decided_verdict__isnull=False, decided_at__lt=asked.until)
    later = decided.filter(decided_at__gt=OuterRef("decided_at"))
    as_late = decided.filter(decided_at=OuterRef("decided_at"), pk__gt=OuterRef("pk"))
    rows = own.exclude(run__mode__in=sorted(mode.value for mode in OF_THE_DESK)).filter(
        ~Exists(later), ~Exists(as_late)
    )
    return rows.select_related("run__task", "verdict", "attempt", "decided_verdict__attempt").annotate(
        critic=Subquery(critique_before().values("model")[:1]),
        **ASKED_BY,
    )


def _rows_of(reviews: Sequence[Review], asked: Asked, people: People) -> list[DatasetRow]:
    # All who sat on its panel, where it is of one.
    verdicts = [review.decided_verdict_id for review in reviews]
    together = in_force(decided_reviews(decided_verdict__in=verdicts, decided_by_key__isnull=True))
    decided = {one.verdict.pk: one for one in together}
    rows: list[DatasetRow] = []
    for review in reviews:
        assert review.decided_verdict_id is not None
        one = decided[review.decided_verdict_id]
        said, given = review.verdict, one.verdict
        rows.append(
            CriticRow(
                id=str(review.pk),
                at=review.decided_at,
                run_id=review.run_id,
                **task_columns(review.run, people),
                objective=people.work(review.run.task.objective),
                attempt=review.attempt.number,
                content=people.work(review.attempt.content),
                critic_model=getattr(review, "critic", None) or "",
                critic_prompt_version=prompts_version({name: getattr(review, name) for name in ASKED_BY}),
                critic_verdict=said.verdict,
                critic_score=said.score,
                critic_confidence=said.confidence,
                critic_issues=people.work(said.issues),
                human_verdict=given.verdict,
                human_score=given.score,
                human_issues=people.value(given.issues),
                human_reason=one.reason(people),
                overruled=one.decision is Decision.OVERRULE,
                asked_because=review.panel.reason if review.panel and not review.is_seat else review.reason,
                reviewers=len(one.seats),
                by=one.by(people),
            )
        )
    return rows


CRITIC = Sources[Review](moment="decided_at", wanted=_judged, rows_of=_rows_of)
