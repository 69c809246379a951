"""The answer of a model that looked at pictures, read strictly where "it shows that" could be invented."""

import math
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from reflection_app.loops.answer_reading import Lenient, Said, as_described, as_list, read_as
from reflection_app.loops.answer_schemas import SHARE, TEXT, closed_object, list_of, one_of
from reflection_app.loops.completeness.looked import GRAVE, Holds, SeenFinding, SeenPage
from reflection_app.loops.verdicts import Severity

ALL_PARTS = {"saw", "requirements", "findings"}
SAYABLE = {one.value for one in Holds} - {Holds.NOT_LOOKED_AT.value}
LONGEST_WORDS = 2_000
MOST_FINDINGS = 30
# How far over its edge a box may be drawn to be taken for one that ends there.
OVER = 0.02
LEAST_SIDE = 0.001


def _holds(value: Any) -> str:
    """One of the three words as models write them. Anything else is asked for again: it may not be guessed."""
    if isinstance(value, bool):
        return Holds.YES if value else Holds.NO
    word = "_".join(str(value).lower().replace("’", "").replace("'", "").split())
    if word not in SAYABLE:
        raise ValueError("must be yes, no or cannot_tell")
    return word


def _number(value: Any) -> int | None:
    """A whole number from 1, also as a text; None for what is none."""
    text = str(value).strip().lstrip("#") if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return int(text) if text.isdecimal() and len(text) < 6 and int(text) > 0 else None


def _share(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value <= 1 else None


def fragment_of(box: Any) -> str:
    """The box as regions are written; empty for what is no box in shares of the page.

    A place in other units is as good as a wrong one: pixels, parts of a hundred and of a thousand cannot be told apart.
    """
    if not isinstance(box, dict):
        return ""
    given = [box.get(name) for name in ("x", "y", "width", "height")]
    numbers = [float(one) for one in given if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) < 4 or not all(math.isfinite(one) and -OVER <= one <= 1 + OVER for one in numbers):
        return ""
    x, y, width, height = numbers
    if x + width > 1 + OVER or y + height > 1 + OVER:
        return ""
    left, top = max(0.0, x), max(0.0, y)
    right, bottom = min(1.0, x + width), min(1.0, y + height)
    if right - left < LEAST_SIDE or bottom - top < LEAST_SIDE:
        return ""
    # In hundredths of a percent, so that no rounding leads over the edge.
    corner = [round(left * 10_000), round(top * 10_000)]
    sides = (round((right - left) * 10_000), round((bottom - top) * 10_000))
    size = [min(side, 10_000 - at) for side, at in zip(sides, corner, strict=True)]
    return "xywh=percent:" + ",".join(f"{one / 100:g}" for one in (*corner, *size))


Number = Annotated[int | None, BeforeValidator(_number)]


class RequirementSeen(Lenient):
    number: Number = None
    holds: Annotated[Holds, BeforeValidator(_holds)]
    why: Said = ""


class FindingAnswer(Lenient):
    """`picture` is the number of the picture; `requirement` that of what it speaks against."""

    description: Said = ""
    what: Said = ""
    severity: Annotated[Severity, read_as(Severity, otherwise=Severity.MEDIUM)] = Severity.MEDIUM
    picture: Number = None
    requirement: Number = None
    box: Any = None
    confidence: Annotated[float | None, BeforeValidator(_share)] = None

    @property
    def words(self) -> str:
        return (self.what or self.description).strip()[:LONGEST_WORDS]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, dict) else as_list(value)


def _findings(value: Any) -> Any:
    return as_described([value] if isinstance(value, dict) else value)


class LookAnswer(Lenient):
    """What a model says of the pictures. "Yes" counts only in an answer that is whole and says what it saw.

    An answer that was cut off reads as "yes" otherwise: what it found stood in its lost end.
    """

    saw: Said = ""
    requirements: Annotated[tuple[RequirementSeen, ...], BeforeValidator(_listed)]
    findings: Annotated[tuple[FindingAnswer, ...], BeforeValidator(_findings)] = ()

    @model_validator(mode="after")
    def check_that_yes_is_said_in_full(self) -> Self:
        if not self.requirements:
            raise ValueError("says nothing of the requirements")
        agreed = [one for one in self.requirements if one.holds is Holds.YES]
        if not agreed:
            return self
        left_out = ALL_PARTS - self.model_fields_set
        if left_out:
            raise ValueError(f"says yes, but leaves out {', '.join(sorted(left_out))}")
        if not self.saw.strip():
            raise ValueError("says yes, but not what is on the pictures (saw)")
        if not all(one.why.strip() for one in agreed):
            raise ValueError("says yes, but not why")
        return self

    def said_of(self, number: int, *, asked: int) -> tuple[Holds, str]:
        """What it says of a requirement, and why. Nothing, or two things, is no answer to it.

        "Yes" beside a grave finding about it is a contradiction, and settles nothing.
        """
        own = [one for one in self.requirements if one.number == number or (asked == 1 and one.number is None)]
        words = {one.holds for one in own}
        why = " ".join(one.why.strip() for one in own)[:LONGEST_WORDS]
        if len(words) != 1:
            return Holds.CANNOT_TELL, why
        holds = words.pop()
        about = (number, None) if asked == 1 else (number,)
        grave = any(one.severity in GRAVE and one.requirement in about and one.words for one in self.findings)
        return (Holds.CANNOT_TELL if holds is Holds.YES and grave else holds), why

    def findings_on(self, pages: tuple[SeenPage, ...], *, number: int, asked: int) -> tuple[SeenFinding, ...]:
        """The findings about a requirement, and those about none in particular, with the pages that they are on."""
        about = (number, None) if asked > 1 else (number, None, *(one.requirement for one in self.findings))
        found = []
        for one in self.findings[:MOST_FINDINGS]:
            if not one.words or one.requirement not in about:
                continue
            place = (one.picture or 1) - 1
            is_known = place < len(pages) and (one.picture is not None or len(pages) == 1)
            found.append(
                SeenFinding(
                    what=one.words,
                    severity=one.severity,
                    page=pages[place if is_known else 0].page,
                    # A box on a page that is not known is no place.
                    fragment=fragment_of(one.box) if is_known else "",
                    confidence=one.confidence,
                )
            )
        return tuple(found)


BOX = closed_object(x=SHARE, y=SHARE, width=SHARE, height=SHARE)
ANSWER_SCHEMA = closed_object(
    saw=TEXT,
    requirements=list_of(
        closed_object(
            number={"type": "integer"}, holds={"type": "string", "enum": ["yes", "no", "cannot_tell"]}, why=TEXT
        ),
        most=20,
    ),
    findings=list_of(
        closed_object(
            what=TEXT,
            severity=one_of(Severity),
            requirement={"type": "integer"},
            picture={"type": "integer"},
            box={"anyOf": [BOX, {"type": "null"}]},
            confidence=SHARE,
        ),
        most=MOST_FINDINGS,
    ),
)
