"""Shortening texts, one way for each need, and lists of words that are written as one text."""

from pydantic import AfterValidator


def cut(text: str, longest: int) -> str:
    """The text, or as much of it as fits into `longest` characters with a … at its end."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def at_most(longest: int, *, stripped: bool = False) -> AfterValidator:
    """A field whose text is cut without a sign: what a model says too much of costs no answer."""
    return AfterValidator(lambda text: (text.strip() if stripped else text)[:longest])


def one_line(text: str) -> str:
    return " ".join(text.split())


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())
