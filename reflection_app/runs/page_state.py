"""What an open page shows, and the messages that bring it up to date. Pure: it knows of no socket and no database.

A page is made of fragments, each an element with an id of its own. A snapshot replaces everything; later messages
carry only what differs from what was sent last, so that a look that was not needed sends nothing. What is gone since a
decision was taken back is removed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

WRITING = "run-writing"
NOTHING_WRITTEN = f'<div hx-swap-oob="innerHTML:#{WRITING}"></div>'


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
    """What one look at the database showed: what changed since event number `after`, up to number `seq`.

    `last_step` is the newest step that there was, and `is_writing` whether that one was under way. Of the lists that
    `whole` names, all children are in it; of the others, those that changed.
    """

    seq: int
    fragments: tuple[Fragment, ...]
    is_last: bool
    last_step: int = 0
    is_writing: bool = False
    whole: frozenset[str] = frozenset()


class PageState:
    """One connection's page: what has been sent, and up to which event."""

    def __init__(self) -> None:
        self.seq = 0
        self._sent: dict[str, str] = {}
        # In which list each of the children is that was sent.
        self._parents: dict[str, str] = {}
        # Of which step text is shown that is still being written, and the newest message of it.
        self._writing: tuple[int, tuple[int, int]] | None = None
        self._seen: tuple[int, tuple[int, int]] = (0, (0, 0))
        self._last_step = 0
        self._is_writing = False

    def snapshot(self, look: Look, *, lists: Iterable[str]) -> str:
        """A message that replaces the whole page by `look`, which was taken with `after=0`."""
        self.seq = look.seq
        self._sent = {fragment.place: fragment.html for fragment in look.fragments}
        self._parents = {fragment.place: fragment.parent for fragment in look.fragments if fragment.parent}
        self._note_steps(look)
        self._writing = None
        message = [_replacing(fragment) for fragment in look.fragments if not fragment.parent]
        message.append(NOTHING_WRITTEN)
        for parent in lists:
            children = "".join(fragment.html for fragment in look.fragments if fragment.parent == parent)
            message.append(f'<div hx-swap-oob="innerHTML:#{parent}">{children}</div>')
        return "\n".join(message)

    def changes(self, look: Look) -> str:
        """A message with what is new in `look`, or nothing."""
        self.seq = max(self.seq, look.seq)
        self._note_steps(look)
        message = []
        if self._writing and not self._may_show(self._writing[0]):
            self._writing = None
            message.append(NOTHING_WRITTEN)
        message += [self._removing(place) for place in self._gone(look)]
        for fragment in look.fragments:
            known = self._sent.get(fragment.place)
            if known == fragment.html:
                continue
            self._sent[fragment.place] = fragment.html
            if fragment.parent:
                self._parents[fragment.place] = fragment.parent
            is_new = known is None and fragment.parent
            message.append(_appending(fragment) if is_new else _replacing(fragment))
        return "\n".join(message)

    def written(self, html: str, *, step: int, order: tuple[int, int]) -> str:
        """A message that shows `html`, text of a step that is being written; nothing where it is stale."""
        if (step, order) <= self._seen or not self._may_show(step):
            return ""
        self._seen = (step, order)
        self._writing = (step, order)
        return f'<div hx-swap-oob="innerHTML:#{WRITING}">{html}</div>'

    def _gone(self, look: Look) -> list[str]:
        """The children that the page shows and that there are no more: steps go from the end, all else one by one."""
        there = {fragment.place for fragment in look.fragments}
        return [
            place
            for place, parent in self._parents.items()
            if place not in there and (parent in look.whole or _step_of(place) > look.last_step)
        ]

    def _removing(self, place: str) -> str:
        del self._sent[place], self._parents[place]
        return f'<div id="{place}" hx-swap-oob="delete"></div>'

    def _note_steps(self, look: Look) -> None:
        self._last_step, self._is_writing = look.last_step, look.is_writing

    def _may_show(self, step: int) -> bool:
        """Whether the step may still be under way: a step that is not known here has only just begun."""
        return step > self._last_step or (step == self._last_step and self._is_writing)


def _step_of(place: str) -> int:
    """The number of the step that is shown there; 0 where it is none."""
    name, _, number = place.partition("-")
    return int(number) if name == "step" and number.isdigit() else 0


def _replacing(fragment: Fragment) -> str:
    return fragment.html.replace(f'id="{fragment.place}"', f'id="{fragment.place}" hx-swap-oob="true"', 1)


def _appending(fragment: Fragment) -> str:
    return f'<div hx-swap-oob="beforeend:#{fragment.parent}">{fragment.html}</div>'
