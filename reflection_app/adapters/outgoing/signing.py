"""Signatures of webhooks, after the Standard Webhooks scheme (standardwebhooks.com): symmetric, version 1. Pure."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

BEGINNING = "whsec_"
# The scheme asks for 24 to 64 bytes.
SECRET_BYTES = 32


def as_secret(key: bytes) -> str:
    """The key as receivers are given it."""
    return BEGINNING + base64.b64encode(key).decode("ascii")


def signed_headers(body: bytes, *, message_id: str, timestamp_s: int, secrets: Sequence[str]) -> dict[str, str]:
    """The headers that say who sent `body`, with a signature of each secret: receivers need only know one of them."""
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(_signature(signed, secret) for secret in secrets),
    }


def _signature(signed: bytes, secret: str) -> str:
    key = base64.b64decode(secret.removeprefix(BEGINNING))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode("ascii")
