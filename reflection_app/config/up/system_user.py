"""What running PostgreSQL as root needs: it refuses to be root, so it gets a user of its own and a way to its files."""

import os
import pwd
import shutil
import stat
from pathlib import Path

from reflection_app.config.up.errors import EmbeddedEngineError
from reflection_app.config.up.processes import Command, output_of

NAME = "pgserver"


async def database_user() -> str | None:
    """The system user that runs PostgreSQL, made if it is missing; None where we are not root and it is ourselves.

    Raises EmbeddedEngineError where it cannot be made.
    """
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(NAME)
    except KeyError:
        await _add_user()
    return NAME


async def _add_user() -> None:
    useradd = shutil.which("useradd", path=os.defpath + ":/usr/sbin:/sbin")
    if useradd is None:
        raise EmbeddedEngineError(
            f"PostgreSQL cannot run as root and there is no useradd to make the user {NAME!r}: "
            "run as an ordinary user, or set DATABASE_URL."
        )
    code, printed = await output_of(Command(name="useradd", argv=(useradd, "--system", "-s", "/bin/sh", NAME)))
    if code:
        raise EmbeddedEngineError(f"The user {NAME!r} for PostgreSQL could not be made ({printed.strip()}).")


def private_folder(path: Path, *, user: str | None) -> None:
    """`path` is a folder that only its owner (`user`, else ourselves) may enter.

    Raises EmbeddedEngineError where something that is not ours stands there: in /tmp anybody can come first.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = pwd.getpwnam(user).pw_uid if user else os.geteuid()
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {os.geteuid(), wanted}:
        raise EmbeddedEngineError(f"{path} belongs to somebody else; remove it, or move REFLECTION_DATA_DIR.")
    path.chmod(0o700)
    if user:
        os.chown(path, wanted, pwd.getpwnam(user).pw_gid)


def make_passable(path: Path) -> list[Path]:
    """The folders above `path` that were closed to other users: they may now be passed through, though not listed."""
    opened = []
    for folder in path.absolute().parents:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:
            folder.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
            opened.append(folder)
    return opened


def make_readable(tree: Path) -> None:
    """Other users can read `tree` and run what its owner can: an installation under a strict umask may forbid it."""
    if tree.stat().st_mode & stat.S_IROTH:
        return
    for path in (tree, *tree.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0))
