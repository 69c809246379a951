"""Shortening texts, one way for each need, and lists of words that are written as one text."""

from pydantic import AfterValidator


def cut(text: str, longest: int) -> str:
    """The text, or as much of it as fits into `longest` characters with a … at its end."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def cut_with(text: str, longest: int, *, note: str) -> str:
    """The text, or its first `longest` characters and a line that says that there is more."""
    return text if len(text) <= longest else f"{text[:longest]}\n{note}"


def cut_middle(text: str, longest: int) -> str:
    """The beginning and the end of `text`: a tool's answer says what it is in front, and how it went at the end."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} […{len(text) - 2 * half} characters…] {text[-half:]}"


def at_most(longest: int, *, stripped: bool = False) -> AfterValidator:
    """A field whose text is cut without a sign: what a model says too much of costs no answer."""
    return AfterValidator(lambda text: (text.strip() if stripped else text)[:longest])


def one_line(text: str) -> str:
    return " ".join(text.split())


def word_list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())
