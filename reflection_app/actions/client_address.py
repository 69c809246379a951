"""The address of who asked, as it is audited. The pages and the REST interface both ask here."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from django.conf import settings


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
