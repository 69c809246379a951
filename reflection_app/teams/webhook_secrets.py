"""The secrets that sign what webhooks are sent: ours, made here, told once."""

import secrets
from datetime import datetime

from cryptography.fernet import InvalidToken

from reflection_app.adapters.outgoing import as_secret
from reflection_app.adapters.outgoing.signing import SECRET_BYTES
from reflection_app.adapters.tools.sealing import cipher
from reflection_app.teams.models.webhook import Webhook

PURPOSE = b"reflection-desk: secrets of webhooks"


class SecretUnreadable(Exception):
    """The secret cannot be read: SECRET_KEY has changed. Rotate it."""


def new_secret() -> str:
    """A secret that nobody has seen yet."""
    return as_secret(secrets.token_bytes(SECRET_BYTES))


def seal(secret: str) -> str:
    """The secret as it is stored."""
    return cipher(PURPOSE).encrypt(secret.encode()).decode("ascii")


def signing_secrets(webhook: Webhook, *, now: datetime) -> list[str]:
    """The present secret and, while receivers change over, the former one. Raises SecretUnreadable."""
    sealed = [webhook.ciphertext]
    if webhook.former_ciphertext and webhook.former_until is not None and webhook.former_until > now:
        sealed.append(webhook.former_ciphertext)
    try:
        return [cipher(PURPOSE).decrypt(one.encode()).decode("ascii") for one in sealed]
    except InvalidToken:
        raise SecretUnreadable(str(SecretUnreadable.__doc__)) from None
