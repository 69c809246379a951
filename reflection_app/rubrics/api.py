"""The rubric and the guidelines: read them, change them."""

from typing import Any

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


def rubric_answer(version: RubricVersion | None) -> RubricAnswer:
    return RubricAnswer.from_row(version) if version else RubricAnswer.model_validate(NO_RUBRIC)


def guidelines_answer(version: GuidelinesVersion | None) -> GuidelinesAnswer:
    return GuidelinesAnswer.from_row(version) if version else GuidelinesAnswer.model_validate(NO_GUIDELINES)
