"""Blind comparisons over REST: sets, pairs that pipelines hand in, a judge's way through them, and the ratings."""

from uuid import UUID

from pydantic import Field

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, NoParameters, Nothing, get_row
from reflection_app.comparisons.answers import (
    HandedInPairs,
    PairPage,
    RatingsAnswer,
    SeatAnswer,
    SetAnswer,
    SetPage,
    pair_answer,
    pairs_to_show,
    set_answer,
)
from reflection_app.comparisons.claiming import claim_next, skip_pair
from reflection_app.comparisons.judging import JudgementInput, get_seat, judge_pair, undo_judgement
from reflection_app.comparisons.models import ComparisonSet, Pair, PairJudgement
from reflection_app.comparisons.results import Judges, RatedBy, results_of
from reflection_app.comparisons.sets import (
    PairsInput,
    SetInput,
    create_set,
    get_set,
    hand_in_pairs,
    sets_to_show,
    switch_set,
)
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value

TOKEN = "7f9c24e5-1d0b-4a0c-9f3e-2f1f0a4b6c8d"  # noqa: S105 - an example
SETS = {
    "Of runs": {"name": "Old model or new", "wanted": 3, "choose": {"model_a": "m-1", "model_b": "m-2", "most": 50}},
    "For a pipeline": {"name": "Nightly prompts", "wanted": 1},
}
PAIRS = {
    "Two prompts": {
        "pairs": [
            {
                "objective": "Name the capital of France.",
                "a": {"answer": "Paris.", "model": "m-1", "prompt": "v7"},
                "b": {"answer": "The capital of France is Paris.", "model": "m-1", "prompt": "v8"},
            }
        ]
    }
}
JUDGEMENTS = {
    "The left one is better": {"lease_token": TOKEN, "choice": "left", "reason": "It answers what was asked."},
    "Neither": {"lease_token": TOKEN, "choice": "tie"},
}


class OpenInput(Value):
    """Whether people are given its pairs."""

    is_open: bool


class Sets(DeskView):
    def get_object(self, set_id: UUID) -> ComparisonSet:
        return get_row(sets_to_show(self.project).filter(pk=set_id), "set")

    @read("list_comparison_sets", "Sets of pairs that people judge, newest first", may=Permission.READ_QUEUE)
    def list(self, query: PageQuery) -> SetPage:
        return self.page(SetPage, sets_to_show(self.project), query)

    @change(
        "create_comparison_set",
        "Make a set of pairs of answers, of runs or for a pipeline to fill",
        may=Permission.CHANGE_SETTINGS,
        what="set",
        status=201,
        examples=SETS,
        location="comparisons/{id}",
    )
    def create(self, body: SetInput) -> SetAnswer:
        return set_answer(self.get_object(create_set(self.project, body, actor=self.actor).pk))

    @read("get_comparison_set", "One set, and how far people have got", may=Permission.READ_QUEUE)
    def retrieve(self, comparison_set: ComparisonSet) -> SetAnswer:
        return set_answer(comparison_set)

    @change(
        "switch_comparison_set",
        "Close a set, or open it again; what was judged stays",
        may=Permission.CHANGE_SETTINGS,
        what="change",
        examples={"Close it": {"is_open": False}},
    )
    def partial_update(self, comparison_set: ComparisonSet, body: OpenInput) -> SetAnswer:
        switch_set(comparison_set, is_open=body.is_open, actor=self.actor)
        return set_answer(self.get_object(comparison_set.pk))

    @read("list_pairs", "The pairs of a set, newest first; who made them once all have judged", may=Permission.READ)
    def list_pairs(self, comparison_set: ComparisonSet, query: PageQuery) -> PairPage:
        pairs = pairs_to_show(Pair.objects.filter(set=comparison_set), reader=self.actor)
        return self.page(PairPage, pairs, query, each=pair_answer)

    @change(
        "hand_in_pairs",
        "Hand in pairs of answers for people to judge",
        may=Permission.HAND_IN,
        what="pairs",
        status=201,
        problems=(409,),
        examples=PAIRS,
    )
    def hand_in(self, comparison_set: ComparisonSet, body: PairsInput) -> HandedInPairs:
        pairs = hand_in_pairs(comparison_set, body, actor=self.actor)
        return HandedInPairs(ids=[pair.pk for pair in pairs])


class ClaimPairInput(Value):
    """From which set; without one, from any that is open."""

    set_id: UUID | None = None


class HoldInput(Value):
    """The token that came with the claim."""

    lease_token: UUID


class Judging(DeskView):
    def get_object(self, judgement_id: UUID) -> PairJudgement:
        return get_seat(self.project, judgement_id, actor=self.actor)

    @change(
        "claim_pair",
        "Hold the pair whose judgement tells most, blindly",
        may=Permission.REVIEW,
        what="claim",
        answers={200: SeatAnswer, 204: None},
        examples={"Of any set": {}},
    )
    def claim(self, body: ClaimPairInput) -> SeatAnswer | None:
        set_id = get_set(self.project, body.set_id).pk if body.set_id else None
        seat = claim_next(self.project, actor=self.actor, set_id=set_id)
        return SeatAnswer.of(seat) if seat else None

    @read("get_pair_judgement", "A pair that you hold or have judged", may=Permission.REVIEW)
    def retrieve(self, judgement: PairJudgement) -> SeatAnswer:
        return SeatAnswer.of(judgement)

    @change(
        "judge_pair",
        "Say which of the two answers is better",
        may=Permission.REVIEW,
        what="judgement",
        problems=(409,),
        examples=JUDGEMENTS,
    )
    def judge(self, judgement: PairJudgement, body: JudgementInput) -> SeatAnswer:
        """Judged late, it counts as long as nobody else has taken the pair meanwhile."""
        return SeatAnswer.of(judge_pair(judgement, body, actor=self.actor))

    @change(
        "skip_pair",
        "Pass a pair over: you are not given it again, and others still are",
        may=Permission.REVIEW,
        what="skip",
        problems=(409,),
    )
    def skip(self, judgement: PairJudgement, body: HoldInput) -> SeatAnswer:
        return SeatAnswer.of(skip_pair(judgement, lease_token=body.lease_token, actor=self.actor))

    @change(
        "undo_pair_judgement",
        "Take back what you said of a pair; it is yours again",
        may=Permission.REVIEW,
        problems=(409,),
    )
    def undo(self, judgement: PairJudgement, body: Nothing) -> SeatAnswer:
        return SeatAnswer.of(undo_judgement(judgement, actor=self.actor))


class RatingsQuery(NoParameters):
    by: RatedBy = Field(default=RatedBy.MODEL, description="who is rated")
    judges: Judges = Field(default=Judges.PEOPLE, description="whose judgements count")
    set: UUID | None = Field(default=None, description="of one set alone")


class Ratings(DeskView):
    @read("get_comparison_ratings", "Ratings of models and prompt versions", may=Permission.READ_METRICS)
    def retrieve(self, query: RatingsQuery) -> RatingsAnswer:
        """Where no rating can be estimated its numbers are null, and the group says why."""
        set_id = get_set(self.project, query.set).pk if query.set else None
        return RatingsAnswer.of(results_of(self.project.pk, by=query.by, judges=query.judges, set_id=set_id))
