"""The rubric, the guidelines and the examples: read them, change them, see how far they are rated alike."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, get_row
from reflection_app.core.permissions import Permission
from reflection_app.reviews.models import Review
from reflection_app.rubrics.agreement import agreement_by_criterion
from reflection_app.rubrics.answers import (
    CriterionAgreementAnswer,
    ExampleAnswer,
    ExamplesAnswer,
    GuidelinesAnswer,
    GuidelinesPage,
    RubricAgreementAnswer,
    RubricAnswer,
    RubricPage,
)
from reflection_app.rubrics.changing import (
    ExampleInput,
    GuidelinesInput,
    RubricInput,
    change_guidelines,
    change_rubric,
    drop_example,
    examples_of,
    keep_example,
    newest_guidelines,
    newest_rubric,
    rubric_of,
)
from reflection_app.rubrics.models import GuidelinesVersion, ReviewExample, RubricVersion

EXAMPLES = {
    "Three criteria": {
        "criteria": [
            {
                "key": "correct",
                "name": "Correct",
                "help": "Every figure is in the source.",
                "weight": 3,
                "must_hold": True,
            },
            {"key": "tone", "name": "Tone", "scale": "pass_fail", "help": "Polite, and no jargon."},
            {
                "key": "ready",
                "name": "Ready to send",
                "scale": "category",
                "choices": [
                    {"name": "as it is", "worth": 100},
                    {"name": "after an edit", "worth": 60},
                    {"name": "no", "worth": 0},
                ],
            },
        ],
        "note": "Correctness counts three times.",
        "number": 0,
    },
    "No rubric any more": {"criteria": []},
}
NO_RUBRIC: dict[str, Any] = {"number": 0, "criteria": [], "note": "", "made_by_label": "", "created_at": None}
NO_GUIDELINES: dict[str, Any] = {"number": 0, "text": "", "note": "", "made_by_label": "", "created_at": None}


class Rubrics(DeskView):
    def get_edited(self) -> list[int]:
        version = newest_rubric(self.project.pk)
        return [version.number if version else 0]

    @read("get_rubric", "What critics and people rate attempts by", may=Permission.READ, tagged=True)
    def retrieve(self) -> RubricAnswer:
        """A run keeps the rubric that it began with; this is the one that the next runs begin with."""
        return rubric_answer(newest_rubric(self.project.pk))

    @change(
        "put_rubric",
        "Put another rubric in force",
        may=Permission.CHANGE_SETTINGS,
        what="rubric",
        problems=(409,),
        examples=EXAMPLES,
        guarded=True,
    )
    def update(self, body: RubricInput) -> RubricAnswer:
        """Each change is a version. Runs under way keep the rubric that they began with."""
        return rubric_answer(change_rubric(self.project, body, actor=self.actor))

    @read("list_rubric_versions", "The versions of the rubric, newest first", may=Permission.READ)
    def list(self, query: PageQuery) -> RubricPage:
        return self.page(RubricPage, RubricVersion.objects.filter(project=self.project), query)


class Guidelines(DeskView):
    def get_edited(self) -> list[int]:
        version = newest_guidelines(self.project.pk)
        return [version.number if version else 0]

    @read("get_guidelines", "What reviewers go by", may=Permission.READ, tagged=True)
    def retrieve(self) -> GuidelinesAnswer:
        return guidelines_answer(newest_guidelines(self.project.pk))

    @change(
        "put_guidelines",
        "Write the guidelines anew",
        may=Permission.CHANGE_SETTINGS,
        what="guidelines",
        problems=(409,),
        examples={"A rule": {"text": "Reject what names a price that is not in the list.", "number": 0}},
        guarded=True,
    )
    def update(self, body: GuidelinesInput) -> GuidelinesAnswer:
        """Each change is a version, and the newest is shown beside each item."""
        return guidelines_answer(change_guidelines(self.project, body, actor=self.actor))

    @read("list_guidelines_versions", "The versions of the guidelines, newest first", may=Permission.READ)
    def list(self, query: PageQuery) -> GuidelinesPage:
        return self.page(GuidelinesPage, GuidelinesVersion.objects.filter(project=self.project), query)


class Examples(DeskView):
    def get_object(self, review_id: UUID) -> Review:
        return get_row(Review.objects.filter(project=self.project, pk=review_id), "review")

    @read(
        "list_review_examples",
        "Decided items that show reviewers how to decide, newest first",
        may=Permission.READ_QUEUE,
    )
    def list(self) -> ExamplesAnswer:
        return ExamplesAnswer(results=[ExampleAnswer.from_row(row) for row in examples_of(self.project.pk)])

    @change(
        "keep_review_example",
        "Keep a decided item beside the guidelines, or write its note anew",
        may=Permission.CURATE,
        what="example",
        problems=(409,),
        examples={"What it teaches": {"note": "Right in all, and still rejected: it names a customer."}},
    )
    def update(self, review: Review, body: ExampleInput) -> ExampleAnswer:
        kept = keep_example(review, body, actor=self.actor)
        row = ReviewExample.objects.select_related("review__run__task").get(pk=kept.pk)
        return ExampleAnswer.from_row(row)

    @change("drop_review_example", "Take an item from the examples", may=Permission.CURATE)
    def destroy(self, review: Review) -> None:
        drop_example(review, actor=self.actor)


class AgreementQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    days: int = Field(default=90, ge=1, le=3650, description="of how many days, up to now")


class RubricAgreement(DeskView):
    @read("get_rubric_agreement", "How far critics and people rate alike, by criterion", may=Permission.READ_METRICS)
    def retrieve(self, query: AgreementQuery) -> RubricAgreementAnswer:
        """Over the criteria of the rubric that holds, each known by its key whatever the version."""
        rubric, now = rubric_of(self.project), timezone.now()
        found = agreement_by_criterion(
            self.project.pk,
            rubric.criteria if rubric else (),
            since=now - timedelta(days=query.days),
            until=now,
        )
        return RubricAgreementAnswer(
            days=query.days,
            criteria=[
                CriterionAgreementAnswer(
                    criterion=one.criterion,
                    name=one.name,
                    rated=one.rated,
                    same=one.same.estimate if one.same else None,
                    same_from=one.same.low if one.same else None,
                    same_to=one.same.high if one.same else None,
                    above=one.above,
                    alpha=one.alpha,
                    panels=one.panels,
                    people_same=one.people_same,
                    people_alpha=one.people_alpha,
                )
                for one in found
            ],
        )


def rubric_answer(version: RubricVersion | None) -> RubricAnswer:
    return RubricAnswer.from_row(version) if version else RubricAnswer.model_validate(NO_RUBRIC)


def guidelines_answer(version: GuidelinesVersion | None) -> GuidelinesAnswer:
    return GuidelinesAnswer.from_row(version) if version else GuidelinesAnswer.model_validate(NO_GUIDELINES)
