"""How second factors are kept: sealed like all secrets, so that whoever reads the database can make no codes."""

import base64
import logging
import secrets

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import InvalidToken

from reflection_app.adapters.tools.sealing import cipher

log = logging.getLogger(__name__)

PURPOSE = b"reflection-desk: second factors"
SECRET_BYTES = 20


class DeskSecondFactors(DefaultMFAAdapter):  # type: ignore[misc]  # allauth is not typed
    def encrypt(self, text: str) -> str:
        return cipher(PURPOSE).encrypt(text.encode()).decode("ascii")

    def decrypt(self, encrypted_text: str) -> str:
        """The secret; where SECRET_KEY has changed, one that no code fits. An empty one would let anybody count."""
        try:
            return cipher(PURPOSE).decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            log.warning("a second factor cannot be read: SECRET_KEY has changed. Its owner has to set it up anew")
            return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()
