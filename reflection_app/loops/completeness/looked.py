"""Values of visual checks: what a vision model found on the produced files. Pure.

A "yes" never removes a fault that code found.
"""

from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from reflection_app.loops.effect import Effect
from reflection_app.loops.storable import Text
from reflection_app.loops.texts import cut, one_line
from reflection_app.loops.values import Picture, Recorded, Value

LONGEST_WORDS = 300


class Holds(StrEnum):
    """Result of a visual check. NOT_LOOKED_AT: no model inspected the file, see WhyNotLooked.

    CANNOT_TELL: a model inspected it, but could not decide or did not see all pages.
    """

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot_tell"
    NOT_LOOKED_AT = "not_looked_at"


class WhyNotLooked(StrEnum):
    """Reason no model inspected a file. The labels are in core/registry.py."""

    NO_MODEL = "no_model"
    NO_PAGES = "no_pages"
    NOT_RENDERED = "not_rendered"
    TOO_MANY = "too_many"
    LIMIT = "limit"
    MODEL_FAILED = "model_failed"
    NO_ANSWER = "no_answer"


class SeenPage(Value):
    """A page as shown to the model, with its size in pixels."""

    page: int = Field(ge=1)
    width: int = Field(ge=1)
    height: int = Field(ge=1)


class Look(Recorded):
    """A visual check of one file for one required content.

    `pages` were shown, out of `pages_in_all` if known. `saw` is the model's description of them. `attachment` is where
    the project stores the file.
    """

    file: Text
    sha256: str
    attachment: UUID | None = None
    shows: Text
    holds: Holds = Field(
        description="not_looked_at: no model inspected the file, so nothing is known about it; cannot_tell: a "
        "model inspected it, but could not decide or did not see all pages"
    )
    why_not: WhyNotLooked | None = None
    error: Text = ""
    why: Text = ""
    saw: Text = ""
    pages: tuple[SeenPage, ...] = ()
    pages_in_all: int | None = None

    @property
    def is_partial(self) -> bool:
        """True if some pages were not shown, or the number of pages is unknown."""
        return self.pages_in_all is None or len(self.pages) < self.pages_in_all


class Looked(Value):
    """All visual checks of a run's files, with the tokens and cost that they used."""

    looks: tuple[Look, ...] = ()
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)

    @property
    def not_shown(self) -> tuple[Look, ...]:
        """The checks in which a file does not show the required content."""
        return tuple(one for one in self.looks if one.holds is Holds.NO)

    @property
    def undecided(self) -> tuple[str, ...]:
        """A sentence for each check without a result."""
        return tuple(
            cut(one_line(f"It is not known whether {one.file} shows this: {one.shows}."), LONGEST_WORDS)
            for one in self.looks
            if one.holds in {Holds.NOT_LOOKED_AT, Holds.CANNOT_TELL}
        )


class PageRendered(Value):
    """A rendered page: its size in pixels and bytes. `error` is why there is none."""

    picture: Picture
    attachment: UUID | None = None
    width: int = 0
    height: int = 0
    size: int = 0
    error: Text = ""


class PagesRendered(Value):
    pages: tuple[PageRendered, ...] = ()


class RenderPages(Effect[PagesRendered]):
    """Render these pages within their bounds and store the pictures. A page that fails does not fail the effect."""

    kind = "render_pages"

    pictures: tuple[Picture, ...]
    timeout_s: float = Field(gt=0)
