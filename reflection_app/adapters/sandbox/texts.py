"""Texts that came out of the sandbox, made safe for a database and short enough for people and prompts."""


def clean(text: str | bytes, *, limit: int = 2_000) -> str:
    """The text without NUL and lone surrogates (PostgreSQL refuses both), its middle left out beyond the limit."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    text = shorten(text, limit=limit)
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


def shorten(text: str, *, limit: int) -> str:
    """The text, or its beginning and end with a note of how much is missing between them."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    return f"{text[:head]} … [{len(text) - head - tail} characters left out] … {text[-tail:]}"


def shown(value: object, *, limit: int = 2_000) -> str:
    """The value as Python writes it, safe and short."""
    return clean(repr(value), limit=limit)
