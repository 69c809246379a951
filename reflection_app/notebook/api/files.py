"""The notebook as files: hand some in and see what they would do, carry that out, and take the notebook along."""

import base64
import binascii
from collections import Counter
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from notebook_app.interchange.exporting import every_entry, json_lines
from notebook_app.interchange.importing import planned
from notebook_app.interchange.reading import HandedIn
from notebook_app.kinds import EntryState
from notebook_app.public import ImportBatch
from reflection_app.api.actions import change, read
from reflection_app.api.reading import Answer
from reflection_app.api.view import DeskView, Nothing
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value
from reflection_app.notebook.proposing import apply_import, get_import, preview_import

MOST_FILES = 200
MOST_LINES = 500
EXAMPLES = {
    "A note and an anti-pattern": {
        "files": [
            {"name": "nb_1.json", "content": '{"description": "…", "cause": "…", "suggestion": "…"}'},
            {"name": "early-stop.md", "content": "# Stopping too early\n\n## Symptoms\n- one source"},
        ]
    }
}


class FileInput(Value):
    """A file: as text, or in Base64 if it is an archive. The file name is shown, and its extension is checked."""

    name: str = Field(min_length=1, max_length=300)
    content: str | None = None
    content_base64: str | None = None

    @model_validator(mode="after")
    def check_it_has_one_content(self) -> "FileInput":
        if (self.content is None) == (self.content_base64 is None):
            raise ValueError("give either content or content_base64")
        self.bytes()
        return self

    def bytes(self) -> bytes:
        """The file's content. Raises ValueError."""
        if self.content_base64 is None:
            return (self.content or "").encode(errors="surrogatepass")
        try:
            return base64.b64decode(self.content_base64, validate=True)
        except binascii.Error as error:
            raise ValueError(f"content_base64 is no Base64: {error}") from None


class ImportInput(Value):
    files: Annotated[tuple[FileInput, ...], Field(min_length=1, max_length=MOST_FILES)]


class ImportLine(Answer):
    file: str
    kind: str
    name: str
    step: Literal["add", "change", "same", "twice", "decided"]
    entry_id: UUID | None = Field(description="existing entry, or null")
    changes: list[str] = Field(description="fields that differ from the existing entry")


class ImportProblem(Answer):
    file: str
    where: str
    message: str


class ImportAnswer(Answer):
    """An import: a preview, or its progress."""

    id: UUID
    state: Literal["previewed", "applying", "applied"]
    total: int
    done: int
    counts: dict[str, int] = Field(description="planned results before the import is applied, then the actual results")
    entries: list[ImportLine] = Field(description=f"the first {MOST_LINES}, until it is applied")
    problems: list[ImportProblem]


class Imports(DeskView):
    @change(
        "preview_import",
        "Upload files and preview the import",
        may=Permission.IMPORT_ENTRIES,
        what="import",
        status=201,
        examples=EXAMPLES,
        location="notebook/imports/{id}",
    )
    def create(self, body: ImportInput) -> ImportAnswer:
        files = [HandedIn(file.name, file.bytes()) for file in body.files]
        return import_answer(preview_import(self.project, files, actor=self.actor))

    @read("get_import", "Get an import preview or its progress", may=Permission.IMPORT_ENTRIES)
    def retrieve(self, import_id: UUID) -> ImportAnswer:
        return import_answer(get_import(self.project, import_id))

    @change("apply_import", "Apply an import", may=Permission.IMPORT_ENTRIES, status=202)
    def apply(self, import_id: UUID, body: Nothing) -> ImportAnswer:
        return import_answer(apply_import(self.project, import_id, actor=self.actor))


class ExportQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    state: EntryState | None = Field(default=None, description="only the entries in this state")


class Export(DeskView):
    @read(
        "export_notebook",
        "Export entries as JSON Lines, oldest first",
        may=Permission.RECALL,
        media_type="application/jsonl",
    )
    def list(self, query: ExportQuery) -> str:
        return "".join(json_lines(every_entry(self.project.pk, state=query.state or "")))


def import_answer(found: ImportBatch) -> ImportAnswer:
    would = planned(found)
    counts = found.counts or Counter(one.step.value for one in would)
    lines = [
        ImportLine.from_row(
            one.item, step=one.step.value, entry_id=one.entry.pk if one.entry else None, changes=one.changes
        )
        for one in would[:MOST_LINES]
    ]
    return ImportAnswer.from_row(
        found, counts={name: many for name, many in counts.items() if name != "done"}, entries=lines
    )
