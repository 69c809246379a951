"""Separate reasoning that a server leaves in an answer's text.

A chat template that opens the reasoning itself sends `</think>` alone. Tags in code, or within a sentence, are text.
"""

import re

# Tags of Qwen and DeepSeek, Seed, Magistral and Kimi.
_NAME = r"(?:seed:)?think(?:ing)?"
_OPENING = re.compile(rf"<{_NAME}[ \t]*>|\[THINK\]|◁think▷", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_NAME}[ \t]*>|\[/THINK\]|◁/think▷", re.IGNORECASE)
# A real tag starts or ends its line, or is between two words without a space. A code block is one match, so tags inside
# it are not found.
_TAG_OR_FENCE = re.compile(
    r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^[ \t]*\1[ \t]*$|\Z)"
    rf"|^[ \t]*({_OPENING.pattern}|{_CLOSING.pattern})|({_CLOSING.pattern})(?=[ \t\r]*$)"
    rf"|(?<=[^\s`\"'“‘])({_CLOSING.pattern})(?=[\w#*])",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
# Each block costs another search through the rest.
MOST_BLOCKS = 50


def split_thinking(text: str) -> tuple[str, str]:
    """Return (reasoning, answer). Without a tag, all of `text` is the answer."""
    if not _CLOSING.search(text) and not _OPENING.match(text.lstrip()):
        return "", text
    thought, answer = list[str](), list[str]()
    begins = 0
    for _ in range(MOST_BLOCKS):
        tag = _next_tag(text, begins)
        if tag is None:
            break
        opens, ends, is_closing = tag
        if is_closing:
            # Without an opening tag, everything before it is reasoning.
            thought += [*answer, text[begins:opens]]
            answer, begins = [], ends
            continue
        closing = _CLOSING.search(text, ends)
        if closing is None and (begins or text[:opens].strip()):
            break
        answer.append(text[begins:opens])
        thought.append(text[ends : closing.start()] if closing else text[ends:])
        begins = closing.end() if closing else len(text)
    if not thought:
        return "", text
    return "\n".join(filter(None, map(str.strip, thought))), "".join((*answer, text[begins:])).strip()


def _next_tag(text: str, begins: int) -> tuple[int, int, bool] | None:
    """Return (start, end, is_closing) of the next tag outside of code blocks, or None."""
    if another := _OPENING.match(text, begins):  # right after another block
        return another.start(), another.end(), False
    for match in _TAG_OR_FENCE.finditer(text, begins):
        group = match.lastindex or 0
        if group > 1:
            return match.start(group), match.end(group), bool(_CLOSING.fullmatch(match[group]))
    return None
