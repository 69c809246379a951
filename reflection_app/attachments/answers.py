"""Attachments as REST tells of them."""

from collections.abc import Iterable
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, BeforeValidator, Field

from reflection_app.api.reading import Answer, Money, Related, TextOrNull
from reflection_app.attachments.models import ProducedFile
from reflection_app.loops.completeness.checks import FileAspect
from reflection_app.loops.completeness.files import FileFacts, FileFault
from reflection_app.loops.completeness.looked import Look, Looked


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


AttachedAnswers = Annotated[list[AttachedAnswer], Related]


# Files that work has produced, as opening them told.


class FileFaultAnswer(FileFault, Answer):
    """One thing wrong with a file: what, where, and what was expected and found there."""

    told: str = Field(validation_alias="in_words", description="the same in English")


class FaultyFileAnswer(FileFaultAnswer):
    file: str = Field(description="its name, or the path that is required")


class FileAnswer(FileFacts, Answer):
    """A produced file and what was found in it. Counts are null where they do not apply, or nobody could tell."""

    attachment: UUID | None = Field(description="its bytes, where the project keeps them")
    why_not: TextOrNull  # type: ignore[assignment] # null where it was inspected
    faults: list[FileFaultAnswer]  # type: ignore[assignment]


def file_answers(rows: Iterable[ProducedFile]) -> list[FileAnswer]:
    return [FileAnswer.from_row(row.found, attachment=row.attachment_id) for row in rows]


def faulty_file_answers(aspects: Iterable[FileAspect]) -> list[FaultyFileAnswer]:
    return [FaultyFileAnswer.from_row(one.fault, file=one.file) for one in aspects]


FileAnswers = Annotated[
    list[FileAnswer], BeforeValidator(lambda rows: file_answers(rows.all()) if hasattr(rows, "all") else rows)
]


# What a model that sees told of files.


class FileLookAnswer(Look, Answer):
    """One file and one thing that it must show."""

    error: TextOrNull  # type: ignore[assignment] # null where somebody looked


class LookedAnswer(Looked, Answer):
    """All that was to be looked at. Tokens and costs are among those of the check."""

    looks: list[FileLookAnswer]  # type: ignore[assignment]
    cost_usd: Money  # type: ignore[assignment]
