"""A model that sees is asked whether produced files show what they must, page by page beside the requirement.

Nobody looks where no such model is configured, and the result then says so: it is no "yes". A look that failed says
nothing of the file. What is on a picture is data to the model, and the model's word is data to this code: it may find
something missing, and lifts nothing that code found wrong.
"""

import math
from collections.abc import Sequence

from reflection_app.loops.answers import NoUsableAnswer, ask
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
from reflection_app.loops.completeness.seeing import ANSWER_SCHEMA, LookAnswer
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.framing import framed
from reflection_app.loops.progress import LimitReached, PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import ModelRole, TaskSpec
from reflection_app.loops.values import PIXELS_PER_TOKEN, Message, Picture, system, user

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


async def see_files(
    spec: TaskSpec, run: Progress, *, files: Sequence[FileFacts], required: Sequence[FileRequirement], base: str
) -> Looked | None:
    """What was seen on the files of which something must be seen; None where there are none.

    What was looked at before in this run, by bytes and words, is not asked again. A limit ends no run here: what was
    not looked at says so. Raises PriceUnknown as any call does.
    """
    wanted = wanted_looks(files, required)
    if not wanted:
        return None
    tokens, cost_usd, asked = run.tokens, run.cost_usd, 0
    looks: list[Look] = []
    for place, (facts, shown) in enumerate(wanted, start=1):
        known = [run.looks[facts.sha256, one] for one in shown if (facts.sha256, one) in run.looks]
        open_ones = [one for one in shown if (facts.sha256, one) not in run.looks]
        # What is wrong with the file may have been found since.
        looks += [one.model_copy(update={"file": facts.name, "has_faults": bool(facts.faults)}) for one in known]
        if not open_ones:
            continue
        if not spec.has_vision:
            looks += _nobody_looked(facts, open_ones, WhyNotLooked.NO_MODEL)
        elif facts.kind not in HAS_PAGES:
            looks += _nobody_looked(facts, open_ones, WhyNotLooked.NO_PAGES)
        elif asked >= MOST_FILES:
            looks += _nobody_looked(facts, open_ones, WhyNotLooked.TOO_MANY)
        elif run.exceeded() is not None:
            looks += _nobody_looked(facts, open_ones, WhyNotLooked.LIMIT)
        else:
            asked += 1
            found = await _look(run, facts, open_ones, key=f"{base}/look-{place}")
            looks += found
            run.looks |= {(one.sha256, one.shows): one for one in found if one.holds is not Holds.NOT_LOOKED_AT}
    return Looked(looks=tuple(looks), tokens=run.tokens - tokens, cost_usd=run.cost_usd - cost_usd)


def wanted_looks(
    files: Sequence[FileFacts], required: Sequence[FileRequirement]
) -> list[tuple[FileFacts, tuple[str, ...]]]:
    """The files of which something must be seen, each once, with what that is."""
    wanted = []
    for facts in files:
        fitting = (one.shows.strip() for one in required if fits(facts.name, one.path))
        shown = dict.fromkeys(one for one in fitting if one)
        if shown and facts.sha256:
            wanted.append((facts, tuple(shown)))
    return wanted


def _nobody_looked(facts: FileFacts, shown: Sequence[str], why_not: WhyNotLooked, *, error: str = "") -> list[Look]:
    return [
        Look(
            file=facts.name,
            sha256=facts.sha256,
            shows=one,
            holds=Holds.NOT_LOOKED_AT,
            why_not=why_not,
            error=error[:LONGEST_ERROR],
            pages_in_all=_pages_in_all(facts),
            has_faults=bool(facts.faults),
        )
        for one in shown
    ]


def _pages_in_all(facts: FileFacts) -> int | None:
    return 1 if facts.kind is FileKind.IMAGE else facts.pages


async def _look(run: Progress, facts: FileFacts, shown: Sequence[str], *, key: str) -> list[Look]:
    """What the model says of one file."""
    in_all = _pages_in_all(facts)
    pictures = tuple(
        Picture(sha256=facts.sha256, page=page, max_side_px=MAX_SIDE_PX)
        for page in range(1, min(in_all or MOST_PAGES, MOST_PAGES) + 1)
    )
    try:
        rendered = await run.perform(RenderPages(key=f"{key}/pages", pictures=pictures, timeout_s=run.time_left_s()))
    except EffectTimedOut:
        return _nobody_looked(facts, shown, WhyNotLooked.LIMIT)
    except EffectFailed as failure:
        return _nobody_looked(facts, shown, WhyNotLooked.NOT_RENDERED, error=str(failure))
    there = [one for one in rendered.pages if not one.error]
    if not there:
        error = next((one.error for one in rendered.pages), "")
        return _nobody_looked(facts, shown, WhyNotLooked.NOT_RENDERED, error=error)
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
        return _nobody_looked(facts, shown, WhyNotLooked.NO_ANSWER, error=str(failure))
    except EffectFailed as failure:
        return _nobody_looked(facts, shown, WhyNotLooked.MODEL_FAILED, error=str(failure))
    return read_looks(answer, facts, shown, sent)


def within_bounds(pages: Sequence[PageRendered], *, tokens_left: int) -> list[PageRendered]:
    """The first of the pages, as many as one call may hold and the run's tokens are enough for."""
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
    """What is asked: the pages, what the file must show, and nothing of what others said of it.

    The file's hash stands in it, so that the nonce, which is a hash of this, can stand on none of its pages.
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


def read_looks(answer: LookAnswer, facts: FileFacts, shown: Sequence[str], sent: Sequence[PageRendered]) -> list[Look]:
    """What the answer comes to. That something is not there is not known of pages that nobody looked at."""
    pages = tuple(SeenPage(page=one.picture.page, width=one.width, height=one.height) for one in sent)
    looks = []
    for number, one in enumerate(shown, start=1):
        holds, why = answer.said_of(number, asked=len(shown))
        look = Look(
            file=facts.name,
            sha256=facts.sha256,
            attachment=sent[0].attachment,
            shows=one,
            holds=holds,
            why=why,
            saw=answer.saw.strip()[:LONGEST_TOLD],
            pages=pages,
            pages_in_all=_pages_in_all(facts),
            max_side_px=MAX_SIDE_PX,
            findings=answer.findings_on(pages, number=number, asked=len(shown)),
            has_faults=bool(facts.faults),
        )
        if look.holds is Holds.NO and look.is_partial:
            look = look.model_copy(update={"holds": Holds.CANNOT_TELL})
        looks.append(look)
    return looks
