"""Where a browser on this machine finds the desk that `manage.py up` runs, noted for commands beside it."""

from django.conf import settings


def address() -> str:
    """The address by HOST and PORT, as a browser on this machine has to write it."""
    host = "127.0.0.1" if settings.HOST in {"0.0.0.0", "::"} else settings.HOST  # noqa: S104 - compared with
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"


def note_address() -> None:
    """Keeps the address of the desk that is starting."""
    (settings.DATA_DIR / "address").write_text(address())


def address_in_use() -> str:
    """The address of the desk that was started last on this data folder, else the one of the settings."""
    noted = settings.DATA_DIR / "address"
    return noted.read_text().strip() if noted.is_file() else address()
