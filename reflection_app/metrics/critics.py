"""The critics' verdicts that people judged because a policy asked them to, with the chance that each had of that.

Left out is what no chance is known for: reviews that somebody asked for. So is what is no verdict of its own: copies in
forks, what a person edited, runs that do again what was judged before, scripts, and the question which attempt to keep.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Min, OuterRef, Q, QuerySet, Subquery

from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.task_spec import ReviewPolicy
from reflection_app.loops.verdicts import Referee
from reflection_app.metrics.calibration import (
    Compared,
    Critic,
    CriticCalibration,
    Judged,
    JudgementSource,
    Undecided,
    by_critic,
    compared_items,
)
from reflection_app.metrics.definitions import Chosen
from reflection_app.metrics.review_figures import of_the_choice
from reflection_app.reviews.models import OPEN, PanelState, Review, ReviewState
from reflection_app.reviews.policy import Facts, chance_to_wait, cost_then
from reflection_app.runs.models import Step

# How likely a verdict was to be put before people by the policy that its run began with. Pure.


def chance_of_review(policy: ReviewPolicy, facts: Facts) -> float:
    """The probability with which rules, or the audit of what they do not make wait, ask people about such a verdict."""
    waits = chance_to_wait(policy, facts)
    return waits + (1 - waits) * policy.audit_share


# The newest ones count; so many are compared in a moment.
MOST_COMPARED = 20_000
CHUNK = 2_000
# Independent of the policy's rules, so the chance of such a review is 1.
ALWAYS_ASKED = (ReviewReason.CHECKPOINT, ReviewReason.REQUIRED)
BY_POLICY = [
    reason.value
    for reason in (
        ReviewReason.REJECTED,
        ReviewReason.LOW_CONFIDENCE,
        ReviewReason.POLICY,
        ReviewReason.AUDIT,
        *ALWAYS_ASKED,
    )
]
PROMPTS = ("critic_system", "critic_evaluate", "critic_requirements")
# What a critic that rates by a rubric is asked in place of the second.
RATING = ("critic_system", "critic_rate", "critic_requirements")
# How a critic was asked: its prompts, and the version of the rubric that its run went by.
ASKED_BY = {name: F(f"run__prompt_versions__{name}") for name in dict.fromkeys((*PROMPTS, *RATING))} | {
    "rubric": F("run__spec__rubric__number")
}
SHORT = 6


@dataclass(frozen=True)
class Drawn:
    """`waiting` were put before people and are not decided; `withdrawn` never will be, for their runs have ended.

    `by_keys` were decided by keys alone: no person has said anything of them.
    """

    waiting: int
    withdrawn: int
    by_keys: int = 0


def compared_verdicts(project_id: UUID, chosen: Chosen) -> list[Compared]:
    """What people decided about the critics' verdicts, each verdict once, newest first; not those of open panels.

    What keys decided is no word of a person's. A panel on which a key sat counts by the people who agreed with it.
    """
    decided = _settled(_asked_for_by_policy(project_id, chosen)).filter(decided_by_key__isnull=True)
    # Seats that agree share one decision; a dispute's is that of the review which settled it.
    once = decided.order_by("verdict_id", "-decided_at", "-id").distinct("verdict_id").values("pk")
    newest = (
        Review.objects.filter(pk__in=once)
        .annotate(
            critic=Subquery(critique_before().values("model")[:1]),
            routed_kind=Subquery(Step.objects.filter(run=OuterRef("run"), key="route").values("result__task_kind")[:1]),
            cost_then=cost_then("verdict__"),
            policy=F("run__spec__review_policy"),
            **ASKED_BY,
        )
        .order_by("-verdict__created_at", "-verdict_id")
        .values(
            *("pk", "run_id", "critic", "routed_kind", "cost_then", "policy", "reason", *ASKED_BY),
            *("verdict__verdict", "verdict__score", "verdict__confidence", "decided_verdict__verdict"),
            *("run__task__kind", "run__task__agent", "panel__reason"),
        )[:MOST_COMPARED]
    )
    compared = []
    for row in newest.iterator(chunk_size=CHUNK):
        facts = Facts(
            verdict=row["verdict__verdict"],
            score=row["verdict__score"],
            confidence=row["verdict__confidence"],
            kind=row["run__task__kind"] or row["routed_kind"] or "",
            agent=row["run__task__agent"],
            cost_usd=row["cost_then"],
        )
        chance = 1.0
        if {row["reason"], row["panel__reason"]}.isdisjoint(ALWAYS_ASKED):
            chance = chance_of_review(ReviewPolicy.model_validate(row["policy"] or {}), facts)
        if chance > 0:
            critic = Critic(JudgementSource.DESK, row["critic"] or "", prompts_version(row))
            judged = Judged(
                critic=row["verdict__verdict"],
                people=row["decided_verdict__verdict"],
                weight=1 / chance,
                confidence=row["verdict__confidence"],
                cluster=row["run_id"],
            )
            compared.append(Compared(critic, judged, row["pk"]))
    return compared


def critique_before() -> QuerySet[Step]:
    """Of a review, the critic's calls that its verdict may rest on, the one that it does first; for a subquery."""
    return Step.objects.filter(
        run=OuterRef("run"), role="critic", kind="generate", seq__lt=OuterRef("verdict__step__seq")
    ).order_by("-seq")


