"""The words by which texts are found. Pure.

Chinese is written without spaces and is found by pairs of characters; one character alone finds what holds it.
Identifiers (search_flights, src/app.py, getUserProfile, HTTP 404) are found whole and by their parts.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# PostgreSQL's limit of a lexeme is 2 KB; nobody asks for a word of this length.
LONGEST_WORD = 80
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
RUN = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:[_./:@#+-]+[^\W_{CJK}]+)*")
JOINED = re.compile(r"[_./:@#+-]+")
# camelCase, HTTPServer and v2 in their parts.
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
FILE = re.compile(r"[^/]+\.[^/.]+$")


@dataclass(frozen=True)
class Token:
    """One way in which a piece of a text is found. `is_word`: what is looked for is its stem.

    `start` and `end` are its place in the text as `plain` makes it.
    """

    text: str
    start: int
    end: int
    is_word: bool = False
    is_character: bool = False


def plain(text: str) -> str:
    """The text with full-width and other look-alike forms made the usual ones; letters keep their case."""
    return unicodedata.normalize("NFKC", text)


def tokens_of(text: str) -> Iterator[Token]:
    """All by which a text that `plain` has made is found, in order; what stands in it twice comes twice."""
    before: re.Match[str] | None = None
    for run in RUN.finditer(text):
        if run[0][0] > "\u3000" and re.match(f"[{CJK}]", run[0]):
            yield from _characters(run)
        else:
            yield from _written_words(run)
            if before is not None and _is_numbered(before, run, text):
                whole = f"{before[0]} {run[0]}".casefold()
                yield Token(whole[:LONGEST_WORD], before.start(), run.end())
        before = run


def _characters(run: re.Match[str]) -> Iterator[Token]:
    characters, start = run[0], run.start()
    for place, character in enumerate(characters):
        if place + 1 < len(characters):
            yield Token(characters[place : place + 2], start + place, start + place + 2)
        yield Token(character, start + place, start + place + 1, is_character=True)


def _written_words(run: re.Match[str]) -> Iterator[Token]:
    """The parts of what is written without a space, and where there are several, the whole and a path's file."""
    parts = list(PART.finditer(run[0]))
    whole = run[0].casefold()
    if len(parts) <= 1 and not JOINED.search(run[0]):
        yield Token(whole[:LONGEST_WORD], run.start(), run.end(), is_word=not whole.isdigit())
        return
    yield Token(whole[:LONGEST_WORD], run.start(), run.end())
    if (file := FILE.search(run[0])) and file.start():
        yield Token(file[0].casefold()[:LONGEST_WORD], run.start() + file.start(), run.end())
    for part in parts:
        text = part[0].casefold()[:LONGEST_WORD]
        yield Token(text, run.start() + part.start(), run.start() + part.end(), is_word=not text.isdigit())


def _is_numbered(before: re.Match[str], run: re.Match[str], text: str) -> bool:
    """Whether it is a word and its number, such as HTTP 404."""
    return run[0].isdigit() and before[0].isalpha() and before[0].isascii() and text[before.end() : run.start()] == " "
