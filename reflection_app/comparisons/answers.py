"""Sets, pairs and ratings as REST tells them. Who judges is told neither by whom the answers are nor which is which."""

from typing import Self
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from pydantic import AwareDatetime, Field, JsonValue

from reflection_app.api.reading import Answer, PageAnswer
from reflection_app.comparisons.models import ComparisonSet, JudgementState, Pair, PairJudgement, Preference, Side
from reflection_app.comparisons.rating import Group, WhyUnrated
from reflection_app.comparisons.results import RatedBy, Results
from reflection_app.core.audit import Actor


class SetAnswer(Answer):
    """A set of pairs that people judge, and how far they have got."""

    id: UUID
    name: str
    wanted: int = Field(description="how many people judge each pair")
    chosen: dict[str, JsonValue] = Field(description="how its pairs were chosen; empty where a pipeline hands them in")
    pairs: int = Field(validation_alias="pairs_made")
    done: int = Field(description="pairs that as many have judged as are wanted")
    judged: int = Field(description="judgements there are")
    asked: int = Field(description="judgements that are wanted in all")
    is_open: bool
    created_by: str = Field(validation_alias="created_by_label")
    created_at: AwareDatetime
    closed_at: AwareDatetime | None


class SetPage(PageAnswer):
    results: list[SetAnswer]


class ComparedPairAnswer(Answer):
    """A pair without its texts."""

    id: UUID
    set_id: UUID
    title: str = Field(description="the beginning of the objective")
    wanted: int
    judged: int
    model_a: str | None = Field(description="null until all who are wanted have judged, as the three below")
    prompt_a: str | None
    model_b: str | None
    prompt_b: str | None
    run_a: UUID | None = Field(description="null as well where a pipeline handed the pair in")
    run_b: UUID | None
    created_at: AwareDatetime


class PairPage(PageAnswer):
    results: list[ComparedPairAnswer]


LONGEST_TITLE = 110


def pairs_to_show(pairs: QuerySet[Pair], *, reader: Actor) -> QuerySet[Pair]:
    """The rows with what their answers need, and whether `reader` has judged them and can take that back."""
    mine = PairJudgement.objects.filter(pair=OuterRef("pk"), person=reader.person_id, state=JudgementState.JUDGED)
    pairs = pairs.annotate(is_mine=Exists(mine.filter(pair__set__closed_at__isnull=True)))
    texts = ("objective_b", "answer_a", "answer_b")
    attempts = (f"attempt_{side}__{name}" for side in "ab" for name in ("content", "artifacts", "self_check"))
    return pairs.select_related("attempt_a", "attempt_b").defer(*texts, *attempts)


def pair_answer(pair: Pair) -> ComparedPairAnswer:
    """Of `pairs_to_show`. The makers are told once nobody judges the pair any more: who could judge it anew may yet."""
    is_told = pair.is_done and not pair.is_mine  # type: ignore[attr-defined]  # annotated by pairs_to_show
    makers = {name: getattr(pair, name) if is_told else None for name in MAKERS}
    return ComparedPairAnswer(
        id=pair.pk,
        set_id=pair.set_id,
        title=pair.objective.strip()[:LONGEST_TITLE],
        wanted=pair.wanted,
        judged=pair.judged,
        run_a=pair.attempt_a.run_id if pair.attempt_a and is_told else None,
        run_b=pair.attempt_b.run_id if pair.attempt_b and is_told else None,
        created_at=pair.created_at,
        **makers,
    )


MAKERS = ("model_a", "prompt_a", "model_b", "prompt_b")


class HandedInPairs(Answer):
    """The pairs that were added."""

    ids: list[UUID]


