"""Judgements from elsewhere: what there is, and bringing some in."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AliasPath, Field, model_validator

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.reading import Answer, PageAnswer, Related
from reflection_app.api.view import DeskView, Nothing
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
    external_id: str = Field(validation_alias=AliasPath("row", "external_id"))
    model: str = Field(validation_alias=AliasPath("row", "critic", "model"))
    prompt_version: str = Field(validation_alias=AliasPath("row", "critic", "prompt_version"))
    step: RowStep
    changes: list[Literal["verdict", "confidence", "people", "content"]]


class RefusedLine(Answer):
    line: int
    message: str = Field(validation_alias="reason")


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
    split_items: int = Field(
        validation_alias="split", description="items on which people have no majority: kept, and in no figure"
    )
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


class JudgedItems(DeskView):
    @read("list_judged_items", "What was judged elsewhere, newest first", may=Permission.READ_METRICS)
    def list(self, query: PageQuery) -> JudgedItemPage:
        return self.page(JudgedItemPage, judged_items(self.project.pk).defer("content"), query, each=judged_item_answer)


def judged_item_answer(item: JudgedItem) -> JudgedItemAnswer:
    agreed = majority(one.verdict for one in item.persons_judgements.all())
    return JudgedItemAnswer.from_row(item, majority=agreed or None)


class Imports(DeskView):
    @change(
        "preview_judgements",
        "Read judgements from elsewhere into an import, and see what it would do",
        may=Permission.IMPORT_JUDGEMENTS,
        what="import",
        most_values=MOST_VALUES,
        status=201,
        examples={"A row": {"name": "labels of May", "rows": [ROW]}},
        location="judgements/imports/{id}",
    )
    def create(self, body: JudgementsInput) -> JudgementImportAnswer:
        rows = read_lines(body.lines.encode()) if body.lines is not None else read_values(body.rows or ())
        return import_answer(preview_judgements(self.project, rows, name=body.name, actor=self.actor))

    @read(
        "get_judgement_import",
        "What an import of judgements would do, or what it did",
        may=Permission.IMPORT_JUDGEMENTS,
    )
    def retrieve(self, judgements_id: UUID) -> JudgementImportAnswer:
        return import_answer(get_judgement_import(self.project, judgements_id))

    @change("apply_judgements", "Carry an import of judgements out", may=Permission.IMPORT_JUDGEMENTS)
    def apply(self, judgements_id: UUID, body: Nothing) -> JudgementImportAnswer:
        return import_answer(apply_judgements(self.project, judgements_id, actor=self.actor))


def import_answer(found: Shown) -> JudgementImportAnswer:
    return JudgementImportAnswer.from_row(
        found,
        state="previewed" if found.applied_at is None else "applied",
        lines=found.planned[:MOST_LINES],
        refused=found.refused[:MOST_LINES],
    )
