"""What has to hold before `manage.py up` starts anything; each refusal is one line."""

import errno
import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LAST_PORT = 65_535


class Refused(Exception):
    """`up` cannot start; the message says what stands in the way and what to do."""


@contextmanager
def sole_use(data_dir: Path) -> Iterator[None]:
    """While inside, no other `up` uses the data folder. Raises Refused where one does. The lock ends with us."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                f"Another copy is running on the data folder {data_dir}. "
                "Stop it, or give this one its own REFLECTION_DATA_DIR and PORT."
            ) from None
        yield


def listening_socket(host: str, *, port: int, or_next: int = 0) -> socket.socket:
    """A socket that listens on `host`:`port`, or on the first free one of the `or_next` ports after it.

    Raises Refused with the reason where it cannot be had. Held by `up` and handed to the web process, so that no
    other desk can take the port between a look at it and the start, and who comes while the web restarts is kept.
    """
    if not 1 <= port <= LAST_PORT:
        raise Refused(f"PORT={port} is no port: choose one from 1 to {LAST_PORT}.")
    for candidate in range(port, min(port + or_next, LAST_PORT) + 1):
        try:
            family, kind, _, _, address = socket.getaddrinfo(host, candidate, type=socket.SOCK_STREAM)[0]
            listener = socket.socket(family, kind)
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(address)
                listener.listen(128)
            except OSError:
                listener.close()
                raise
            return listener
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise Refused(f"Cannot listen on {host}:{port}: {problem.strerror}. Check HOST and PORT.") from None
    raise Refused(f"Port {port} is in use. Choose another, for example: PORT={port + 1} make run")


def free_port() -> int:
    """A port of the loopback address that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
