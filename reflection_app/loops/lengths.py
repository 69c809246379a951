"""Count words, characters and lines of a text; the same rules for Chinese and English."""

import re

# Chinese and Japanese have no spaces, so each character counts as a word, as in word processors. Korean has spaces.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_SPACED = rf"(?:(?![{_UNSPACED}])\w)+"
_WORD = re.compile(rf"[{_UNSPACED}]|{_SPACED}(?:['’\-]{_SPACED})*")


def count_words(text: str) -> int:
    """Count runs of letters and digits (`don't` and `well-known` are one each) and single Chinese characters."""
    return sum(1 for _ in _WORD.finditer(text))


def count_characters(text: str) -> int:
    """Count all characters including spaces, but not leading and trailing white space."""
    return len(text.strip())


def count_lines(text: str) -> int:
    """Count the lines that are not blank."""
    return sum(1 for line in lines_of(text) if line.strip())


def lines_of(text: str) -> list[str]:
    """Return the lines of `text`. Only LF and CR LF end one; `str.splitlines` also breaks at form feeds."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]
