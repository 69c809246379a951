"""A client for a conversation of one or several requests, under one deadline and one budget of bytes."""

import asyncio
from collections.abc import Awaitable, Callable
from http.cookiejar import CookieJar, DefaultCookiePolicy

import anyio
import httpx2

from reflection_app.adapters.outgoing.decoding import Budget
from reflection_app.adapters.outgoing.errors import TimedOut, Unreachable, text_of
from reflection_app.adapters.outgoing.transport import PinnedTransport

HttpClient = httpx2.AsyncClient
NO_TIMEOUTS = httpx2.Timeout(None)


def client_over(transport: PinnedTransport, *, headers: dict[str, str] | None = None) -> HttpClient:
    """A client that follows nothing, keeps no cookies and knows nothing of the environment's proxies and netrc."""
    return HttpClient(
        transport=transport,
        headers=headers,
        trust_env=False,
        follow_redirects=False,
        timeout=NO_TIMEOUTS,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )


def run_with_client[T](
    talk: Callable[[HttpClient], Awaitable[T]],
    *,
    deadline_s: float,
    most_bytes: int,
    headers: dict[str, str] | None = None,
    only_origin: str | None = None,
) -> T:
    """What `talk` returns. Raises an OutgoingError, or what `talk` raised where it was none of ours.

    The thread must not run an event loop already.
    """

    async def run() -> T:
        budget = Budget(most_bytes)
        transport = PinnedTransport(budget=lambda: budget, only_origin=only_origin)
        client = client_over(transport, headers=headers)
        try:
            # A scope of anyio cancels again at every await, so that closing things cannot outlast the deadline either.
            with anyio.fail_after(deadline_s):
                async with client:
                    return await talk(client)
        except TimeoutError:
            if transport.refusal is not None:
                raise transport.refusal from None
            raise TimedOut(f"No complete answer came within {deadline_s:g} s.") from None
        except httpx2.HTTPError as error:
            raise Unreachable(f"The request failed: {text_of(error)}") from None
        except Exception:
            if transport.refusal is not None:
                raise transport.refusal from None
            raise

    return asyncio.run(run())
