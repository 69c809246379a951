"""When two texts are the same. The one definition for proposals, imports and what agents repeat. Pure."""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import Any


def nfc(text: str) -> str:
    """Return `text` in Unicode's composed form, in which "é" is one character however it was typed."""
    return unicodedata.normalize("NFC", text)


def same_text(text: str) -> str:
    """Return what two texts must share to be the same: NFC, with each run of white space as one space.

    Case and signs count: `foo()` is not `Foo()`, and `x <= 5` is not `x >= 5`.
    """
    return " ".join(nfc(text).split())


# The columns of an entry that are its words.
KEYED = ("kind", "name", "description", "content", "details")


def text_key(columns: Mapping[str, Any]) -> str:
    """Return 64 characters that are equal for entries of the same kind and the same words.

    Who proposed an entry, for which agent and under which labels is no part of its words.
    """
    details = {name: value for name, value in (columns["details"] or {}).items() if value}
    words = [_same_value(details if name == "details" else str(columns[name])) for name in KEYED]
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


def _same_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _same_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_same_value(item) for item in value]
    return same_text(value) if isinstance(value, str) else value
