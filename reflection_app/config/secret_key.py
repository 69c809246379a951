"""The signing key: from the environment, else made once and kept in the data folder; never made in production."""

import os
import secrets
import tempfile
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
        _write_once(path, content=secrets.token_urlsafe(50))
    return path.read_text().strip()


def _write_once(path: Path, *, content: str) -> None:
    """`path` holds a whole key, private to its owner: this one, or that of another process that was faster."""
    # mkstemp makes the file 0600. A link appears with its content; a file opened at `path` would be empty at first.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".secret_key-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
        Path(path).hardlink_to(temporary)
    except FileExistsError:
        return
    finally:
        Path(temporary).unlink()
