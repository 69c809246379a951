"""Django's ASGI handler, with a short way for requests of programs."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import IO, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import close_old_connections
from django.urls import set_script_prefix

from reflection_app.api.middleware import ProgramHandler, is_of_programs
from reflection_app.config.origin import Receive, Scope, Send

# Those who wait for a run have a thread each. Threads are started only where no other is free.
MOST_AT_ONCE = 4_096


class HttpHandler(ASGIHandler):
    """Answers a request of a program in one thread, from the first signal to the last.

    Django's own handler starts two threads for each request, and goes to one and back for the signals, for the
    middleware, for the view and for closing: together that costs as much as a query or two.
    """

    def __init__(self) -> None:
        super().__init__()
        self._programs = ProgramHandler()
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="program")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_of_programs(scope["path"]):
            await super().__call__(dict(scope), receive, send)
            return
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        loop = asyncio.get_running_loop()
        with body:
            response = await loop.run_in_executor(self._threads, copy_context().run, self._answer, scope, body)
            if not response.streaming:
                await self.send_response(response, send)
                return
            # A streamed response is produced in another thread, with its own connection.
            async with ThreadSensitiveContext():
                try:
                    await self.send_response(response, send)
                finally:
                    await sync_to_async(response.close)()

    def _answer(self, scope: Scope, body: IO[bytes]) -> Any:
        """Return the response, closed unless it is still to be streamed."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=type(self), scope=scope)
        response: Any
        request, response = self.create_request(scope, body)
        if request is not None:
            response = self._programs.get_response(request)
        response._handler_class = type(self)  # noqa: SLF001 - as Django's own handler
        if response.streaming:
            close_old_connections()
        else:
            response.close()
        return response
