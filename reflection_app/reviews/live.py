"""The socket of a project's review pages. It only nudges: what has changed, the page asks for itself.

Who may hear it is told by a function that is handed in (config/sockets.py), since membership is read a layer above.
"""

import asyncio
import logging
from typing import Any, Protocol
from uuid import UUID

from asgiref.sync import sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import AnonymousUser, User
from django.db import DatabaseError

from reflection_app.adapters.live import group_of_project, group_of_reviews, mark_watched
from reflection_app.core.connections import released
from reflection_app.runs.live import LOOK_EVERY_S, Refusal, groups_of_caller

log = logging.getLogger(__name__)

RANG = "rang"
# Of pages that show runs, and are to hear of those as well.
WITH_RUNS = b"runs"


class MayHear(Protocol):
    def __call__(self, user: User | AnonymousUser, *, session_key: str | None, slug: str) -> UUID | Refusal:
        """The id of the project whose reviews the user may see, or why they may not."""


class ReviewsConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Accepts, then says that something has changed. A socket refused before accept would be retried for ever."""

    look_every_s = LOOK_EVERY_S

    def __init__(self, may_hear: MayHear, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._may_hear = may_hear
        self._groups: list[str] = []
        self._access: list[str] = []
        self._asking: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        await self.accept()
        self._access = groups_of_caller(self.scope)
        for group in self._access:
            await self._enter(group)
        await self._ask()
        self._asking = asyncio.create_task(self._ask_regularly())

    async def disconnect(self, code: int) -> None:
        if self._asking is not None:
            self._asking.cancel()
        try:
            for group in (*self._access, *self._groups):
                await self.channel_layer.group_discard(group, self.channel_name)
        except OSError as error:
            log.warning("a page could not leave its bell, the broker is away: %s", error)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing: a page has nothing to say here."""

    async def ring(self, _event: dict[str, Any]) -> None:
        await self.send(text_data=RANG)

    async def access(self, _event: dict[str, Any]) -> None:
        """Asks at once whether the user may still hear."""
        await self._ask()

    async def _ask_regularly(self) -> None:
        while True:
            await asyncio.sleep(self.look_every_s)
            await self._ask()

    async def _ask(self) -> None:
        """Closes the socket of who may hear no more, and joins the bell where that has not worked yet."""
        session = self.scope.get("session")
        try:
            # All consumers of a process would share one thread, were it thread-sensitive.
            found = await sync_to_async(self._ask_and_let_go, thread_sensitive=False)(
                self.scope["user"],
                session_key=session.session_key if session is not None else None,
                slug=self.scope["url_route"]["kwargs"]["slug"],
            )
        except DatabaseError:
            # The page hears on until the next time.
            log.warning("a page could not ask whether it may hear", exc_info=True)
            return
        if isinstance(found, Refusal):
            await self.close(code=found.value)
            return
        # From any of the project's pages one comes to a run's in the midst of an answer.
        mark_watched(found, for_s=2 * self.look_every_s)
        if not self._groups:
            wanted = [group_of_reviews(found)]
            if self.scope.get("query_string") == WITH_RUNS:
                wanted.append(group_of_project(found))
            self._groups = [group for group in wanted if await self._enter(group)]
            # What changed before the bell was joined has rung for nobody.
            if self._groups:
                await self.send(text_data=RANG)

    async def _enter(self, group: str) -> bool:
        """Whether the bell of the group is heard from now on."""
        try:
            await self.channel_layer.group_add(group, self.channel_name)
        except OSError as error:
            log.warning("a page listens without a bell, the broker is away: %s", error)
            return False
        return True

    def _ask_and_let_go(self, user: User | AnonymousUser, **what: Any) -> UUID | Refusal:
        # Here, and not around it: what closes connections outside of this context sees none to close.
        with released():
            return self._may_hear(user, **what)
