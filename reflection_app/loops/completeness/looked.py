"""What a model that sees told of the files that work has produced, and what of them nobody looked at. Pure values.

A word that all is well lifts nothing: what code found wrong with a file stands beside it, and goes before it.
"""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from reflection_app.loops.effect import Effect
from reflection_app.loops.regions import box_in
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Picture, Value
from reflection_app.loops.verdicts import Confidence, Severity

# Above this a finding says that something is not as it must be.
GRAVE = frozenset({Severity.HIGH, Severity.CRITICAL})


class Holds(StrEnum):
    """Whether a file shows what it must. NOT_LOOKED_AT is no word of a model: nobody looked, and WhyNotLooked says why.

    CANNOT_TELL: it looked, and could not say, or did not see all pages that there are.
    """

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot_tell"
    NOT_LOOKED_AT = "not_looked_at"


class WhyNotLooked(StrEnum):
    """Why nobody looked at a file. The registry has the words (core/registry.py)."""

    NO_MODEL = "no_model"
    NO_PAGES = "no_pages"
    NOT_RENDERED = "not_rendered"
    TOO_MANY = "too_many"
    LIMIT = "limit"
    MODEL_FAILED = "model_failed"
    NO_ANSWER = "no_answer"


def _box(fragment: str) -> str:
    if fragment and box_in(fragment) is None:
        raise ValueError("must be a box, as in xywh=percent:10,20,30,40, or empty")
    return fragment


class SeenFinding(Value):
    """Something that a model saw on a page. `fragment` is the box on it, empty where it gave none that can be."""

    what: Text = Field(min_length=1)
    severity: Severity = Severity.MEDIUM
    page: int = Field(default=1, ge=1)
    fragment: Annotated[str, AfterValidator(_box)] = ""
    confidence: Confidence | None = None


class SeenPage(Value):
    """A page as it was shown to the model, in pixels."""

    page: int = Field(ge=1)
    width: int = Field(ge=1)
    height: int = Field(ge=1)


class Look(Value):
    """One file and one thing that it must show.

    `pages` are those that were shown, of `pages_in_all` where anybody could tell. `saw` is what the model said is on
    them. `has_faults`: code found something wrong with the file, whatever was seen on it. `attachment` is where the
    project keeps its bytes.
    """

    file: Text
    sha256: str
    attachment: UUID | None = None
    shows: Text
    holds: Holds
    why_not: WhyNotLooked | None = None
    error: Text = ""
    why: Text = ""
    saw: Text = ""
    pages: tuple[SeenPage, ...] = ()
    pages_in_all: int | None = None
    max_side_px: int = 0
    findings: tuple[SeenFinding, ...] = ()
    has_faults: bool = False

    @property
    def is_good(self) -> bool:
        """Whether it was seen to show what it must, and nothing else is wrong with it."""
        return self.holds is Holds.YES and not self.has_faults

    @property
    def is_partial(self) -> bool:
        """Whether there are, or may be, pages that nobody looked at."""
        return self.pages_in_all is None or len(self.pages) < self.pages_in_all


class Looked(Value):
    """All that was to be looked at; tokens and costs are those of the looks."""

    looks: tuple[Look, ...] = ()
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)

    @property
    def not_shown(self) -> tuple[Look, ...]:
        """Where a file does not show what it must."""
        return tuple(one for one in self.looks if one.holds is Holds.NO)

    @property
    def not_looked_at(self) -> tuple[Look, ...]:
        return tuple(one for one in self.looks if one.holds is Holds.NOT_LOOKED_AT)

    @property
    def undecided(self) -> tuple[Look, ...]:
        """Where nobody has said whether a file shows what it must."""
        return tuple(one for one in self.looks if one.holds in {Holds.NOT_LOOKED_AT, Holds.CANNOT_TELL})


class PageRendered(Value):
    """A page made a picture of: its size, and how many bytes that takes. `error` is why there is none.

    `attachment` is where the project keeps the file.
    """

    picture: Picture
    attachment: UUID | None = None
    width: int = 0
    height: int = 0
    size: int = 0
    error: Text = ""


class PagesRendered(Value):
    pages: tuple[PageRendered, ...] = ()


class RenderPages(Effect[PagesRendered]):
    """Make pictures of these pages, each within its bounds, and keep them. One that cannot be is no failed effect."""

    kind = "render_pages"

    pictures: tuple[Picture, ...]
    timeout_s: float = Field(gt=0)
