"""A process that imports the application once and forks the other processes from it, which share its memory.

The supervisor asks for each process over a socket (`fork_client.py`); a forked process then runs its own command line,
`python -m …`, with nearly all modules imported. Linux only: elsewhere a fork without exec is unsafe.

python -m reflection_app.config.up.fork_server DESCRIPTOR MODULE[:FUNCTION]…
"""

import ctypes
import fcntl
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
# A request carries the environment; the kernel takes about 200 KB in one message.
LONGEST_MESSAGE = 1 << 18
MOST_DESCRIPTORS = 8
# Descriptors of a request wait above all others, since their final numbers may be taken by one another.
ABOVE_ALL = 500
HANDLED = (signal.SIGTERM, signal.SIGCHLD)
# A process without memory or process ids to spare has more a moment later.
TRIES, PAUSE_S = 5, 0.5

libc = ctypes.CDLL(None)


class ForkServer:
    """Forks on request, reports what ended, and ends after its children on SIGTERM, which it passes on."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.children: set[int] = set()
        self.is_stopping = False

    def serve(self) -> dict[str, Any] | None:
        """Return the request in a forked process; return None in the server once it was stopped."""
        woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.channel.send(json.dumps({"ready": os.getpid()}).encode())
        channel = self.channel.fileno()
        while self.children or not self.is_stopping:
            readable, _, _ = select.select([channel, woken], [], [])
            if woken in readable:
                os.read(woken, 4096)
                self._report_ended()
            if channel in readable and (request := self._fork()) is not None:
                signal.set_wakeup_fd(-1)
                for descriptor in (woken, wakes):
                    os.close(descriptor)
                _take_place(request)
                return request
        return None

    def _stop(self, *_: object) -> None:
        self.is_stopping = True
        for pid in self.children:
            # A child that ended a moment ago keeps its number until it is waited for.
            os.kill(pid, signal.SIGTERM)

    def _report_ended(self) -> None:
        while self.children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self.children.discard(pid)
            self.channel.send(json.dumps({"ended": pid, "code": os.waitstatus_to_exitcode(status)}).encode())

    def _fork(self) -> dict[str, Any] | None:
        """Return the request in the child and None in the server."""
        message, descriptors, _, _ = socket.recv_fds(self.channel, LONGEST_MESSAGE, MOST_DESCRIPTORS)
        if not message:
            # The supervisor is gone; PR_SET_PDEATHSIG ends the children with this process.
            sys.exit(1)
        request: dict[str, Any] = json.loads(message)
        # A signal between the fork and the child's own handlers would be lost in this server's.
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
        server = os.getpid()
        pid = _fork_patiently()
        if pid:
            self.children.add(pid)
        else:
            for sign in HANDLED:
                signal.signal(sign, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
        if not pid:
            self.channel.close()
            return request | {"descriptors": descriptors, "server": server}
        for descriptor in descriptors:
            os.close(descriptor)
        self.channel.send(json.dumps({"forked": request["name"], "pid": pid}).encode())
        return None


def _fork_patiently() -> int:
    for _ in range(TRIES):
        with suppress(BlockingIOError, MemoryError):
            return os.fork()
        time.sleep(PAUSE_S)
    return os.fork()


def _take_place(request: dict[str, Any]) -> None:
    """Make this forked process what the request describes, up to its command line."""
    libc.prctl(PR_SET_PDEATHSIG, int(request["orphan_signal"]))
    if os.getppid() != request["server"]:
        os._exit(1)
    libc.prctl(PR_SET_NAME, f"desk-{request['name']}".encode()[:15])
    os.setsid()
    if request["nice"]:
        os.nice(request["nice"])
    waiting = []
    for descriptor in request["descriptors"]:
        waiting.append(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, ABOVE_ALL))
        os.close(descriptor)
    waiting.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    for descriptor, number in zip(waiting, [*request["numbers"], 0], strict=True):
        if number > 2 and _is_open(number):
            raise RuntimeError(f"descriptor {number} is in use")
        os.dup2(descriptor, number, inheritable=True)
        os.close(descriptor)
    os.chdir(request["cwd"])
    # Updated, not replaced: importing the settings and NumPy may have set variables that all processes need.
    os.environ.update(request["env"])


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def run(argv: list[str]) -> NoReturn:
    """Run a command line of this interpreter, `-m MODULE …` or `FILE …`, and exit as it does."""
    if argv[0] == "-m":
        sys.argv = argv[1:]
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = argv
        sys.path.insert(0, os.path.dirname(argv[0]))  # noqa: PTH120 - as the interpreter does
        runpy.run_path(argv[0], run_name="__main__")
    sys.exit(0)


def preload(targets: list[str]) -> None:
    """Import the modules and call the functions. Raises RuntimeError if that left what a fork must not share."""
    for target in targets:
        module, _, function = target.partition(":")
        imported = import_module(module)
        if function:
            getattr(imported, function)()
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - the number alone
        raise RuntimeError("Importing the application started a thread, which a fork would not copy.")


def shared_connections(*, allowed: set[int]) -> list[str]:
    """Return the open sockets and event queues, which several processes must not share."""
    found = []
    for entry in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{entry}")  # noqa: PTH115
            if int(entry) not in {0, 1, 2, *allowed} and target.startswith(("socket:", "anon_inode:")):
                found.append(target)
    return found


def main() -> None:
    """Serve until SIGTERM."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    preload(sys.argv[2:])
    if found := shared_connections(allowed={channel.fileno()}):
        raise RuntimeError(f"Importing the application opened {', '.join(found)}, which forked processes would share.")
    # A collection would otherwise write to every object, and so copy every page.
    gc.collect()
    gc.freeze()
    request = ForkServer(channel).serve()
    if request is not None:
        run(request["argv"])


if __name__ == "__main__":
    main()
