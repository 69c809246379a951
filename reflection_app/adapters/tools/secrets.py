"""Values of secrets: encrypted at rest, put into requests to their own origin alone, taken out of what comes back."""

import base64
import json
from collections.abc import Iterable, Mapping
from functools import cache
from urllib.parse import quote
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from reflection_app.adapters.tools.config import REFERENCE, secrets_named
from reflection_app.adapters.tools.errors import Misconfigured
from reflection_app.teams.models import Secret

# Encryption at rest by keys that follow from SECRET_KEY, one for each purpose: what one sealed, no other opens.


def cipher(purpose: bytes) -> MultiFernet:
    """Encrypts with the present key, and still reads what a former one (SECRET_KEY_FALLBACKS) encrypted."""
    return MultiFernet([_key_from(key, purpose) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


@cache
def _key_from(secret_key: str, purpose: bytes) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret_key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))


PURPOSE = b"reflection-desk: secrets of tools"


def encrypt(value: str, *, origin: str) -> str:
    """The value for storage. Its origin is sealed in with it: changing the row does not send it elsewhere."""
    sealed = json.dumps({"origin": origin, "value": value})
    return cipher(PURPOSE).encrypt(sealed.encode()).decode("ascii")


def decrypt(secret: Secret) -> str:
    """The value. Raises Misconfigured where it cannot be read, or was stored for another origin."""
    try:
        sealed = json.loads(cipher(PURPOSE).decrypt(secret.ciphertext.encode()))
    except InvalidToken:
        raise Misconfigured(
            f"The secret {secret.name} cannot be read: SECRET_KEY has changed. Enter the secret again."
        ) from None
    if sealed["origin"] != secret.origin:
        raise Misconfigured(f"The secret {secret.name} was entered for another origin. Enter it again.")
    value: str = sealed["value"]
    return value


class Secrets:
    """The secrets that one call needs."""

    def __init__(self, values: Mapping[str, tuple[str, str]]) -> None:
        self._values = values  # by name: origin and value

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"

    def fill(self, headers: Mapping[str, str], *, origin: str) -> dict[str, str]:
        """The headers as they are sent to `origin`. Raises Misconfigured."""
        for name in sorted(secrets_named(headers.values())):
            if name not in self._values:
                raise Misconfigured(f"There is no secret named {name} any more; nothing was sent.")
            if self._values[name][0] != origin:
                bound_to = self._values[name][0]
                raise Misconfigured(f"The secret {name} is for {bound_to}, not for {origin}; nothing was sent.")
        return {name: REFERENCE.sub(lambda found: self._values[found[1]][1], value) for name, value in headers.items()}

    def redact(self, text: str) -> str:
        """`text` without the values, also not as they stand in JSON, in addresses and in base64."""
        for name, (_, value) in self._values.items():
            encoded = base64.b64encode(value.encode()).decode()
            forms = {value, json.dumps(value)[1:-1], quote(value), quote(value, safe=""), encoded, encoded.rstrip("=")}
            for form in sorted(forms, key=len, reverse=True):
                text = text.replace(form, f"[secret {name}]")
        return text


def load_secrets(project_id: UUID, names: Iterable[str]) -> Secrets:
    """Those of the named secrets that the project has. Raises Misconfigured for one that cannot be read."""
    found = Secret.objects.filter(project_id=project_id, name__in=set(names))
    return Secrets({secret.name: (secret.origin, decrypt(secret)) for secret in found})
