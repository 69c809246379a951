"""Requests to addresses that users name: checked, pinned, bounded. The only importer of an HTTP client for them.

httpx2 is the HTTP client of the MCP SDK; with one client for all tools there is one place where addresses are checked.
"""

from reflection_app.adapters.outgoing.addresses import AddressRefused, OutgoingError, TimedOut, TooLarge, Unreachable
from reflection_app.adapters.outgoing.client import HttpClient, OutgoingAnswer, OutgoingRequest, run_with_client, send
from reflection_app.adapters.outgoing.posting import Message, Posted, Receiver, as_secret, signed_headers
from reflection_app.adapters.outgoing.urls import check_url, origin_of

__all__ = [
    "AddressRefused",
    "HttpClient",
    "Message",
    "OutgoingAnswer",
    "OutgoingError",
    "OutgoingRequest",
    "Posted",
    "Receiver",
    "TimedOut",
    "TooLarge",
    "Unreachable",
    "as_secret",
    "check_url",
    "origin_of",
    "run_with_client",
    "send",
    "signed_headers",
]
