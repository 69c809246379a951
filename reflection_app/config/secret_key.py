"""The signing key: from the environment, else made once and kept in the data folder; never made in production."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def secret_key(given: str, *, data_dir: Path, production: bool) -> str:
    """The key to sign with, at least 50 characters of it where it is generated.

    Raises ImproperlyConfigured in production where none is given: a generated key would differ between containers.
    """
    if given:
        return given
    if production:
        raise ImproperlyConfigured("SECRET_KEY is not set. Production needs one: a long random text, kept secret.")
    path = data_dir / "secret_key"
    data_dir.mkdir(parents=True, exist_ok=True)
    try:
        # O_EXCL decides between web and worker when both start first: one writes, the other reads.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as file:
        key = secrets.token_urlsafe(50)
        file.write(key)
    return key
