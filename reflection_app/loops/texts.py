"""Text truncation for different needs, and word lists written as one text."""

from pydantic import AfterValidator


def cut(text: str, longest: int) -> str:
    """Return `text`, cut to `longest` characters including a final "…" if it is longer."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def cut_with(text: str, longest: int, *, note: str) -> str:
    """Return `text`, or its first `longest` characters and a line with `note`."""
    return text if len(text) <= longest else f"{text[:longest]}\n{note}"


def cut_middle(text: str, longest: int) -> str:
    """Return the beginning and end of a long text.

    A tool's output shows its kind at the start and its result at the end.
    """
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} […{len(text) - 2 * half} characters…] {text[-half:]}"


def at_most(longest: int, *, stripped: bool = False) -> AfterValidator:
    """Return a validator that silently cuts a text, because excess output must not invalidate an answer."""
    return AfterValidator(lambda text: (text.strip() if stripped else text)[:longest])


def one_line(text: str) -> str:
    return " ".join(text.split())


def word_list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())
