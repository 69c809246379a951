"""The signing key: from the environment, else made once and kept in the data folder; never made in production."""

import os
import secrets
import tempfile
from contextlib import suppress
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
    if not path.exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        # mkstemp makes the file 0600. A link appears with its content; a file opened at `path` would be empty at first.
        descriptor, temporary = tempfile.mkstemp(dir=data_dir, prefix=".secret_key-")
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(50))
            # Another process may have been faster; then its key is everybody's.
            with suppress(FileExistsError):
                path.hardlink_to(temporary)
        finally:
            Path(temporary).unlink()
    return path.read_text().strip()
