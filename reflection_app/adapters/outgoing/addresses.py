"""Which IP addresses requests may go to: those of the public internet, and the networks that the operator allows."""

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
    return any(_is_listed(one) for one in {address, inner}) or is_public(inner)


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


def _is_listed(address: Address) -> bool:
    return any(address in network for network in settings.OUTGOING_ALLOWED_NETWORKS)
