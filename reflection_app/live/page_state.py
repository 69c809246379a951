"""What an open page shows, and the messages that bring it up to date. Pure: it knows of no socket and no database.

A page is made of fragments, each an element with an id of its own. A snapshot replaces everything; later messages
carry only what differs from what was sent last, so that a look that was not needed sends nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Refusal(IntEnum):
    """Why a socket is closed, as the page's script reads it. Codes from 4000 on are an application's own."""

    NOT_LOGGED_IN = 4401
    NOT_ALLOWED = 4403
    NOT_FOUND = 4404


@dataclass(frozen=True)
class Fragment:
    """One element of a page. `html` begins with it and its id; with `parent`, it is a child in that element's list."""

    place: str
    html: str
    parent: str = ""


@dataclass(frozen=True)
class Look:
    """What one look at the database showed: what changed since event number `after`, up to number `seq`."""

    seq: int
    fragments: tuple[Fragment, ...]
    is_last: bool


class PageState:
    """One connection's page: what has been sent, and up to which event."""

    def __init__(self) -> None:
        self.seq = 0
        self._sent: dict[str, str] = {}

    def snapshot(self, look: Look, *, lists: Iterable[str]) -> str:
        """A message that replaces the whole page by `look`, which was taken with `after=0`."""
        self.seq = look.seq
        self._sent = {fragment.place: fragment.html for fragment in look.fragments}
        message = [_replacing(fragment) for fragment in look.fragments if not fragment.parent]
        for parent in lists:
            children = "".join(fragment.html for fragment in look.fragments if fragment.parent == parent)
            message.append(f'<div hx-swap-oob="innerHTML:#{parent}">{children}</div>')
        return "\n".join(message)

    def changes(self, look: Look) -> str:
        """A message with what is new in `look`, or nothing."""
        self.seq = max(self.seq, look.seq)
        message = []
        for fragment in look.fragments:
            known = self._sent.get(fragment.place)
            if known == fragment.html:
                continue
            self._sent[fragment.place] = fragment.html
            is_new = known is None and fragment.parent
            message.append(_appending(fragment) if is_new else _replacing(fragment))
        return "\n".join(message)


def _replacing(fragment: Fragment) -> str:
    return fragment.html.replace(f'id="{fragment.place}"', f'id="{fragment.place}" hx-swap-oob="true"', 1)


def _appending(fragment: Fragment) -> str:
    return f'<div hx-swap-oob="beforeend:#{fragment.parent}">{fragment.html}</div>'
