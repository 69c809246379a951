"""Backups of a database of one's own and of the embedded one, running or not, and back again; by real engines."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from pytest_django.fixtures import Settings

from desk_sandbox import bwrap
from reflection_app.config.secret_key import secret_key
from reflection_app.config.services import socket_dir
from reflection_app.config.up import backup
from reflection_app.config.up.backup import ToolFailed, Unusable, back_up, remove_interrupted_restore, restore
from reflection_app.config.up.engines import running_postgres
from reflection_app.config.up.preconditions import Refused, sole_use
from reflection_app.core.audit import AuditEntry
from tests import given
from tests.config.waiting import wait_until
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
OF_THE_TEST_SESSION = {"DATABASE_URL", "REDIS_URL", "DATABASE_POOL_SIZE", "SECRET_KEY", "REFLECTION_DATA_DIR"}
KEY = "k" * 60
MANAGE = (sys.executable, str(Path(settings.BASE_DIR) / "manage.py"))


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's temporary folder: PostgreSQL may run as another user, to whom that one is closed.
    made = Path(tempfile.mkdtemp(dir=os.environ["REFLECTION_DATA_DIR"], prefix="b"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@dataclass
class Desks:
    """Desks on folders of their own, one of which the commands are for at a time."""

    settings: Settings

    def be(self, data: Path, *, url: str = "", key: str = KEY) -> None:
        """From now on the commands are for the desk on `data`; without a key it makes one, as in life."""
        self.settings.DATA_DIR, self.settings.DATABASE_URL = data, url
        self.settings.SECRET_KEY = secret_key(key, data_dir=data, production=False)


@pytest.fixture
def desks(settings: Settings) -> Desks:
    return Desks(settings)


def own_database(name: str = "") -> str:
    """The address of the test's database, or of another one beside it."""
    sent = connection.settings_dict
    return f"postgresql://{sent['USER']}@/{name or sent['NAME']}?host={sent['OPTIONS'].get('host') or sent['HOST']}"


def rows(address: str, table: str) -> list[tuple[object, ...]]:
    with psycopg.connect(address) as database:
        return database.execute(f'SELECT * FROM "{table}" ORDER BY 1').fetchall()


def tables(address: str) -> list[str]:
    with psycopg.connect(address) as database:
        found = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
        return [name for (name,) in found]


def embedded_slugs(data: Path) -> list[str]:
    """The projects of the desk on the folder, which is not running."""

    async def read() -> list[str]:
        async with running_postgres(data):
            with psycopg.connect(dbname="desk", user="postgres", host=str(socket_dir(data))) as database:
                return [slug for (slug,) in database.execute("SELECT slug FROM reflection_app_project").fetchall()]

    return asyncio.run(read())


def embedded_databases(data: Path) -> set[str]:
    """Of the folder's PostgreSQL, which is running."""
    with psycopg.connect(dbname="postgres", user="postgres", host=str(socket_dir(data))) as server:
        return {name for (name,) in server.execute("SELECT datname FROM pg_database WHERE NOT datistemplate")}


def environment_of_a_desk(data: Path, *, url: str = "") -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in OF_THE_TEST_SESSION}
    return inherited | {"REFLECTION_DATA_DIR": str(data), "DATABASE_URL": url, "SECRET_KEY": KEY}


def killed(*arguments: str, env: dict[str, str], once: Callable[[], bool]) -> None:
    """The command was killed in the middle of its work: as soon as `once` held."""
    process = subprocess.Popen([*MANAGE, *arguments], env=env)
    wait_until(once, process=process)
    process.kill()
    assert process.wait() < 0


def filled() -> None:
    project = given.project("backed-up")
    given.member(project)
    AuditEntry.objects.create(project=project, actor_label="x", action="y", target="z", target_id=project.pk)


@pytest.fixture
def empty_database() -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS restored_here")
        cursor.execute("CREATE DATABASE restored_here TEMPLATE template0")
    yield own_database("restored_here")
    with connection.cursor() as cursor:
        cursor.execute("DROP DATABASE restored_here WITH (FORCE)")


@pytest.mark.exhaustive("stops and starts engines of its own")
def test_it_goes_from_a_database_of_ones_own_into_the_embedded_one_and_back(
    folder: Path, desks: Desks, empty_database: str
) -> None:
    filled()
    first, second, url = folder / "first.backup", folder / "second.backup", own_database()
    desks.be(folder / "a", url=url)
    back_up(first)
    assert first.stat().st_mode & 0o077 == 0

    desks.be(folder / "b")
    assert "desk_before_restore" in restore(first)[1]
    # The desk on this folder is not running: its database is started for a while.
    back_up(second)

    desks.be(folder / "c", url=empty_database)
    restore(second)
    assert tables(empty_database) == tables(url)
    for table in ("reflection_app_project", "reflection_app_auditentry", "auth_user", "django_migrations"):
        assert rows(empty_database, table) == rows(url, table) != []
    with pytest.raises(Refused, match="is not empty; nothing was changed"):
        restore(second)
    with psycopg.connect(empty_database) as database, pytest.raises(psycopg.errors.RestrictViolation):
        database.execute("DELETE FROM reflection_app_auditentry")


