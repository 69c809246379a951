"""By what a proposal is recognised as one that was made before. Pure."""

import hashlib
import re
import unicodedata
from typing import Any

from notebook_app.kinds import EntryKind, words_of

# Mistakes are the same whatever the ids and the numbers in them; rules, facts and preferences are about their numbers.
MASKED_KINDS = frozenset({EntryKind.ERROR_NOTE})
_IDS = re.compile(r"\b(?=[0-9a-z-]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,}){0,4}\b")
_NUMBERS = re.compile(r"\d+(?:[.,:]\d+)*")
_NOT_WORDS = re.compile(r"[^\w#]+")


def fingerprint_of(
    kind: EntryKind,
    *,
    name: str,
    description: str,
    content: str,
    details: dict[str, Any],
    agent: str = "",
    category: str = "",
) -> str:
    """The same for proposals that differ in case, spaces and punctuation alone; of mistakes, in numbers and ids too.

    A mistake is what is described, whatever cause is seen in it. What two agents do is two things. 64 characters.
    """
    if kind is EntryKind.ERROR_NOTE:
        said = [category, description or name]
    else:
        said = [name, description, content, *words_of(details)]
    plain = [_plain(text, is_masked=kind in MASKED_KINDS) for text in said]
    return hashlib.sha256("\0".join([kind.value, agent, *plain]).encode(errors="surrogatepass")).hexdigest()


def _plain(text: str, *, is_masked: bool) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    if is_masked:
        folded = _NUMBERS.sub("#", _IDS.sub("#", folded))
    return _NOT_WORDS.sub(" ", folded).strip()
