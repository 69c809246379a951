"""Mentions: the names with an @ before them in what people write. Pure text, without Django."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

# A name may hold all of these, and so may the address of a mail, which mentions nobody.
_AT = re.compile(r"(?<![A-Za-z0-9_.@+-])@([\w.@+-]{1,150})")
# What stands in code is no mention: decorators, and addresses of packages.
_CODE = re.compile(r"(?<!`)(`{1,8})(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_PUNCTUATION = ".@+-"


@dataclass(frozen=True)
class Mention:
    """A name, and where it stands in the text, with its @."""

    name: str
    start: int
    end: int


def mentions_in(text: str, names: Collection[str]) -> Iterator[Mention]:
    """The mentions of `names` in a piece of running text. A name that is none of them stays text."""
    for found in _AT.finditer(text):
        if name := _name_at(found[1], names):
            yield Mention(name, found.start(), found.start() + 1 + len(name))


def names_mentioned(text: str, names: Collection[str]) -> set[str]:
    """Whom a text in Markdown mentions."""
    return {mention.name for mention in mentions_in(_CODE.sub(" ", text), names)}


def _name_at(said: str, names: Collection[str]) -> str:
    """The longest of `names` that `said` begins with and that ends there: full stops belong to the sentence."""
    ends = (end for end in range(len(said), 0, -1) if _ends(said, end))
    return next((said[:end] for end in ends if said[:end] in names), "")


def _ends(said: str, end: int) -> bool:
    rest = said[end:]
    # Chinese has no spaces: 请@anna看看
    return not rest.strip(_PUNCTUATION) or (said[end - 1].isascii() and not rest[0].isascii())
