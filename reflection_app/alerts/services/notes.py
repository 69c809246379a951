"""What a message says before it has the form of a service, and what an answer to it says after. Pure."""

import json
import re
import unicodedata
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from enum import Enum

# A line says what waits; of what somebody wrote it holds no more than this.
LONGEST_EXCERPT = 80
# Characters that mean something in one of the services' dialects of Markdown, in mentions, links, tags or entities, as
# look-alikes without a function. Not every dialect says how they are escaped; these need no escape in any.
INERT = str.maketrans(
    {
        **dict(zip("<>[](){}*_`~#@|\\!&\"'", "‹›［］（）｛｝∗＿ˋ～＃＠｜＼！＆＂＇", strict=True)),
        "$": "＄",
    }
)
# A dot or colon between two characters makes a link of a name in most clients.
LINKING = re.compile(r"(?<=[^\s.:])[.:](?=[^\s.:])")
ALIKE = {".": "․", ":": "꞉"}


def inert(text: str, *, longest: int = LONGEST_EXCERPT) -> str:
    """The beginning of somebody's text on one line, in which nothing is a link, a mention or a mark."""
    plain = "".join(" " if unicodedata.category(one) in {"Cc", "Zl", "Zp"} else one for one in text[: longest * 8])
    shown = " ".join("".join(one for one in plain if unicodedata.category(one) not in {"Cf", "Co", "Cs"}).split())
    if len(shown) > longest:
        shown = shown[: longest - 1].rstrip() + "…"
    return LINKING.sub(lambda found: ALIKE[found[0]], shown).translate(INERT)


@dataclass(frozen=True)
class Line:
    """`words` are the desk's own; `excerpt` is what somebody wrote, made inert; `url` is its page on the desk."""

    words: str
    url: str
    excerpt: str = ""


@dataclass(frozen=True)
class Note:
    """`more` says how many lines were left out, in words; nothing where none were."""

    title: str
    lines: tuple[Line, ...]
    all_words: str
    all_url: str
    more: Callable[[int], str]
    left_out: int = 0

    @property
    def rest(self) -> str:
        return self.more(self.left_out) if self.left_out else ""

    @property
    def text(self) -> str:
        """As plain text, for the log."""
        parts = [self.title, *(f"{line.words}{' · ' if line.excerpt else ''}{line.excerpt}" for line in self.lines)]
        return "\n".join([*parts, self.rest] if self.rest else parts)


@dataclass(frozen=True)
class Address:
    """Where a channel is reached, and what it signs with. Not in the repr: both are secrets."""

    url: str
    secret: str = ""

    def __repr__(self) -> str:
        return "Address(…)"


@dataclass(frozen=True)
class Post:
    url: str
    body: bytes

    def __repr__(self) -> str:
        return f"Post({len(self.body)} bytes)"


class Meaning(Enum):
    ARRIVED = "arrived"
    FAILED = "failed"
    # The service wants fewer messages.
    SLOWER = "slower"
    # There is nobody at this address any more; to try again is no use.
    GONE = "gone"


@dataclass(frozen=True)
class Answered:
    meaning: Meaning
    # What the service said, where it is no success; in its own words.
    why: str = ""


def read_code(
    status: int, text: str, *, gone: Container[int], too_fast: Container[int], codes: Sequence[str], why: Sequence[str]
) -> Answered:
    """Return what an answer of JSON says by its first field of `codes`, whatever the status; those of `why` explain."""
    try:
        answer = json.loads(text)
        code = int(next(answer[name] for name in codes if name in answer))
    except (ValueError, TypeError, StopIteration, OverflowError):
        return Answered(Meaning.SLOWER if status == 429 else Meaning.FAILED, text.strip())
    if code == 0 and 200 <= status < 300:
        return Answered(Meaning.ARRIVED)
    said = f"{code} {next((answer[name] for name in why if answer.get(name)), '')}".strip()
    if code in too_fast or status == 429:
        return Answered(Meaning.SLOWER, said)
    return Answered(Meaning.GONE if code in gone or status == 410 else Meaning.FAILED, said)


def fitted(note: Note, render: Callable[[Note], bytes], *, most_bytes: int, most_lines: int) -> bytes:
    """The body with as many of the lines as fit; those that do not are counted in it."""
    for kept in range(min(len(note.lines), most_lines), 0, -1):
        lines = note.lines[:kept]
        body = render(replace(note, lines=lines, left_out=note.left_out + len(note.lines) - kept))
        if len(body) <= most_bytes or kept == 1:
            return body
    return render(note)
