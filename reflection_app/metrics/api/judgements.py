"""Judgements from elsewhere: what there is, and bringing some in."""

from typing import Annotated, Any, Literal
from uuid import UUID

from django.db.models import QuerySet
from pydantic import Field, model_validator

from reflection_app.api.pages import PageQuery
from reflection_app.api.reading import Answer, PageAnswer, Related
from reflection_app.api.view import Nothing
from reflection_app.api.viewset import DeskViewSet, answers_get, answers_list, answers_post
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Verdict
from reflection_app.metrics.calibration import judged_items, majority
from reflection_app.metrics.judgements import (
    LONGEST_NAME,
    MOST_ROWS,
    RowStep,
    Shown,
    apply_judgements,
    get_judgement_import,
    preview_judgements,
    read_lines,
    read_values,
)
from reflection_app.metrics.models import JudgedItem

MOST_LINES = 500
# Rows of the most that are taken at once, each with what a critic and three people said.
MOST_VALUES = 25 * MOST_ROWS
ROW = {
    "external_id": "ticket-17",
    "critic": {"model": "gpt-4o", "verdict": "PASS", "confidence": 0.8},
    "people": [{"name": "ann", "verdict": "REVISE"}],
}


class JudgementsInput(Value):
    """Either `rows`, or `lines` as a file of JSON lines has them. A row that cannot be used is told, and left out."""

    name: Text = Field(default="", max_length=LONGEST_NAME, description="what people know the import by")
    rows: Annotated[tuple[dict[str, Any], ...], Field(min_length=1, max_length=MOST_ROWS)] | None = None
    lines: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def check_it_has_one_form(self) -> "JudgementsInput":
        if (self.rows is None) == (self.lines is None):
            raise ValueError("give either rows or lines")
        return self


class PlannedLine(Answer):
    line: int = Field(description="from 1; of `rows` the place in the list")
    external_id: str
    model: str
    prompt_version: str
    step: RowStep
    changes: list[Literal["verdict", "confidence", "people", "content"]]


class RefusedLine(Answer):
    line: int
    message: str


class JudgementCounts(Answer):
    new: int
    same: int
    changed: int
    refused: int


class JudgementImportAnswer(Answer):
    """An import: what it would do, or what it did."""

    id: UUID
    name: str
    state: Literal["previewed", "applied"]
    counts: JudgementCounts
    split_items: int = Field(description="items on which people have no majority: kept, and in no figure")
    lines: list[PlannedLine] = Field(description=f"the first {MOST_LINES}, until it is applied")
    refused: list[RefusedLine] = Field(description=f"the first {MOST_LINES}")


class CriticSaidAnswer(Answer):
    model: str
    prompt_version: str
    verdict: Verdict
    confidence: float | None


class PersonSaidAnswer(Answer):
    name: str
    verdict: Verdict


class JudgedItemAnswer(Answer):
    id: UUID
    external_id: str
    critics: Annotated[list[CriticSaidAnswer], Related] = Field(validation_alias="critic_judgements")
    people: Annotated[list[PersonSaidAnswer], Related] = Field(validation_alias="persons_judgements")
    majority: Verdict | None = Field(description="what more than half of the people said")


class JudgedItemPage(PageAnswer):
    results: list[JudgedItemAnswer]


class JudgedItems(DeskViewSet):
    @answers_list(
        "list_judged_items",
        Permission.READ_METRICS,
        summary="What was judged elsewhere, newest first",
        answer=JudgedItemPage,
        shown=lambda rows: [_item(row) for row in rows],
    )
    def list(self, _query: PageQuery) -> QuerySet[JudgedItem]:
        return judged_items(self.project.pk).defer("content")


def _item(item: JudgedItem) -> JudgedItemAnswer:
    agreed = majority(one.verdict for one in item.persons_judgements.all())
    return JudgedItemAnswer.from_row(item, majority=agreed or None)


class Imports(DeskViewSet):
    @answers_post(
        "preview_judgements",
        Permission.IMPORT_JUDGEMENTS,
        summary="Read judgements from elsewhere into an import, and see what it would do",
        body=JudgementsInput,
        what="import",
        most_values=MOST_VALUES,
        answer=JudgementImportAnswer,
        status=201,
        examples={"A row": {"name": "labels of May", "rows": [ROW]}},
    )
    def preview(self, given: JudgementsInput) -> JudgementImportAnswer:
        rows = read_lines(given.lines.encode()) if given.lines is not None else read_values(given.rows or ())
        return _import(preview_judgements(self.project, rows, name=given.name, actor=self.actor))

    @answers_get(
        "get_judgement_import",
        Permission.IMPORT_JUDGEMENTS,
        summary="What an import of judgements would do, or what it did",
        answer=JudgementImportAnswer,
        problems=(404,),
    )
    def detail(self, judgements_id: UUID) -> JudgementImportAnswer:
        return _import(get_judgement_import(self.project, judgements_id))

    @answers_post(
        "apply_judgements",
        Permission.IMPORT_JUDGEMENTS,
        summary="Carry an import of judgements out",
        body=Nothing,
        answer=JudgementImportAnswer,
        problems=(404,),
    )
    def apply(self, judgements_id: UUID) -> JudgementImportAnswer:
        return _import(apply_judgements(self.project, judgements_id, actor=self.actor))


def _import(found: Shown) -> JudgementImportAnswer:
    return JudgementImportAnswer(
        id=found.id,
        name=found.name,
        state="previewed" if found.applied_at is None else "applied",
        counts=JudgementCounts(**found.counts),
        split_items=found.split,
        lines=[
            PlannedLine.model_validate(
                {
                    "line": one.line,
                    "external_id": one.row.external_id,
                    "model": one.row.critic.model,
                    "prompt_version": one.row.critic.prompt_version,
                    "step": one.step,
                    "changes": list(one.changes),
                }
            )
            for one in found.planned[:MOST_LINES]
        ],
        refused=[RefusedLine(line=one.line, message=one.reason) for one in found.refused[:MOST_LINES]],
    )
