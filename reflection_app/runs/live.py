"""The socket of a run's page. The event table is the truth; a ring only says that it is worth a look.

What the page shows is drawn by a function that is handed in (config/sockets.py), since pages are a layer above.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from asgiref.sync import sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import AnonymousUser, User
from django.db import DatabaseError
from django.http import HttpRequest
from django.utils import translation

from reflection_app.adapters.live import PartialText, group_of_person, group_of_run, mark_watched
from reflection_app.core.connections import released

# What an open page shows, and the messages that bring it up to date. Pure: it knows of no socket and no database.
#
# A page is made of fragments, each an element with an id of its own. A snapshot replaces everything; later messages
# carry only what differs from what was sent last, so that a look that was not needed sends nothing. What is gone
# since a decision was taken back is removed.

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
        # The children that the page shows and that there are no more: steps go from the end, all else one by one.
        there = {fragment.place for fragment in look.fragments}
        gone = []
        for place, parent in self._parents.items():
            name, _, number = place.partition("-")
            is_beyond = name == "step" and number.isdigit() and int(number) > look.last_step
            if place not in there and (parent in look.whole or is_beyond):
                gone.append(place)
        for place in gone:
            del self._sent[place], self._parents[place]
            message.append(f'<div id="{place}" hx-swap-oob="delete"></div>')
        for fragment in look.fragments:
            known = self._sent.get(fragment.place)
            if known == fragment.html:
                continue
            self._sent[fragment.place] = fragment.html
            if fragment.parent:
                self._parents[fragment.place] = fragment.parent
            is_new = known is None and fragment.parent
            message.append(
                f'<div hx-swap-oob="beforeend:#{fragment.parent}">{fragment.html}</div>'
                if is_new
                else _replacing(fragment)
            )
        return "\n".join(message)

    def written(self, html: str, *, step: int, order: tuple[int, int]) -> str:
        """A message that shows `html`, text of a step that is being written; nothing where it is stale."""
        if (step, order) <= self._seen or not self._may_show(step):
            return ""
        self._seen = (step, order)
        self._writing = (step, order)
        return f'<div hx-swap-oob="innerHTML:#{WRITING}">{html}</div>'

    def _note_steps(self, look: Look) -> None:
        self._last_step, self._is_writing = look.last_step, look.is_writing

    def _may_show(self, step: int) -> bool:
        """Whether the step may still be under way: a step that is not known here has only just begun."""
        return step > self._last_step or (step == self._last_step and self._is_writing)


def _replacing(fragment: Fragment) -> str:
    return fragment.html.replace(f'id="{fragment.place}"', f'id="{fragment.place}" hx-swap-oob="true"', 1)


# In which language a socket draws: the one in which its page was drawn (web/language.py).


def language_of(scope: dict[str, Any]) -> str:
    """The language of the connection's cookie, else of the browser."""
    request = HttpRequest()
    request.COOKIES = dict(scope.get("cookies", {}))
    headers = dict(scope.get("headers", ()))
    request.META["HTTP_ACCEPT_LANGUAGE"] = headers.get(b"accept-language", b"").decode("latin-1")
    return translation.get_language_from_request(request)


log = logging.getLogger(__name__)

# A lost ring delays news by this much. Each look also tells the browser that the connection is alive.
LOOK_EVERY_S = 10.0
# That a worker is silent is no event: it shows with a look, and within ten seconds of its last sign of life.
LOOK_AT_RUN_EVERY_S = 4.0
# While text streams in, rings may be far apart; who is removed from the project reads on for no longer than this.
ALLOWED_FOR_S = 2.0
# A run counts as watched this much longer than two looks: one that is late, or finds the database away, ends nothing.
WATCHED_ON_S = 5.0
STILL_HERE = "<!-- nothing new -->"
LISTS = ("run-attempts", "run-steps")


# What changed in a run after event `after` (0: all of it), or why the user may not know: see look_at_run.
LookAtRun = Callable[..., Look | Refusal]
# The text so far as the page shows it, escaped; nothing where there is no text.
DrawPartial = Callable[[PartialText], str]


def groups_of_caller(scope: Mapping[str, Any]) -> list[str]:
    """The group that rings when what the page's user may see has changed; none where nobody is logged in."""
    user = scope["user"]
    return [group_of_person(user.pk)] if user.is_authenticated else []


