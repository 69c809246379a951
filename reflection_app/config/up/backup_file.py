"""The file that a backup is: what it says of itself, the database's dump, and the key that its secrets need."""

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from django.utils.crypto import constant_time_compare, salted_hmac

FORMAT = "reflection-desk-backup"
VERSION = 1
MANIFEST, DUMP, KEY = "manifest.json", "desk.dump", "secret_key"
LONGEST_MANIFEST = 1024 * 1024
PIECE = 1024 * 1024


class Unusable(Exception):
    """The file cannot be restored here; the message says why and what to do."""


@dataclass(frozen=True)
class Manifest:
    made_at: str
    migrations: tuple[str, ...]
    key_mark: str


def mark_of(key: str) -> str:
    """What tells one key from another, and tells nothing of it."""
    return salted_hmac("reflection-desk backup", "key", secret=key, algorithm="sha256").hexdigest()


def generated_key() -> str:
    """The key that this desk made for itself; nothing where it was given one."""
    path = settings.DATA_DIR / KEY
    made = path.read_text().strip() if path.exists() else ""
    return made if constant_time_compare(made, settings.SECRET_KEY) else ""


def write(path: Path, *, dump: Path, made_at: str, migrations: list[str]) -> None:
    """The backup is at `path`."""
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "made_at": made_at,
        "migrations": migrations,
        "key_mark": mark_of(settings.SECRET_KEY),
    }
    # pg_dump has compressed its own.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest, indent=2))
        archive.write(dump, DUMP)
        if key := generated_key():
            archive.writestr(KEY, key)


def read(path: Path, *, dump_to: Path) -> tuple[Manifest, str]:
    """What the backup says of itself, and its key where it has one; the dump is at `dump_to`. Raises Unusable."""
    try:
        with zipfile.ZipFile(path) as archive:
            if not {MANIFEST, DUMP} <= set(archive.namelist()) <= {MANIFEST, DUMP, KEY}:
                raise Unusable(f"{path} is no backup of a Reflection Desk.")
            with archive.open(MANIFEST) as file:
                manifest = _manifest(json.loads(file.read(LONGEST_MANIFEST)), path=path)
            key = archive.read(KEY).decode("ascii") if KEY in archive.namelist() else ""
            with archive.open(DUMP) as dumped, dump_to.open("wb") as target:
                while piece := dumped.read(PIECE):
                    target.write(piece)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as problem:
        raise Unusable(f"{path} cannot be read: {problem}") from problem
    return manifest, key


def _manifest(found: Any, *, path: Path) -> Manifest:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Unusable(f"{path} is no backup of a Reflection Desk.")
    if found.get("version") != VERSION:
        raise Unusable(f"{path} has the version {found.get('version')!r}; this desk restores version {VERSION}.")
    migrations = tuple(str(one) for one in found.get("migrations", ()))
    known = {f"{app}.{name}" for app, name in MigrationLoader(None, ignore_no_migrations=True).disk_migrations}
    if newer := sorted(set(migrations) - known):
        raise Unusable(f"{path} is of a newer desk ({newer[0]} is unknown here): bring this one up to date first.")
    return Manifest(str(found.get("made_at", "")), migrations, str(found.get("key_mark", "")))