def prompts_version(versions: Mapping[str, Any]) -> str:
    """Which text a critic's prompts had, by what ASKED_BY tells of its run; each version of a rubric is another."""
    rubric = versions.get("rubric")
    told = [str(versions[name])[:SHORT] for name in (RATING if rubric else PROMPTS) if versions.get(name)]
    return "-".join([*told, *([f"rubric{rubric}"] if rubric else [])])


def prompts_first_seen(project_id: UUID) -> dict[str, datetime]:
    """When each version of the prompts first gave a verdict that was decided about, the oldest first.

    Of all time, so that a version has the same number whatever the period.
    """
    rows = (
        Review.objects.filter(project_id=project_id, decided_verdict__isnull=False)
        .annotate(**ASKED_BY)
        .values(*ASKED_BY)
        .annotate(first=Min("verdict__created_at"))
        .order_by("first")
    )
    seen: dict[str, datetime] = {}
    for row in rows:
        seen.setdefault(prompts_version(row), row["first"])
    return seen


def still_to_come(project_id: UUID, chosen: Chosen) -> Drawn:
    """The verdicts that a policy put before people of which nothing is known."""
    asked = _asked_for_by_policy(project_id, chosen)
    rows = asked.filter(decided_verdict__isnull=True)
    undecided = Q(panel__isnull=True, state__in=OPEN)
    unsettled = Q(panel__state__in=(PanelState.OPEN, PanelState.DISPUTED))
    withdrawn = Q(panel__isnull=True, state=ReviewState.WITHDRAWN) | Q(panel__state=PanelState.WITHDRAWN)
    return Drawn(
        waiting=rows.filter(undecided | unsettled).values("verdict").distinct().count(),
        withdrawn=rows.filter(withdrawn).values("verdict").distinct().count(),
        by_keys=_settled(asked)
        .filter(decided_by_key__isnull=False)
        .exclude(verdict__in=_settled(asked).filter(decided_by_key__isnull=True).values("verdict"))
        .values("verdict")
        .distinct()
        .count(),
    )


def _asked_for_by_policy(project_id: UUID, chosen: Chosen) -> QuerySet[Review]:
    """Of the verdicts given in the period. Which model made the attempts plays no part here."""
    by_policy = Q(panel__isnull=True, reason__in=BY_POLICY) | Q(panel__reason__in=BY_POLICY)
    return Review.objects.filter(
        by_policy & of_the_choice(replace(chosen, model="")),
        project=project_id,
        run__parent__isnull=True,
        run__is_scripted=False,
        # Somebody who asks for a look may ask because it looks wrong; the policy's steps alone draw by known chance.
        step__isnull=False,
        verdict__referee=Referee.CRITIC.value,
        verdict__step__is_inherited=False,
        verdict__step__edited_by_label="",
        verdict__created_at__gte=chosen.begin,
        verdict__created_at__lt=chosen.end,
    ).order_by()


def _settled(rows: QuerySet[Review]) -> QuerySet[Review]:
    settled = Q(panel__isnull=True) | Q(panel__state=PanelState.SETTLED)
    return rows.filter(settled, state=ReviewState.DECIDED, decided_verdict__isnull=False)


# All that calibration says of a project's critics: by the desk's own reviews, and by judgements from elsewhere.


@dataclass(frozen=True)
class CalibrationFigures:
    """`critics`: those of which most is known first. `rows` is what they are of, newest first within each source."""

    critics: tuple[CriticCalibration, ...]
    rows: Sequence[Compared]
    drawn: Drawn
    undecided: Undecided

    def behind(self, critic: Critic, *, said: str = "", people: str = "") -> list[Compared]:
        """What the critic's figures are of: all of it, or what it and people gave these verdicts."""
        return [
            row
            for row in self.rows
            if row.critic == critic
            and (not said or row.judged.critic == said)
            and (not people or row.judged.people == people)
        ]


def calibration_figures(project_id: UUID, chosen: Chosen) -> CalibrationFigures:
    """The figures of the project. What comes from elsewhere has no day or agent, so all of it counts."""
    items, undecided = compared_items(project_id)
    rows = [*compared_verdicts(project_id, chosen), *items]
    return CalibrationFigures(by_critic(rows), rows, still_to_come(project_id, chosen), undecided)
