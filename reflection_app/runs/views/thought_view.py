"""The five parts of an attempt that was asked for as a chain of thought, as its card shows them."""

from dataclasses import dataclass

from django.utils.safestring import SafeString

from reflection_app.loops.chain_of_thought import parse_chain_of_thought
from reflection_app.web.rendering import render_answer


@dataclass(frozen=True)
class ThoughtPart:
    """One part; `text` is None where the answer has no such part, and empty where it is a heading alone."""

    name: str
    text: SafeString | None


def parts_of(content: str, *, is_code: bool) -> list[ThoughtPart]:
    """The five parts in their order; none where the answer has no part at all and is shown as it is."""
    parts = parse_chain_of_thought(content)
    if parts is None:
        return []
    return [
        ThoughtPart(name, None if not text else render_answer(text, is_code=is_code and name == "execute"))
        for name, text in parts.model_dump().items()
    ]
