"""Reasoning in five headed parts: what a model is asked for, and the parts read out of its answer.

Models write headings in many ways; see `headings.py` for what is taken for one.
"""

from reflection_app.loops.headings import PARTS, Heading, headings_in
from reflection_app.loops.messages import Message, user
from reflection_app.loops.prompts import prompt
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value


class ChainOfThought(Value):
    """The five parts of an answer; None where the answer has no such part."""

    understand: str | None = None
    analyze: str | None = None
    plan: str | None = None
    execute: str | None = None
    verify: str | None = None


def asking_for_parts(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """`messages` with the wish for five parts at the end of the last one."""
    wish = prompt("chain_of_thought")
    if not messages or messages[-1].role != "user":
        return (*messages, user(wish))
    return (*messages[:-1], user(f"{messages[-1].content}\n\n{wish}"))


def parse_chain_of_thought(answer: str) -> ChainOfThought | None:
    """The parts of `answer`, or None where it has none of them. A part that stands twice is put together."""
    lines = storable(answer).splitlines()
    headings = headings_in(lines)
    if not headings:
        return None
    texts: dict[str, list[str]] = {part: [] for part in PARTS}
    ends = [heading.line for heading in headings[1:]] + [len(lines)]
    for heading, end in zip(headings, ends, strict=True):
        texts[heading.part].append(_body(heading, lines, end))
    return ChainOfThought(
        **{part: "\n\n".join(text for text in found if text) if found else None for part, found in texts.items()}
    )


def work_in(answer: str) -> str:
    """The part of a chain of thought that holds the work, or all of an answer that has no such part."""
    parts = parse_chain_of_thought(answer)
    return parts.execute if parts is not None and parts.execute else answer


def _body(heading: Heading, lines: list[str], end: int) -> str:
    return "\n".join([heading.rest, *lines[heading.line + heading.height : end]]).strip()
