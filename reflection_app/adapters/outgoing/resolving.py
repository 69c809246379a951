"""Names to addresses, every one of them checked."""

import asyncio
import socket
import threading
from collections.abc import Callable

from reflection_app.adapters.outgoing.addresses import is_allowed
from reflection_app.adapters.outgoing.errors import AddressRefused, Unreachable


def look_up(host: str, port: int) -> list[str]:
    """All addresses of the host, as the system's resolver orders them. Blocks; raises OSError or UnicodeError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of the host. Raises AddressRefused where any of them is none to send to, or Unreachable."""
    try:
        addresses = await _in_thread(host, port)
    except (OSError, UnicodeError):
        raise Unreachable(f"The name {host} is not known.") from None
    if not addresses:
        raise Unreachable(f"The name {host} has no address.")
    # One bad address condemns the name: whoever mixes public and private ones is up to something.
    if not all(is_allowed(address) for address in addresses):
        raise AddressRefused(
            f"{host} is not on the public internet; requests go to private addresses only where the setting "
            "OUTGOING_ALLOWED_NETWORKS allows them."
        )
    return addresses


async def _in_thread(host: str, port: int) -> list[str]:
    """The look-up in a thread that nobody waits for: a resolver that hangs must not outlast the request's time."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(addresses: list[str], error: Exception | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(addresses)

    def work() -> None:
        addresses: list[str] = []
        problem: Exception | None = None
        try:
            addresses = look_up(host, port)
        except Exception as error:  # noqa: BLE001 - it is raised again where it is waited for
            problem = error
        _tell(loop, lambda: settle(addresses, problem))

    threading.Thread(target=work, name="outgoing-look-up", daemon=True).start()
    return await answer


def _tell(loop: asyncio.AbstractEventLoop, settle: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        return  # closed meanwhile: the request's time was up, and nobody waits for the answer
