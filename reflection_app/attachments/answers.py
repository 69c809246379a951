"""Attachments as REST tells of them."""

from collections.abc import Iterable
from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, BeforeValidator, Field

from reflection_app.api.reading import Answer, Money, TextOrNull
from reflection_app.attachments.models import ProducedFile
from reflection_app.loops.completeness.checks import FileAspect
from reflection_app.loops.completeness.file_checks import fault_in_words
from reflection_app.loops.completeness.files import FaultCode, FileFacts, FileFault, FileKind
from reflection_app.loops.completeness.looked import Holds, WhyNotLooked
from reflection_app.loops.verdicts import Severity


class AttachmentAnswer(Answer):
    """A file that is kept. What it is, its bytes have told; its name is the one it came with first."""

    id: UUID
    name: str
    media_type: str = Field(
        examples=["image/png"], description="found in the bytes; `application/octet-stream` is whatever is not shown"
    )
    size: int = Field(description="in bytes")
    sha256: str
    width: int | None = Field(description="in pixels, of a picture")
    height: int | None
    pages: int | None = Field(description="of a PDF that tells them")
    handed_in_at: AwareDatetime = Field(description="when these bytes came last; unused, they are kept for a day more")


class AttachedAnswer(Answer):
    """What an attempt holds besides its text: a file, or a link, which nobody follows."""

    place: int = Field(description="from 1")
    name: str
    word: str = Field(description="what stands for it in the content", examples=["[image, image/png, 34 kB]"])
    attachment: AttachmentAnswer | None
    url: TextOrNull = Field(description="of a link")


AttachedAnswers = Annotated[
    list[AttachedAnswer], BeforeValidator(lambda rows: list(rows.all()) if hasattr(rows, "all") else rows)
]


# Files that work has produced, as opening them told.


class FileFaultAnswer(Answer):
    """One thing wrong with a file: what, where, and what was expected and found there."""

    code: FaultCode
    place: str = Field(examples=["line 3"])
    expected: str
    actual: str
    told: str = Field(description="the same in English")


class FaultyFileAnswer(FileFaultAnswer):
    file: str = Field(description="its name, or the path that is required")


class FileAnswer(Answer):
    """A produced file and what was found in it. Counts are null where they do not apply, or nobody could tell."""

    name: str
    attachment: UUID | None = Field(description="its bytes, where the project keeps them")
    sha256: str
    size: int = Field(description="in bytes")
    kind: FileKind
    media_type: str
    could_look: bool = Field(description="false: nobody could look at it here, which says nothing of the file")
    why_not: TextOrNull
    is_whole: bool = Field(description="false: the look ended before the file's end")
    encoding: str
    rows: int | None
    columns: list[str]
    sheets: list[str]
    headings: list[str]
    links: int | None
    pages: int | None
    words: int | None
    width: int | None
    height: int | None
    entries: list[str]
    begins: str
    faults: list[FileFaultAnswer]


def _fault(fault: FileFault) -> dict[str, Any]:
    return fault.model_dump() | {"told": fault_in_words(fault)}


def file_answer(row: ProducedFile) -> FileAnswer:
    facts = FileFacts.model_validate(row.facts)
    told = facts.model_dump(include=set(FileAnswer.model_fields) - {"faults", "attachment"})
    return FileAnswer(
        **told | {"why_not": facts.why_not or None},
        attachment=row.attachment_id,
        faults=[FileFaultAnswer(**_fault(fault)) for fault in facts.faults],
    )


def file_answers(rows: Iterable[ProducedFile]) -> list[FileAnswer]:
    return [file_answer(row) for row in rows]


def faulty_file_answers(aspects: Iterable[FileAspect]) -> list[FaultyFileAnswer]:
    return [FaultyFileAnswer(file=one.file, **_fault(one.fault)) for one in aspects]


FileAnswers = Annotated[
    list[FileAnswer], BeforeValidator(lambda rows: file_answers(rows.all()) if hasattr(rows, "all") else rows)
]


# What a model that sees told of files.


class SeenFindingAnswer(Answer):
    what: str
    severity: Severity
    page: int
    fragment: str = Field(
        description="the box on the page, in parts of a hundred; empty where it gave none",
        examples=["xywh=percent:10,20,30,40"],
    )
    confidence: float | None


class SeenPageAnswer(Answer):
    """A page as it was shown to the model."""

    page: int
    width: int
    height: int


class FileLookAnswer(Answer):
    """One file and one thing that it must show."""

    file: str
    sha256: str
    attachment: UUID | None
    shows: str
    holds: Holds = Field(
        description="not_looked_at: nobody looked, which says nothing of the file; cannot_tell: a model looked, and "
        "could not say, or did not see all pages"
    )
    why_not: WhyNotLooked | None = Field(description="why nobody looked")
    error: TextOrNull
    why: str
    saw: str = Field(description="what the model said is on the pages")
    pages: list[SeenPageAnswer]
    pages_in_all: int | None = Field(description="null where nobody could tell")
    findings: list[SeenFindingAnswer]
    has_faults: bool = Field(description="whether something else was found wrong with the file by opening it")


class LookedAnswer(Answer):
    """All that was to be looked at. Tokens and costs are among those of the check."""

    looks: list[FileLookAnswer]
    tokens: int
    cost_usd: Money
