"""Backing the desk up, running or not, and restoring it: its database, and the key that its secrets are sealed with."""

import asyncio
import fcntl
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from psycopg import sql
from psycopg.conninfo import make_conninfo

from reflection_app.config.services import database_settings
from reflection_app.config.up.engines import DATABASE, EmbeddedEngineError, has_cluster, installation, running_postgres
from reflection_app.config.up.preconditions import Refused, sole_use
from reflection_app.config.up.processes import Command, output_of
from reflection_app.core.migrations import NEEDED, unknown_migrations

# The file that a backup is: what it says of itself, the database's dump, and the key that its secrets need.

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
                found = json.loads(file.read(LONGEST_MANIFEST))
                if not isinstance(found, dict) or found.get("format") != FORMAT:
                    raise Unusable(f"{path} is no backup of a Reflection Desk.")
                if found.get("version") != VERSION:
                    raise Unusable(
                        f"{path} has the version {found.get('version')!r}; this desk restores version {VERSION}."
                    )
                migrations = tuple(str(one) for one in found.get("migrations", ()))
                if newer := unknown_migrations(migrations):
                    raise Unusable(
                        f"{path} is of a newer desk ({newer[0]} is unknown here): bring this one up to date first."
                    )
                if older := sorted(NEEDED - set(migrations)):
                    raise Unusable(
                        f"{path} is of a desk older than {older[0]}, which this one cannot bring up to date."
                    )
                manifest = Manifest(str(found.get("made_at", "")), migrations, str(found.get("key_mark", "")))
            key = archive.read(KEY).decode("ascii") if KEY in archive.namelist() else ""
            with archive.open(DUMP) as dumped, dump_to.open("wb") as target:
                while piece := dumped.read(PIECE):
                    target.write(piece)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as problem:
        raise Unusable(f"{path} cannot be read: {problem}") from problem
    return manifest, key


# pg_dump and pg_restore: those of the embedded PostgreSQL's wheel, else the system's.


class ToolFailed(Exception):
    """pg_dump or pg_restore gave up; the message is what it said."""


def database(name: str = "") -> dict[str, Any]:
    """How to reach the desk's database, or another of the same server, in the words of libpq."""
    given = database_settings(settings.DATABASE_URL, data_dir=settings.DATA_DIR, pool_size=0)
    said = {
        "dbname": name or given["NAME"],
        "user": given.get("USER"),
        "password": given.get("PASSWORD"),
        "host": given.get("HOST"),
        "port": given.get("PORT"),
    }
    found: dict[str, Any] = {key: value for key, value in said.items() if value} | given["OPTIONS"]
    return found


async def run_tool(tool: str, *arguments: str, on: dict[str, Any]) -> None:
    """`tool` has done its work on the database. Raises ToolFailed, or EmbeddedEngineError where there is no such tool.

    A password goes by the environment: other users of the machine can read arguments.
    """
    told = {key: value for key, value in on.items() if key != "password"}
    env = {"PATH": os.defpath} | ({"PGPASSWORD": str(on["password"])} if "password" in on else {})
    try:
        found = installation() / "bin" / tool
    except EmbeddedEngineError:
        on_path = shutil.which(tool)
        if on_path is None:
            raise EmbeddedEngineError(f"There is no {tool} here: install PostgreSQL's client programs.") from None
        found = Path(on_path)
    argv = (str(found), f"--dbname={make_conninfo(**told)}", "--no-password", *arguments)
    code, printed = await output_of(Command(name=tool, argv=argv, env=env))
    if code:
        raise ToolFailed(f"{tool}: {' '.join(printed.split())[-600:] or f'exit code {code}'}")


RESTORING, BEFORE = f"{DATABASE}_restoring", f"{DATABASE}_before_restore"
OF_DESK = ("reflection_app", "notebook_app")
# Folders that are there for as long as it takes.
BACKING_UP, UNPACKED = ".desk-backup-", ".restore-"


def back_up(path: Path) -> None:
    """All of the desk at one moment is at `path`, for its owner alone.

    Raises Refused where something is there already or there is nothing to back up, ToolFailed, EmbeddedEngineError.
    """
    if path.exists():
        raise Refused(f"{path} is there already; nothing was written over it.")
    if not settings.DATABASE_URL and not has_cluster(settings.DATA_DIR):
        raise Refused(f"There is nothing to back up: no desk has run on {settings.DATA_DIR} yet.")
    with _folder_of_ones_own(path.absolute().parent) as folder:
        asyncio.run(_dump(folder / "desk.dump"))
        whole = folder / "whole"
        os.close(os.open(whole, os.O_CREAT | os.O_WRONLY, 0o600))
        applied = (folder / "migrations").read_text().splitlines()
        made_at = timezone.now().isoformat()
        write(whole, dump=folder / "desk.dump", made_at=made_at, migrations=applied)
        try:
            # Unlike a renaming, a link is never put in the place of another file.
            path.hardlink_to(whole)
        except FileExistsError:
            raise Refused(f"{path} is there already; nothing was written over it.") from None


