"""How long a text is, in words, characters and lines; the same for Chinese and for English."""

import re

# Chinese and Japanese are written without spaces, and each character counts as a word, as word processors do it.
# Korean is written with spaces.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_SPACED = rf"(?:(?![{_UNSPACED}])\w)+"
_WORD = re.compile(rf"[{_UNSPACED}]|{_SPACED}(?:['’\-]{_SPACED})*")


def count_words(text: str) -> int:
    """Runs of letters and digits (`don't` and `well-known` are one each), and each Chinese character by itself."""
    return sum(1 for _ in _WORD.finditer(text))


def count_characters(text: str) -> int:
    """All characters, spaces too, but not the white space around the text."""
    return len(text.strip())


def count_lines(text: str) -> int:
    """The lines that say something; blank ones do not count."""
    return sum(1 for line in lines_of(text) if line.strip())


def lines_of(text: str) -> list[str]:
    """Return the lines of `text`. Only LF and CR LF end one; `str.splitlines` also breaks at form feeds."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]
