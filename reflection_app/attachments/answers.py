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
    """A stored file. Its media type is detected from the content; its name is that of the first upload."""

    id: UUID
    name: str
    media_type: str = Field(
        examples=["image/png"],
        description="detected from the content; `application/octet-stream` for types that browsers must not display",
    )
    size: int = Field(description="size in bytes")
    sha256: str
    width: int | None = Field(description="image width in pixels, or null")
    height: int | None
    pages: int | None = Field(description="number of pages of a PDF, or null if unknown")
    handed_in_at: AwareDatetime = Field(
        description="time of the last upload of this content; an unused file is deleted one day later"
    )


class AttachedAnswer(Answer):
    """An item attached to an attempt: a file, or a link, which is never followed."""

    place: int = Field(description="from 1")
    name: str
    word: str = Field(description="placeholder in the content", examples=["[image, image/png, 34 kB]"])
    attachment: AttachmentAnswer | None
    url: TextOrNull = Field(description="URL of a link, or null")


AttachedAnswers = Annotated[list[AttachedAnswer], Related]


# Files that work has produced, as opening them told.


class FileFaultAnswer(FileFault, Answer):
    """One fault in a file: what is wrong, where, and what was expected and found there."""

    told: str = Field(validation_alias="in_words", description="description in English")


class FaultyFileAnswer(FileFaultAnswer):
    file: str = Field(description="file name, or the required path")


class FileAnswer(FileFacts, Answer):
    """A produced file and its inspection results. Counts are null if not applicable or unknown."""

    attachment: UUID | None = Field(description="ID of the stored file, or null if the project does not store it")
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
    """A visual check of one file for one thing that it must show."""

    error: TextOrNull  # type: ignore[assignment] # null where somebody looked


class LookedAnswer(Looked, Answer):
    """All visual checks. Their tokens and costs are included in those of the check."""

    looks: list[FileLookAnswer]  # type: ignore[assignment]
    cost_usd: Money  # type: ignore[assignment]
