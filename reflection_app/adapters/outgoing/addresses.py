"""Which IP addresses requests may go to: those of the public internet, and the networks that the operator allows."""

import asyncio
import socket
import threading
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from django.conf import settings

Address = IPv4Address | IPv6Address

# `is_global` lets these pass: multicast, the relays of 6to4, and the address at which Azure serves its machines.
REFUSED_IPV4 = (IPv4Network("224.0.0.0/4"), IPv4Network("192.88.99.0/24"), IPv4Network("168.63.129.16/32"))
GLOBAL_UNICAST = IPv6Network("2000::/3")
# Tunnels carry an IPv4 address inside, and nobody serves the web through them.
REFUSED_IPV6 = (IPv6Network("2002::/16"), IPv6Network("2001::/32"))
NAT64 = IPv6Network("64:ff9b::/96")


def is_allowed(text: str) -> bool:
    """Whether requests may go to the address, as it came from the resolver."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    inner = ipv4_within(address)
    networks = settings.OUTGOING_ALLOWED_NETWORKS
    return any(one in network for one in {address, inner} for network in networks) or is_public(inner)


def is_public(address: Address) -> bool:
    """Whether the address is one of the public internet, and no service that a cloud keeps for its own machines."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in REFUSED_IPV4)
    if address.scope_id is not None or address not in GLOBAL_UNICAST:
        return False
    return address.is_global and not any(address in network for network in REFUSED_IPV6)


def ipv4_within(address: Address) -> Address:
    """The IPv4 address that a mapped or translated address stands for, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else address


# Why a request came to nothing.


class OutgoingError(Exception):
    """No usable answer came."""


class AddressRefused(OutgoingError):
    """The address is none that requests are sent to; nothing was sent to it."""


class Unreachable(OutgoingError):
    """The name is unknown, nobody listens there, or what came back is no HTTP."""


class TimedOut(OutgoingError):
    """The time was up before the answer was complete."""


class TooLarge(OutgoingError):
    """The answer is longer than what is read of one."""


def text_of(error: Exception) -> str:
    """What the error says, or its name where it says nothing."""
    return str(error) or type(error).__name__


# Names to addresses, every one of them checked.


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
        # The loop may be closed meanwhile: the request's time was up, and nobody waits for the answer.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, addresses, problem)

    threading.Thread(target=work, name="outgoing-look-up", daemon=True).start()
    return await answer
