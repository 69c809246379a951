"""Labels from elsewhere, for calibration."""

from uuid import UUID

from pydantic import Field

from reflection_app.api.actions import change
from reflection_app.api.reading import Answer
from reflection_app.api.view import DeskView
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.metrics.judgements import LONGEST_NAME, import_labels, read_labels

EXAMPLE = {
    "name": "labels of May",
    "content": "item,model,critic_verdict,person_verdict,confidence\nticket-17,gpt-4o,PASS,REVISE,0.8\n",
}


class LabelsInput(Value):
    """Required: `item`, `model`, `critic_verdict`, `person_verdict`. Optional: `person`, `confidence`, `prompt_version`
    and `text`. `item` is the ID of a run or of an attempt, another name, or a short text.
    """

    name: Text = Field(default="", max_length=LONGEST_NAME)
    content: str = Field(min_length=1, description="CSV with a header, or one JSON object per line")


class LabelImportAnswer(Answer):
    id: UUID
    name: str
    rows: int


class Labels(DeskView):
    @change(
        "import_labels",
        "Import calibration labels from CSV or JSON Lines",
        may=Permission.IMPORT_JUDGEMENTS,
        what="import",
        status=201,
        examples={"CSV": EXAMPLE},
    )
    def create(self, body: LabelsInput) -> LabelImportAnswer:
        """All rows are stored, or none. They replace earlier verdicts of the same critic or person on the same item."""
        rows = read_labels(body.content.encode())
        batch = import_labels(self.project, rows, name=body.name, actor=self.actor)
        return LabelImportAnswer.from_row(batch, rows=len(rows))
