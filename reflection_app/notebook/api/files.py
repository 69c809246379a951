"""The notebook as files: hand some in and see what they would do, carry that out, and take the notebook along."""

import base64
import binascii
from collections import Counter
from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator
from rest_framework.request import Request
from rest_framework.response import Response

from notebook_app.public import EntryState, HandedIn, Import, every_entry, json_lines
from reflection_app.api.idempotency import idempotent
from reflection_app.api.permissions import needs
from reflection_app.api.reading import Answer, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters, Nothing
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
    """A file: as text, or in Base64 where it is an archive. Its name is told and looked at for its ending."""

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
    entry_id: UUID | None = Field(description="the entry that is there already")
    changes: list[str] = Field(description="the fields in which it differs")


class ImportProblem(Answer):
    file: str
    where: str
    message: str


class ImportAnswer(Answer):
    """An import: what it would do, or how far it is."""

    id: UUID
    state: Literal["previewed", "applying", "applied"]
    total: int
    done: int
    counts: dict[str, int] = Field(description="before it is applied what it would do, then what came of it")
    entries: list[ImportLine] = Field(description=f"the first {MOST_LINES}, until it is applied")
    problems: list[ImportProblem]


class NotebookImports(DeskView):
    permissions = needs(post=Permission.IMPORT_ENTRIES)

    @described_post(
        "preview_import",
        summary="Read files into an import, and see what it would do",
        body=ImportInput,
        answers={201: ImportAnswer},
        examples=EXAMPLES,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        given = read_input(request, ImportInput, what="import")
        files = [HandedIn(file.name, file.bytes()) for file in given.files]
        found = preview_import(self.project, files, actor=self.actor)
        return Response(import_answer(found).model_dump(mode="json"), 201)


class NotebookImport(DeskView):
    permissions = needs(get=Permission.IMPORT_ENTRIES)

    @described_get(
        "get_import", summary="What an import would do, or how far it is", answer=ImportAnswer, problems=(404,)
    )
    def get(self, request: Request, import_id: UUID) -> Response:
        read_query(request, NoParameters)
        return Response(import_answer(get_import(self.project, import_id)).model_dump(mode="json"))


class ApplyImport(DeskView):
    permissions = needs(post=Permission.IMPORT_ENTRIES)

    @described_post(
        "apply_import",
        summary="Carry an import out",
        body=Nothing,
        answers={202: ImportAnswer},
        problems=(404,),
    )
    @idempotent
    def post(self, request: Request, import_id: UUID) -> Response:
        read_input(request, Nothing, what="body")
        found = apply_import(self.project, import_id, actor=self.actor)
        return Response(import_answer(found).model_dump(mode="json"), 202)


class ExportQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    state: EntryState | None = Field(default=None, description="only the entries in this state")


class NotebookExport(DeskView):
    permissions = needs(get=Permission.RECALL)

    @described_get(
        "export_notebook",
        summary="All entries as JSON lines, oldest first",
        query=ExportQuery,
        answer=str,
        media_type="application/jsonl",
    )
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, ExportQuery)
        lines = json_lines(every_entry(self.project.pk, state=query.state or ""))
        return HttpResponse("".join(lines), content_type="application/jsonl; charset=utf-8")


def import_answer(found: Import) -> ImportAnswer:
    return ImportAnswer(
        id=found.id,
        state=found.state.value,
        total=found.total,
        done=found.done,
        counts={name: many for name, many in (found.counts or Counter(found.would)).items() if name != "done"},
        entries=[
            ImportLine(
                file=one.item.file,
                kind=one.item.kind.value,
                name=one.item.name,
                step=one.step.value,
                entry_id=one.entry.pk if one.entry else None,
                changes=list(one.changes),
            )
            for one in found.planned[:MOST_LINES]
        ],
        problems=[ImportProblem(file=one.file, where=one.where, message=one.message) for one in found.problems],
    )
