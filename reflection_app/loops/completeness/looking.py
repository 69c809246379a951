"""Inspection of produced files: open them, and show them to a vision model if they must show something.

Without a vision model no visual check is made, and the result says so. A failed check says nothing about the file.
Pictures are data to the model, and its answer is data to this code.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from reflection_app.loops.answer_reading import Lenient, Said, as_list
from reflection_app.loops.answer_schemas import TEXT, closed_object, list_of
from reflection_app.loops.answers import NoUsableAnswer, ask
from reflection_app.loops.attempt_effects import InspectFiles
from reflection_app.loops.completeness.file_checks import FilesChecked
from reflection_app.loops.completeness.files import FileFacts, FileKind, FileRequirement, fits
from reflection_app.loops.completeness.looked import (
    Holds,
    Look,
    Looked,
    PageRendered,
    RenderPages,
    SeenPage,
    WhyNotLooked,
)
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.framing import framed
from reflection_app.loops.progress import LimitReached, PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import ModelRole, TaskSpec
from reflection_app.loops.values import PIXELS_PER_TOKEN, Message, Picture, system, user

# Opening files costs no tokens, so a run out of time may still check whether they are complete.
FILES_TIMEOUT_S = 60.0
HAS_PAGES = frozenset({FileKind.PDF, FileKind.IMAGE})
MOST_FILES = 8
MOST_PAGES = 8
MOST_SHOWN_BYTES = 19_000_000
MAX_SIDE_PX = 1_568
TEMPERATURE = 0.0
LONGEST_SHOWS = 2_000
LONGEST_NAME = 200
LONGEST_ERROR = 600
LONGEST_TOLD = 1_500


async def inspect_produced(
    spec: TaskSpec, run: Progress, effect: InspectFiles, *, base: str, all_required: bool = False
) -> FilesChecked:
    """Return the facts and visual checks of the files. Raise PriceUnknown like any call."""
    inspected = await run.perform(effect)
    looked = await see_files(spec, run, files=inspected.files, required=effect.requirements, base=base)
    return FilesChecked(inspected, effect.requirements, all_required=all_required, looked=looked)


async def see_files(
    spec: TaskSpec, run: Progress, *, files: Sequence[FileFacts], required: Sequence[FileRequirement], base: str
) -> Looked | None:
    """Return the visual checks of the files that must show something, or None if none must.

    A check made earlier in this run, of the same bytes and requirement, is reused. Reaching a limit does not end the
    run.
    """
    tokens, cost_usd, asked = run.tokens, run.cost_usd, 0
    looks: list[Look] = []
    place = 0
    for facts in files:
        fitting = (one.shows.strip() for one in required if fits(facts.name, one.path))
        shown = list(dict.fromkeys(one for one in fitting if one))
        if not shown or not facts.sha256:
            continue
        place += 1
        known = [run.looks[facts.sha256, one] for one in shown if (facts.sha256, one) in run.looks]
        looks += [one.model_copy(update={"file": facts.name}) for one in known]
        shown = [one for one in shown if (facts.sha256, one) not in run.looks]
        if not shown:
            continue
        if not spec.has_vision:
            looks += _nobody_looked(facts, shown, WhyNotLooked.NO_MODEL)
        elif facts.kind not in HAS_PAGES:
            looks += _nobody_looked(facts, shown, WhyNotLooked.NO_PAGES)
        elif asked >= MOST_FILES:
            looks += _nobody_looked(facts, shown, WhyNotLooked.TOO_MANY)
        elif run.exceeded() is not None:
            looks += _nobody_looked(facts, shown, WhyNotLooked.LIMIT)
        else:
            asked += 1
            found = await _look(run, facts, shown, key=f"{base}/look-{place}")
            looks += found
            run.looks |= {(one.sha256, one.shows): one for one in found if one.holds is not Holds.NOT_LOOKED_AT}
    return Looked(looks=tuple(looks), tokens=run.tokens - tokens, cost_usd=run.cost_usd - cost_usd) if looks else None


def _nobody_looked(
    facts: FileFacts, shown: Sequence[str], why_not: WhyNotLooked, error: EffectFailed | str = ""
) -> list[Look]:
    return [
        _look_of(facts, one, Holds.NOT_LOOKED_AT, why_not=why_not, error=str(error)[:LONGEST_ERROR]) for one in shown
    ]


def _look_of(facts: FileFacts, shows: str, holds: Holds, **more: Any) -> Look:
    return Look(
        file=facts.name, sha256=facts.sha256, shows=shows, holds=holds, pages_in_all=_pages_in_all(facts), **more
    )


def _pages_in_all(facts: FileFacts) -> int | None:
    return 1 if facts.kind is FileKind.IMAGE else facts.pages


async def _look(run: Progress, facts: FileFacts, shown: Sequence[str], *, key: str) -> list[Look]:
    """Return the model's visual checks of one file."""
    last = min(_pages_in_all(facts) or MOST_PAGES, MOST_PAGES)
    pictures = tuple(Picture(sha256=facts.sha256, page=page, max_side_px=MAX_SIDE_PX) for page in range(1, last + 1))
    try:
        rendered = await run.perform(RenderPages(key=f"{key}/pages", pictures=pictures, timeout_s=run.time_left_s()))
    except EffectTimedOut:
        return _nobody_looked(facts, shown, WhyNotLooked.LIMIT)
    except EffectFailed as failure:
        return _nobody_looked(facts, shown, WhyNotLooked.NOT_RENDERED, failure)
    there = [one for one in rendered.pages if not one.error]
    if not there:
        error = next((one.error for one in rendered.pages), "")
        return _nobody_looked(facts, shown, WhyNotLooked.NOT_RENDERED, error)
    sent = within_bounds(there, tokens_left=run.tokens_left)
    if not sent or run.exceeded() is not None:
        return _nobody_looked(facts, shown, WhyNotLooked.LIMIT)
    try:
        request = run.model_call(
            key=key,
            role=ModelRole.VISION.value,
            messages=question(facts, shown, sent),
            temperature=TEMPERATURE,
            json_schema=ANSWER_SCHEMA,
        )
        answer = await ask(run, request, schema=LookAnswer)
    except PriceUnknown:
        raise
    except (EffectTimedOut, LimitReached):
        return _nobody_looked(facts, shown, WhyNotLooked.LIMIT)
    except NoUsableAnswer as failure:
        return _nobody_looked(facts, shown, WhyNotLooked.NO_ANSWER, failure)
    except EffectFailed as failure:
        return _nobody_looked(facts, shown, WhyNotLooked.MODEL_FAILED, failure)
    return read_looks(answer, facts, shown, sent)