class SeatAnswer(Answer):
    """A pair as whoever holds it sees it: two answers, and nothing of where they come from."""

    id: UUID = Field(description="of the judgement that is to be given")
    pair_id: UUID
    set_id: UUID
    state: JudgementState
    objective: str = Field(description="of the answer on the left, where the two differ")
    objective_right: str | None = Field(description="of the answer on the right, where it is not the same")
    left: str = Field(description="the answer on the left; chance put it there")
    right: str
    choice: Preference | None
    reason: str
    lease_token: UUID | None = Field(description="to be sent with the judgement; null where the pair is not held")
    lease_until: AwareDatetime | None = Field(description="until then nobody else is given the pair")

    @classmethod
    def of(cls, seat: PairJudgement) -> Self:
        pair = seat.pair
        objectives = (pair.objective, pair.objective_b or pair.objective)
        answers = (pair.answer_a, pair.answer_b)
        if seat.left == Side.B:
            objectives, answers = objectives[::-1], answers[::-1]
        return cls(
            id=seat.pk,
            pair_id=pair.pk,
            set_id=pair.set_id,
            state=seat.state,
            objective=objectives[0],
            objective_right=objectives[1] if objectives[1] != objectives[0] else None,
            left=answers[0],
            right=answers[1],
            choice=seat.choice,
            reason=seat.reason,
            lease_token=seat.lease_token,
            lease_until=seat.lease_until,
        )


def set_answer(comparison_set: ComparisonSet) -> SetAnswer:
    """Of a row of `sets_to_show`."""
    return SetAnswer.from_row(comparison_set)


# Ratings.


class RatedAnswer(Answer):
    """A contestant; the three numbers are null where no ratings fit what was said of its group."""

    name: str
    wins: int
    ties: int
    losses: int
    rating: float | None = Field(
        description="1,000 on average of its group; 400 points more are odds of ten to one of being preferred"
    )
    low: float | None = Field(description="of the 95 % interval")
    high: float | None


class GroupAnswer(Answer):
    """Contestants that were compared with each other. Ratings of two groups cannot be compared."""

    contestants: list[RatedAnswer] = Field(description="best first")
    why_unrated: WhyUnrated | None = Field(
        description="`alone`: it was compared with nobody; `only_ties`: nothing was ever preferred; `separated`: some "
        "never lost to the others, so that no finite ratings fit"
    )
    ahead: list[str] = Field(description="of those that are separated, who never lost to, nor drew with, the others")

    @classmethod
    def of(cls, group: Group) -> Self:
        return cls(
            contestants=[RatedAnswer.from_row(one) for one in group.contestants],
            why_unrated=group.why_unrated,
            ahead=list(group.ahead),
        )


class RatingsAnswer(Answer):
    """Ratings by Davidson's extension of the Bradley-Terry model, and how far the judgements can be believed."""

    by: RatedBy
    groups: list[GroupAnswer]
    judgements: int
    rated_on: int = Field(description="those of answers by two different contestants")
    mixed: int = Field(description="of these, where model and prompt differ both: the rating may be due to the other")
    ties: int
    both_bad: int = Field(description="count as ties")
    decided: int = Field(description="where one answer was preferred")
    left_share: float | None = Field(description="how often that was the one on the left: 0.5 without a bias")
    left_low: float | None = Field(description="of its 95 % interval")
    left_high: float | None
    judged_by_several: int = Field(description="pairs that two people or more judged")
    agreement: float | None = Field(description="of those, the share of equal judgements")
    alpha: float | None = Field(description="Krippendorff's α: what the agreement is beyond chance")

    @classmethod
    def of(cls, results: Results) -> Self:
        left, agreement = results.left, results.agreement
        return cls(
            by=results.by,
            groups=[GroupAnswer.of(group) for group in results.groups],
            judgements=results.judgements,
            rated_on=results.rated_on,
            mixed=results.mixed,
            ties=results.ties,
            both_bad=results.both_bad,
            decided=results.decided,
            left_share=left.estimate if left else None,
            left_low=left.low if left else None,
            left_high=left.high if left else None,
            judged_by_several=agreement.pairs,
            agreement=agreement.share,
            alpha=agreement.alpha,
        )
