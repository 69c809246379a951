"""Attachments as REST tells of them."""

from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, BeforeValidator, Field

from reflection_app.api.reading import Answer, TextOrNull


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
