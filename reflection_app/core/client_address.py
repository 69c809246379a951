"""The address of who asked, as it is audited. The pages and the REST interface both ask here."""

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from django.conf import settings

# What providers give to one customer, at the least (RFC 6177).
OWN_NETWORK_BITS = 64


def client_address(meta: Mapping[str, Any]) -> str | None:
    """The caller's IP address by the request's META; None where what is said is none.

    In production a proxy stands in front and appends the address it sees: only that last one is not the caller's word.
    """
    said = str(meta.get("REMOTE_ADDR") or "")
    if settings.PRODUCTION:
        said = str(meta.get("HTTP_X_FORWARDED_FOR") or said).rpartition(",")[2]
    try:
        # PostgreSQL has no zones: fe80::1%eth0
        return str(ip_address(said.strip().partition("%")[0]))
    except ValueError:
        return None


def counted_address(meta: Mapping[str, Any]) -> str:
    """What tries are counted by: the address; of IPv6 the network, in which a caller has any number of them."""
    told = client_address(meta)
    if told is None:
        return "unknown"
    address = ip_address(told)
    if not isinstance(address, IPv6Address):
        return told
    return str(address.ipv4_mapped or ip_network((address, OWN_NETWORK_BITS), strict=False))
