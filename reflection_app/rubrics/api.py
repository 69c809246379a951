"""The rubric and the guidelines: read them, change them."""

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView
from reflection_app.core.permissions import Permission
from reflection_app.rubrics.answers import (
    GuidelinesAnswer,
    GuidelinesPage,
    RubricAnswer,
    RubricPage,
)
from reflection_app.rubrics.changing import (
    GuidelinesInput,
    RubricInput,
    change_guidelines,
    change_rubric,
    newest_guidelines,
    newest_rubric,
)
from reflection_app.rubrics.models import GuidelinesVersion, RubricVersion

EXAMPLES = {
    "Two criteria": {
        "criteria": [
            {
                "key": "correct",
                "name": "Correct",
                "help": "Every figure is in the source.",
                "weight": 3,
                "must_hold": True,
            },
            {"key": "tone", "name": "Tone", "scale": "pass_fail", "help": "Polite, and no jargon."},
        ],
        "note": "Correctness counts three times.",
        "number": 0,
    },
    "Remove the rubric": {"criteria": []},
}


class Rubrics(DeskView):
    def get_edited(self) -> list[int]:
        return [newest_rubric(self.project.pk).number]

    @read("get_rubric", "Get the rubric", may=Permission.READ, tagged=True)
    def retrieve(self) -> RubricAnswer:
        """A run uses the rubric that it started with. This one applies to the next runs."""
        return RubricAnswer.from_row(newest_rubric(self.project.pk))

    @change(
        "put_rubric",
        "Replace the rubric",
        may=Permission.CHANGE_SETTINGS,
        what="rubric",
        problems=(409,),
        examples=EXAMPLES,
        guarded=True,
    )
    def update(self, body: RubricInput) -> RubricAnswer:
        """Each change creates a version. Runs in progress use the rubric that they started with."""
        return RubricAnswer.from_row(change_rubric(self.project, body, actor=self.actor))

    @read("list_rubric_versions", "List rubric versions, newest first", may=Permission.READ)
    def list(self, query: PageQuery) -> RubricPage:
        return self.page(RubricPage, RubricVersion.objects.filter(project=self.project), query)


class Guidelines(DeskView):
    def get_edited(self) -> list[int]:
        return [newest_guidelines(self.project.pk).number]

    @read("get_guidelines", "Get the reviewer guidelines", may=Permission.READ, tagged=True)
    def retrieve(self) -> GuidelinesAnswer:
        return GuidelinesAnswer.from_row(newest_guidelines(self.project.pk))

    @change(
        "put_guidelines",
        "Replace the reviewer guidelines",
        may=Permission.CHANGE_SETTINGS,
        what="guidelines",
        problems=(409,),
        examples={"A rule": {"text": "Reject what names a price that is not in the list.", "number": 0}},
        guarded=True,
    )
    def update(self, body: GuidelinesInput) -> GuidelinesAnswer:
        """Each change creates a version. The newest one is shown next to each review item."""
        return GuidelinesAnswer.from_row(change_guidelines(self.project, body, actor=self.actor))

    @read("list_guidelines_versions", "List guideline versions, newest first", may=Permission.READ)
    def list(self, query: PageQuery) -> GuidelinesPage:
        return self.page(GuidelinesPage, GuidelinesVersion.objects.filter(project=self.project), query)