@contextmanager
def _folder_of_ones_own(beside: Path) -> Iterator[Path]:
    """A folder for as long as we are inside; those of backups that were killed are gone.

    A lock tells them from those of living ones: it ends with its process, whichever container that is in.
    """
    for left in beside.glob(f"{BACKING_UP}*"):
        with suppress(OSError), (left / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Nobody else's folder, whatever it is called.
            if {one.name for one in left.iterdir()} <= {"lock", "desk.dump", "migrations", "whole"}:
                shutil.rmtree(left)
    with tempfile.TemporaryDirectory(dir=beside, prefix=BACKING_UP) as made:
        fresh = Path(made) / "lock.fresh"
        with fresh.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Only now does it have the name that others look for: a lock that nobody holds is never ours.
            fresh.rename(fresh.with_suffix(""))
            yield Path(made)


async def _dump(target: Path) -> None:
    async with _database_at_hand():
        with psycopg.connect(**database()) as connection:
            applied = connection.execute(
                "SELECT app || '.' || name FROM django_migrations WHERE app = ANY(%s) ORDER BY 1", [list(OF_DESK)]
            ).fetchall()
        target.with_name("migrations").write_text("\n".join(name for (name,) in applied))
        await run_tool("pg_dump", "--format=custom", f"--file={target}", on=database())


@asynccontextmanager
async def _database_at_hand() -> AsyncIterator[None]:
    """While inside, the database answers: the running desk's, or one started for the purpose."""
    if settings.DATABASE_URL:
        yield
        return
    with ExitStack() as stack:
        try:
            stack.enter_context(sole_use(settings.DATA_DIR))
        except Refused:
            # The desk is running, and a dump is of one moment whatever it does meanwhile.
            yield
            return
        async with running_postgres(settings.DATA_DIR):
            yield


def restore(path: Path, *, with_another_key: bool = False) -> list[str]:
    """The desk is as it was when the backup was made; what there is to say of it.

    Raises Refused while the desk runs or where a database of yours is not empty, Unusable for a file that does not
    fit, ToolFailed and EmbeddedEngineError. Nothing is changed where one is raised.
    """
    with sole_use(settings.DATA_DIR):
        _remove_unpacked()
        with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix=UNPACKED) as folder:
            dump = Path(folder) / "desk.dump"
            manifest, key = read(path, dump_to=dump)
            generated = generated_key()
            same_key = manifest.key_mark == mark_of(settings.SECRET_KEY) or (key and generated)
            if not same_key and not with_another_key:
                raise Unusable(
                    "The backup was made with another SECRET_KEY, which seals the secrets of tools and of second "
                    "factors. Set that one, or add --another-key and enter those secrets again."
                )
            notes = asyncio.run(_restore_into_own(dump) if settings.DATABASE_URL else _restore_embedded(dump))
        # The backup's key takes the place of the one that this desk made for itself.
        if key and generated and generated != key:
            present = settings.DATA_DIR / KEY
            present.rename(present.with_name(f"{KEY}.before_restore"))
            with os.fdopen(os.open(present, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(key)
            notes.append("Its key came with it; the former one is beside it, as secret_key.before_restore.")
        return [f"The desk is as it was on {manifest.made_at}.", *notes]


def remove_interrupted_restore() -> None:
    """Nothing is left of a restore that was killed. Hold `sole_use` of the data folder: no other is under way then.

    The embedded database has to answer.
    """
    _remove_unpacked()
    if not settings.DATABASE_URL:
        with psycopg.connect(**database("postgres"), autocommit=True) as server:
            _drop(server, RESTORING)


def _remove_unpacked() -> None:
    for left in settings.DATA_DIR.glob(f"{UNPACKED}*"):
        shutil.rmtree(left)


async def _restore_embedded(dump: Path) -> list[str]:
    """Into a database of its own first, which then takes the other's place in one transaction."""
    async with running_postgres(settings.DATA_DIR):
        with psycopg.connect(**database("postgres"), autocommit=True) as server:
            _drop(server, RESTORING)
            server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(RESTORING)))
            try:
                await _load(dump, name=RESTORING)
            except BaseException:
                _drop(server, RESTORING)
                raise
            _drop(server, BEFORE)
            with server.transaction():
                for now, then in ((DATABASE, BEFORE), (RESTORING, DATABASE)):
                    renaming = sql.SQL("ALTER DATABASE {} RENAME TO {}")
                    server.execute(renaming.format(sql.Identifier(now), sql.Identifier(then)))
    return [f"What was there before is kept until the next restore, as the database {BEFORE}."]


async def _restore_into_own(dump: Path) -> list[str]:
    with psycopg.connect(**database()) as connection:
        tables = connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchone()
    if tables is None or tables[0]:
        raise Refused("The database of DATABASE_URL is not empty; nothing was changed. Name an empty one.")
    await _load(dump, name="")
    return []


async def _load(dump: Path, *, name: str) -> None:
    # Comments on extensions are their owner's, who may be another one here.
    options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", "--no-comments")
    await run_tool("pg_restore", *options, str(dump), on=database(name))
    with psycopg.connect(**database(name), autocommit=True) as connection:
        # Else the first queries are planned without statistics of the rows.
        connection.execute("ANALYZE")


def _drop(server: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