@pytest.mark.exhaustive("stops and starts engines of its own")
def test_another_key_is_refused_unless_it_is_said_to_be_another(folder: Path, desks: Desks) -> None:
    filled()
    path = folder / "a.backup"
    desks.be(folder / "a", url=own_database())
    back_up(path)
    desks.be(folder / "b", key="another" * 10)
    with pytest.raises(Unusable, match="made with another SECRET_KEY"):
        restore(path)
    assert not (folder / "b" / "postgres").exists()
    restore(path, with_another_key=True)
    assert embedded_slugs(folder / "b") == ["backed-up"]


@pytest.mark.exhaustive("stops and starts engines of its own")
def test_a_key_that_the_desk_made_comes_along_and_the_former_one_is_kept(folder: Path, desks: Desks) -> None:
    filled()
    path = folder / "a.backup"
    desks.be(folder / "a", url=own_database(), key="")
    back_up(path)
    desks.be(folder / "b", key="")
    former = (folder / "b" / "secret_key").read_text()
    assert "Its key came with it" in restore(path)[-1]
    assert (folder / "b" / "secret_key").read_text() == (folder / "a" / "secret_key").read_text() != former
    assert (folder / "b" / "secret_key").stat().st_mode & 0o077 == 0
    assert (folder / "b" / "secret_key.before_restore").read_text() == former


@pytest.mark.exhaustive("stops and starts engines of its own")
def test_nothing_is_restored_while_the_desk_runs_and_nothing_is_written_over(folder: Path, desks: Desks) -> None:
    path = folder / "a.backup"
    desks.be(folder / "none")
    with pytest.raises(Refused, match="nothing to back up"):
        back_up(path)
    desks.be(folder / "a", url=own_database())
    theirs = folder / ".desk-backup-of-mine"
    theirs.mkdir()
    for name in ("lock", "diary"):
        (theirs / name).write_text("mine")
    back_up(path)
    assert (theirs / "diary").read_text() == "mine"
    shutil.rmtree(theirs)
    content = path.read_bytes()
    with pytest.raises(Refused, match="there already"):
        back_up(path)
    assert path.read_bytes() == content
    assert not list(folder.glob(".desk-backup-*"))
    desks.be(folder / "b")
    with sole_use(folder / "b"), pytest.raises(Refused, match="Another copy is running"):
        restore(path)
    assert not (folder / "b" / "postgres").exists()


@pytest.mark.exhaustive("stops and starts engines of its own")
def test_a_running_desk_is_backed_up(folder: Path, desks: Desks) -> None:
    filled()
    path, again = folder / "a.backup", folder / "again.backup"
    desks.be(folder / "a", url=own_database())
    back_up(path)
    desks.be(folder / "b")
    restore(path)

    async def while_it_runs() -> None:
        with sole_use(folder / "b"):
            async with running_postgres(folder / "b"):
                await asyncio.to_thread(back_up, again)

    asyncio.run(while_it_runs())
    desks.be(folder / "c")
    restore(again)
    assert embedded_slugs(folder / "c") == ["backed-up"]


