"""Two texts side by side with what differs marked, in bounded time whatever the texts are."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

# Longer texts are compared as far as this; comparing takes time with the square of the length at worst.
LONGEST_COMPARED = 20_000
MOST_LINES = 1_000
MOST_WORDS = 400
# Scripts without spaces are compared character by character.
_WORDS = re.compile(r"[^\W\u2e80-\u9fff\uac00-\ud7af\u3040-\u30ff]+|\s+|.", re.DOTALL)

Piece = tuple[str, bool]


def marked(left: str, right: str) -> tuple[SafeString, SafeString]:
    """`left` with what is gone in `<del>`, and `right` with what is new in `<ins>`; all text in them escaped."""
    before, after = _pieces(left[:LONGEST_COMPARED], right[:LONGEST_COMPARED])
    return _html(before, mark="del"), _html(after, mark="ins")


def count_pieces(text: str) -> int:
    """How many pieces the text is compared in, where its words are."""
    return sum(1 for _ in _WORDS.finditer(text))


def _pieces(left: str, right: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces, each with whether it is only there."""
    lines, other_lines = left.splitlines(keepends=True), right.splitlines(keepends=True)
    if len(lines) > MOST_LINES or len(other_lines) > MOST_LINES:
        return [(left, left != right)], [(right, left != right)]
    before: list[Piece] = []
    after: list[Piece] = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, lines, other_lines).get_opcodes():
        gone, new = "".join(lines[start:end]), "".join(other_lines[other_start:other_end])
        if tag == "replace":
            gone_pieces, new_pieces = _word_pieces(gone, new)
            before += gone_pieces
            after += new_pieces
        else:
            before.append((gone, tag != "equal"))
            after.append((new, tag != "equal"))
    return before, after


def _word_pieces(left: str, right: str) -> tuple[list[Piece], list[Piece]]:
    words, other_words = _WORDS.findall(left), _WORDS.findall(right)
    if len(words) > MOST_WORDS or len(other_words) > MOST_WORDS:
        return [(left, True)], [(right, True)]
    matcher = SequenceMatcher(None, words, other_words)
    if matcher.ratio() < 0.3:  # a mosaic of stray common words tells less than two whole texts
        return [(left, True)], [(right, True)]
    codes = matcher.get_opcodes()
    return _joined(words, [(code[0], code[1], code[2]) for code in codes]), _joined(
        other_words, [(code[0], code[3], code[4]) for code in codes]
    )


def _joined(words: Sequence[str], spans: Sequence[tuple[str, int, int]]) -> list[Piece]:
    return [("".join(words[start:end]), tag != "equal") for tag, start, end in spans]


def _html(pieces: Sequence[Piece], *, mark: str) -> SafeString:
    plain, changed = "{}", f"<{mark}>{{}}</{mark}>"
    shown = [format_html_join("", changed if is_new else plain, [(text,)]) for text, is_new in pieces if text]
    return mark_safe("".join(shown))  # noqa: S308 - each piece was escaped by format_html_join