class NoSuchSocket(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Tells who asks for a path that is none that it is none."""

    async def connect(self) -> None:
        await self.accept()
        await self.close(code=Refusal.NOT_FOUND.value)


class RunConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Accepts, sends a snapshot, then changes only. A socket refused before accept would be retried for ever."""

    look_every_s = LOOK_AT_RUN_EVERY_S

    def __init__(self, look: LookAtRun, draw_partial: DrawPartial, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._look_at = look
        self._draw_partial = draw_partial
        # When the user was last found to be allowed to see the run, by the loop's clock.
        self._allowed_at: float | None = None
        self._page = PageState()
        self._busy = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None
        self._groups: list[str] = []

    async def connect(self) -> None:
        await self.accept()
        # Joined before the snapshot is taken: what happens in between rings, and is not missed.
        self._groups = [group_of_run(self.scope["url_route"]["kwargs"]["run_id"]), *groups_of_caller(self.scope)]
        try:
            for group in self._groups:
                await self.channel_layer.group_add(group, self.channel_name)
        except OSError as error:
            log.warning("a page listens without a bell, the broker is away: %s", error)
        await self._tell(whole=True)
        self._looking = asyncio.create_task(self._look_regularly())

    async def disconnect(self, code: int) -> None:
        if self._looking is not None:
            self._looking.cancel()
        try:
            for group in self._groups:
                await self.channel_layer.group_discard(group, self.channel_name)
        except OSError as error:
            log.warning("a page could not leave its bell, the broker is away: %s", error)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Whatever a page sends asks for a fresh snapshot: it slept, and does not trust what it shows."""
        await self._tell(whole=True)

    async def ring(self, _event: dict[str, Any]) -> None:
        await self._tell(whole=False)

    async def access(self, _event: dict[str, Any]) -> None:
        """Looks at once, and closes where the user may see the run no more."""
        await self._tell(whole=False)

    async def partial(self, event: dict[str, Any]) -> None:
        """Shows what a model has written so far, to whoever was allowed to see the run a moment ago."""
        now = asyncio.get_running_loop().time()
        if self._allowed_at is None or now - self._allowed_at > ALLOWED_FOR_S:
            await self._tell(whole=False)
        async with self._busy:
            if self._allowed_at is None:
                return
            partial = PartialText.from_message(event)
            with translation.override(language_of(self.scope)):
                drawn = self._draw_partial(partial)
            message = self._page.written(drawn, step=partial.step, order=partial.order)
            if message:
                await self.send(text_data=message)

    async def _look_regularly(self) -> None:
        while True:
            await asyncio.sleep(self.look_every_s)
            await self._tell(whole=False, or_else=STILL_HERE)

    async def _tell(self, *, whole: bool, or_else: str = "") -> None:
        async with self._busy:
            kwargs = self.scope["url_route"]["kwargs"]
            session = self.scope.get("session")
            try:
                # All consumers of a process would share one thread, were it thread-sensitive.
                look = await sync_to_async(self._look_and_let_go, thread_sensitive=False)(
                    self.scope["user"],
                    session_key=session.session_key if session is not None else None,
                    slug=kwargs["slug"],
                    run_id=kwargs["run_id"],
                    after=0 if whole else self._page.seq,
                )
            except DatabaseError:
                # The page stays as it is until the next look.
                log.warning("a page could not look at its run", exc_info=True)
                return
            self._allowed_at = None if isinstance(look, Refusal) else asyncio.get_running_loop().time()
            if isinstance(look, Refusal):
                await self.close(code=look.value)
                return
            if not look.is_last:
                mark_watched(kwargs["run_id"], for_s=2 * self.look_every_s + WATCHED_ON_S)
            message = self._page.snapshot(look, lists=LISTS) if whole else self._page.changes(look)
            if message or or_else:
                await self.send(text_data=message or or_else)
            if look.is_last:
                await self.close(code=1000)

    def _look_and_let_go(self, user: User | AnonymousUser, **what: Any) -> Look | Refusal:
        # Here, and not around it: what closes connections outside of this context sees none to close.
        with released(), translation.override(language_of(self.scope)):
            return self._look_at(user, **what)