@pytest.mark.exhaustive("stops and starts engines of its own")
def test_a_dump_that_is_spoilt_leaves_the_desk_as_it_was(folder: Path, desks: Desks) -> None:
    filled()
    path, spoilt = folder / "a.backup", folder / "spoilt.backup"
    desks.be(folder / "a", url=own_database())
    back_up(path)
    desks.be(folder / "b")
    restore(path)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(spoilt, "w") as other:
        for name in archive.namelist():
            content = archive.read(name)
            other.writestr(name, content[: len(content) // 2] if name == backup.DUMP else content)
    with pytest.raises(ToolFailed, match="pg_restore"):
        restore(spoilt)
    assert embedded_slugs(folder / "b") == ["backed-up"]


def is_restoring(data: Path) -> bool:
    try:
        return "desk_restoring" in embedded_databases(data)
    except psycopg.OperationalError:
        return False


@pytest.fixture
def interrupted_restore(folder: Path, desks: Desks) -> Path:
    """A backup that was being restored into the desk on `folder`/b when its process was killed."""
    filled()
    path, data = folder / "a.backup", folder / "b"
    desks.be(folder / "a", url=own_database())
    back_up(path)
    desks.be(data)
    killed("restore", str(path), env=environment_of_a_desk(data), once=lambda: is_restoring(data))
    assert list(data.glob(".restore-*"))
    return path


@pytest.mark.exhaustive("stops and starts engines of its own")
def test_the_next_restore_removes_what_a_killed_one_left(folder: Path, interrupted_restore: Path) -> None:
    assert "is kept until the next restore" in restore(interrupted_restore)[1]
    assert not list((folder / "b").glob(".restore-*"))
    assert embedded_slugs(folder / "b") == ["backed-up"]


@pytest.mark.exhaustive("stops and starts engines of its own")
def test_so_does_the_next_start(folder: Path, interrupted_restore: Path) -> None:
    async def start() -> set[str]:
        async with running_postgres(folder / "b"):
            # The postgres of the killed one was waited for, and what it was making is there still.
            assert is_restoring(folder / "b")
            remove_interrupted_restore()
            return embedded_databases(folder / "b")

    assert asyncio.run(start()) == {"desk", "postgres"}
    assert not list((folder / "b").glob(".restore-*"))


@pytest.mark.exhaustive("starts a process to kill it")
def test_the_next_backup_removes_what_a_killed_one_left_and_nothing_of_a_living_one(folder: Path, desks: Desks) -> None:
    def under_way() -> list[Path]:
        return list(folder.glob(".desk-backup-*/desk.dump"))

    env = environment_of_a_desk(folder / "a", url=own_database())
    with psycopg.connect(own_database()) as hindrance:
        # pg_dump waits for this lock, so that both are in the middle of their work.
        hindrance.execute("LOCK TABLE reflection_app_project IN ACCESS EXCLUSIVE MODE")
        killed("backup", str(folder / "killed.backup"), env=env, once=lambda: bool(under_way()))
        [left] = under_way()
        living = subprocess.Popen([*MANAGE, "backup", str(folder / "living.backup")], env=env)
        wait_until(lambda: not left.exists() and bool(under_way()), process=living)
        [beside] = under_way()
        desks.be(folder / "a", url=own_database("postgres"))
        with pytest.raises(psycopg.errors.UndefinedTable):
            back_up(folder / "other.backup")
        assert under_way() == [beside]
    assert living.wait(PATIENCE_S) == 0
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["living.backup"]
    assert not list(folder.glob(".desk-backup-*"))


@pytest.mark.exhaustive("starts a process for every refusal")
def test_the_commands_tell_what_stands_in_the_way_in_one_line(folder: Path) -> None:
    for name in ("backup", "restore"):
        told = subprocess.run(
            [*MANAGE, name, str(folder / "x")],
            env=environment_of_a_desk(folder / "d"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (told.returncode, told.stderr.count("\n")) == (1, 1), told.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
def test_it_writes_nothing_outside_of_its_data_folder(folder: Path, empty_database: str) -> None:
    """As in the image, whose user may write nothing else, beside a server of one's own."""
    filled()
    data, temporary = folder / "data", folder / "tmp"
    data.mkdir()
    temporary.mkdir()
    [program, _], *_ = bwrap.candidates()
    writable = [argument for path in (data, temporary) for argument in ("--bind", str(path), str(path))]
    confined = (program, "--ro-bind", "/", "/", "--dev", "/dev", *writable, "--setenv", "TMPDIR", str(temporary))
    for command, url in (("backup", own_database()), ("restore", empty_database)):
        env = environment_of_a_desk(data, url=url) | {"PRODUCTION": "yes", "STATIC_DIR": str(settings.STATIC_ROOT)}
        subprocess.run([*confined, *MANAGE, command, str(data / "x.backup")], env=env, check=True)
    assert rows(empty_database, "auth_user") == rows(own_database(), "auth_user") != []
    assert {path.name for path in data.iterdir()} == {"x.backup", "lock"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "is no backup of a Reflection Desk"),
        ({"manifest.json": "{}", "desk.dump": ""}, "is no backup of a Reflection Desk"),
        ({"manifest.json": "[", "desk.dump": ""}, "cannot be read"),
        ({"manifest.json": "{}", "desk.dump": "", "../x": ""}, "is no backup of a Reflection Desk"),
        ({"manifest.json": '{"format": "reflection-desk-backup", "version": 2}', "desk.dump": ""}, "has the version 2"),
        (
            {
                "manifest.json": '{"format": "reflection-desk-backup", "version": 1, "migrations": ["a.9999_x"]}',
                "desk.dump": "",
            },
            "is of a newer desk",
        ),
        (
            {
                "manifest.json": '{"format": "reflection-desk-backup", "version": 1, '
                '"migrations": ["reflection_app.0012_broken_tests", "notebook_app.0005_screening_by_meaning"]}',
                "desk.dump": "",
            },
            "is of a desk older than reflection_app.0036_recurring_by_meaning",
        ),
    ],
)
def test_what_is_no_backup_is_refused(tmp_path: Path, content: dict[str, str], said: str) -> None:
    path = tmp_path / "x.backup"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    with pytest.raises(Unusable, match=said):
        backup.read(path, dump_to=tmp_path / "dump")


def test_a_file_that_is_not_there_or_no_zip_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path / "text"):
        (tmp_path / "text").write_text("no zip")
        with pytest.raises(Unusable, match="cannot be read"):
            backup.read(path, dump_to=tmp_path / "dump")
