"""Attachments as REST tells of them."""

from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, BeforeValidator, Field

from reflection_app.api.reading import Answer, Money, TextOrNull
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


class LookAnswer(Answer):
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

    looks: list[LookAnswer]
    tokens: int
    cost_usd: Money
