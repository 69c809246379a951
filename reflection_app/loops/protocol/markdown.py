"""Markdown that hostile text cannot break out of: each piece stays within the line or paragraph it was put in."""

import re

# What begins markup anywhere in a line. Tags and entities cannot be escaped by a backslash in every reader.
INLINE = re.compile(r"[\\`*_\[\]|~]")
TAGS = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;"})
# What begins a block at the start of a line: headings, lists, rules, quotes, fences.
BLOCK = re.compile(r"^(?:[-+=#]|\d{1,9}(?=[.)](?:\s|$)))")


def line(text: str) -> str:
    """The text as one line that means nothing but itself."""
    return _escaped(" ".join(text.split()))


def paragraph(text: str) -> str:
    """The text with its line breaks kept; empty lines are left out, since they would end the paragraph."""
    lines = [_escaped(" ".join(part.split())) for part in text.splitlines()]
    return "\\\n".join(part for part in lines if part)


def _escaped(text: str) -> str:
    text = INLINE.sub(r"\\\g<0>", text.translate(TAGS))
    begins = BLOCK.match(text)
    if not begins:
        return text
    at = begins.end() if begins[0].isdigit() else 0
    return f"{text[:at]}\\{text[at:]}"