def within_bounds(pages: Sequence[PageRendered], *, tokens_left: int) -> list[PageRendered]:
    """Return as many of the first pages as one call may contain and the run's remaining tokens allow."""
    sent: list[PageRendered] = []
    size = tokens = 0
    for one in pages:
        size += one.size
        tokens += math.ceil(one.width * one.height / PIXELS_PER_TOKEN)
        if size > MOST_SHOWN_BYTES or tokens >= tokens_left:
            break
        sent.append(one)
    return sent


def question(facts: FileFacts, shown: Sequence[str], pages: Sequence[PageRendered]) -> tuple[Message, ...]:
    """Return the messages: the pages and the requirements, without anything others claimed about the file.

    They contain the file's hash. The nonce is a hash of the messages, so no page of the file can contain it.
    """
    in_all = _pages_in_all(facts)
    of = f" of {in_all}" if in_all else ""
    pictures = "\n".join(f"Picture {number}: page {one.picture.page}{of}" for number, one in enumerate(pages, start=1))
    requirements = "\n\n".join(
        f"Requirement {number}:\n{framed(one, name='requirement', most=LONGEST_SHOWS)}"
        for number, one in enumerate(shown, start=1)
    )
    text = prompt(
        "look_at_pages",
        file=framed(facts.name, name="name", most=LONGEST_NAME),
        pictures=f"{pictures}\n(of the file with the SHA-256 {facts.sha256})",
        requirements=requirements,
    )
    return (system(prompt("look_system")), user(text, pictures=tuple(one.picture for one in pages)))


def read_looks(
    answer: "LookAnswer", facts: FileFacts, shown: Sequence[str], sent: Sequence[PageRendered]
) -> list[Look]:
    """Return the checks in the answer. A "no" becomes CANNOT_TELL while some pages were not shown."""
    pages = tuple(SeenPage(page=one.picture.page, width=one.width, height=one.height) for one in sent)
    looks = []
    for number, one in enumerate(shown, start=1):
        holds, why = answer.said_of(number, asked=len(shown))
        more = {"why": why, "saw": answer.saw.strip()[:LONGEST_TOLD], "attachment": sent[0].attachment, "pages": pages}
        look = _look_of(facts, one, holds, **more)
        is_open = look.holds is Holds.NO and look.is_partial
        looks.append(look.model_copy(update={"holds": Holds.CANNOT_TELL}) if is_open else look)
    return looks


# The answer, parsed strictly where a false "yes" could slip in.


def _holds(value: Any) -> Holds:
    """Return the answer for `value` in any spelling. Raise ValueError for another word, which must not be guessed."""
    if isinstance(value, bool):
        return Holds.YES if value else Holds.NO
    word = "_".join(str(value).lower().replace("’", "").replace("'", "").split())
    if word not in {Holds.YES, Holds.NO, Holds.CANNOT_TELL}:
        raise ValueError("must be yes, no or cannot_tell")
    return Holds(word)


def _number(value: Any) -> int | None:
    text = str(value).strip().lstrip("#")
    return int(text) if text.isdecimal() and len(text) < 6 else None


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, dict) else as_list(value)


class RequirementSeen(Lenient):
    number: Annotated[int | None, BeforeValidator(_number)] = None
    holds: Annotated[Holds, BeforeValidator(_holds)]
    why: Said = ""


class LookAnswer(Lenient):
    """A vision model's answer. "Yes" requires a description of the pictures and a reason."""

    saw: Said = ""
    requirements: Annotated[tuple[RequirementSeen, ...], BeforeValidator(_listed)]

    @model_validator(mode="after")
    def check_that_yes_is_said_in_full(self) -> Self:
        if not self.requirements:
            raise ValueError("says nothing of the requirements")
        agreed = [one for one in self.requirements if one.holds is Holds.YES]
        if agreed and not self.saw.strip():
            raise ValueError("says yes, but not what is on the pictures (saw)")
        if not all(one.why.strip() for one in agreed):
            raise ValueError("says yes, but not why")
        return self

    def said_of(self, number: int, *, asked: int) -> tuple[Holds, str]:
        """Return the answer to a requirement and its reason.

        None or conflicting answers count as CANNOT_TELL.
        """
        own = [one for one in self.requirements if one.number == number or (asked == 1 and one.number is None)]
        words = {one.holds for one in own}
        why = " ".join(one.why.strip() for one in own)[:LONGEST_TOLD]
        return words.pop() if len(words) == 1 else Holds.CANNOT_TELL, why


ANSWER_SCHEMA = closed_object(
    saw=TEXT,
    requirements=list_of(
        closed_object(
            number={"type": "integer"}, holds={"type": "string", "enum": ["yes", "no", "cannot_tell"]}, why=TEXT
        ),
        most=20,
    ),
)
