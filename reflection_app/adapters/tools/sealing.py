"""Encryption at rest by keys that follow from SECRET_KEY, one for each purpose: what one sealed, no other opens."""

import base64
from functools import cache

from cryptography.fernet import Fernet, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


def cipher(purpose: bytes) -> MultiFernet:
    """Encrypts with the present key, and still reads what a former one (SECRET_KEY_FALLBACKS) encrypted."""
    return MultiFernet([_key_from(key, purpose) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


@cache
def _key_from(secret_key: str, purpose: bytes) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret_key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
