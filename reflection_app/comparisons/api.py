"""Blind comparisons over REST: sets, pairs that pipelines hand in, and the ratings."""

from uuid import UUID

from pydantic import Field

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, NoParameters, get_row
from reflection_app.comparisons.answers import (
    HandedInPairs,
    RatingsAnswer,
    SetAnswer,
    SetPage,
)
from reflection_app.comparisons.models import ComparisonSet
from reflection_app.comparisons.results import RatedBy, results_of
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

SETS = {
    "Of runs": {"name": "Old model or new", "wanted": 3, "choose": {"model_a": "m-1", "model_b": "m-2", "most": 50}},
    "Filled by a pipeline": {"name": "Nightly prompts", "wanted": 1},
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


class OpenInput(Value):
    """State of a comparison set. A closed set serves no pairs; existing judgments are retained."""

    is_open: bool


class Sets(DeskView):
    def get_object(self, set_id: UUID) -> ComparisonSet:
        return get_row(sets_to_show(self.project).filter(pk=set_id), "set")

    @read("list_comparison_sets", "List comparison sets, newest first", may=Permission.READ_QUEUE)
    def list(self, query: PageQuery) -> SetPage:
        return self.page(SetPage, sets_to_show(self.project), query)

    @change(
        "create_comparison_set",
        "Create a comparison set",
        may=Permission.CHANGE_SETTINGS,
        what="set",
        status=201,
        examples=SETS,
        location="comparisons/{id}",
    )
    def create(self, body: SetInput) -> SetAnswer:
        return SetAnswer.from_row(self.get_object(create_set(self.project, body, actor=self.actor).pk))

    @read("get_comparison_set", "Get a comparison set", may=Permission.READ_QUEUE)
    def retrieve(self, comparison_set: ComparisonSet) -> SetAnswer:
        return SetAnswer.from_row(comparison_set)

    @change(
        "switch_comparison_set",
        "Close or reopen a comparison set",
        may=Permission.CHANGE_SETTINGS,
        what="change",
        examples={"Close the set": {"is_open": False}},
    )
    def partial_update(self, comparison_set: ComparisonSet, body: OpenInput) -> SetAnswer:
        switch_set(comparison_set, is_open=body.is_open, actor=self.actor)
        return SetAnswer.from_row(self.get_object(comparison_set.pk))

    @change(
        "hand_in_pairs",
        "Submit pairs of answers for judgment",
        may=Permission.HAND_IN,
        what="pairs",
        status=201,
        problems=(409,),
        examples=PAIRS,
    )
    def hand_in(self, comparison_set: ComparisonSet, body: PairsInput) -> HandedInPairs:
        pairs = hand_in_pairs(comparison_set, body, actor=self.actor)
        return HandedInPairs(ids=[pair.pk for pair in pairs])


class RatingsQuery(NoParameters):
    by: RatedBy = Field(default=RatedBy.MODEL, description="contestants to rate")
    set: UUID | None = Field(default=None, description="only judgments of this comparison set")


class Ratings(DeskView):
    @read("get_comparison_ratings", "Get ratings of models or prompt versions", may=Permission.READ_METRICS)
    def retrieve(self, query: RatingsQuery) -> RatingsAnswer:
        """If no rating can be estimated, its numbers are null and the group lists contestants in `ahead`."""
        set_id = get_set(self.project, query.set).pk if query.set else None
        return RatingsAnswer.from_row(results_of(self.project.pk, by=query.by, set_id=set_id))
