"""Addresses as text: read by the same parser that the requests are made with, so that both mean the same host."""

import asyncio
import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import httpx2

from reflection_app.adapters.outgoing.addresses import AddressRefused, TimedOut, resolve

LONGEST_URL = 4000
USUAL_PORTS = {"http": 80, "https": 443}
CHECK_WITHIN_S = 5.0
_UNUSABLE = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
_BEGINNING = re.compile(r"https?://[^/?#]", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_HOST = re.compile(r"[a-z0-9]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")


def read_url(text: str) -> httpx2.URL:
    """The address. Raises AddressRefused where it is no plain http(s) address of a host."""
    if len(text) > LONGEST_URL:
        raise AddressRefused(f"An address has at most {LONGEST_URL} characters.")
    if _UNUSABLE.search(text):
        raise AddressRefused("The address holds a space, a backslash or a control character.")
    if not _BEGINNING.match(text):
        raise AddressRefused("The address must begin with http:// or https:// and name a host.")
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError) as error:
        raise AddressRefused(f"This is no address: {error}") from None
    authority = text.split("//", 1)[1]
    if url.userinfo or "@" in re.split(r"[/?#]", authority, maxsplit=1)[0]:
        raise AddressRefused("The address holds a user name or password; use a header with a secret.")
    if url.port is not None and not 1 <= url.port <= 65535:
        raise AddressRefused("A port is a number from 1 to 65535.")
    _check_host(url.raw_host.decode("ascii"))
    return url


def origin_of(url: httpx2.URL | str) -> str:
    """Scheme, host and port, the port always written out. Raises AddressRefused."""
    url = read_url(url) if isinstance(url, str) else url
    host = url.raw_host.decode("ascii").lower().removesuffix(".")
    port = url.port or USUAL_PORTS[url.scheme]
    return f"{url.scheme}://[{host}]:{port}" if ":" in host else f"{url.scheme}://{host}:{port}"


def port_of(url: httpx2.URL) -> int:
    return url.port or USUAL_PORTS[url.scheme]


def check_url(text: str) -> None:
    """Returns where requests could be sent to the address now. Raises AddressRefused, Unreachable or TimedOut.

    Not a permission for later: the name is resolved and checked again whenever a request is sent.
    """
    url = read_url(text)

    async def look() -> None:
        async with asyncio.timeout(CHECK_WITHIN_S):
            await resolve(url.raw_host.decode("ascii"), port_of(url))

    try:
        asyncio.run(look())
    except TimeoutError:
        raise TimedOut(f"The name {url.host} could not be looked up within {CHECK_WITHIN_S:g} s.") from None


def _check_host(host: str) -> None:
    """Refuses what a resolver would read as an address although it is not written as one: 2130706433, 0x7f.1, 127.1."""
    if ":" in host:
        try:
            IPv6Address(host)
        except AddressValueError:
            raise AddressRefused("The host is no IPv6 address.") from None
        if "%" in host:
            raise AddressRefused("An address with a zone cannot be used.")
        return
    if not _HOST.fullmatch(host.lower()) or len(host) > 253:
        raise AddressRefused("The host is no name that can be looked up.")
    if _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]):
        try:
            IPv4Address(host)
        except AddressValueError:
            raise AddressRefused("Write an IPv4 address as four decimal numbers.") from None
