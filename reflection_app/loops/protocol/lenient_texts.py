"""Texts read out of a reflector's answer: what is nearly a text is one, and what is too long is cut."""

import json
from typing import Annotated, Any

from pydantic import BeforeValidator

LONGEST_SAID = 2_000
MOST_SAID = 12


def as_text(value: Any) -> str:
    """`value` as one line of text where it says something in another form; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value
    elif isinstance(value, list):
        text = "; ".join(as_text(item) for item in value[:MOST_SAID])
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text.strip()[:LONGEST_SAID]


def as_texts(value: Any) -> tuple[str, ...]:
    """Each item that says something; lines, where one text was given for many."""
    items = value.splitlines() if isinstance(value, str) else value if isinstance(value, list) else [value]
    texts = (as_text(item) for item in items)
    return tuple(text for text in texts if text)[:MOST_SAID]


Said = Annotated[str, BeforeValidator(as_text)]
SaidMany = Annotated[tuple[str, ...], BeforeValidator(as_texts)]
