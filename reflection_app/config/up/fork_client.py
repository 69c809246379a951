"""The supervisor's end of a fork server (`fork_server.py`): asks it for processes and hears how they end."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from reflection_app.config.up.processes import Command

LONGEST_MESSAGE = 4096
# A process's id, and its exit code once there is one.
Started = tuple[int, asyncio.Future[int]]


class ForkServerEnded(Exception):
    """The fork server ended before it answered."""


@dataclass
class ForkedProcess:
    """A forked process, with what the supervisor uses of asyncio's own kind."""

    pid: int
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader | None
    ended: asyncio.Future[int]

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self.ended.result() if self.ended.done() else None

    async def wait(self) -> int:
        """Return the exit code once the process has ended."""
        return await asyncio.shield(self.ended)

    def send_signal(self, sign: int) -> None:
        """Send the signal, unless the process has ended."""
        if not self.ended.done():
            os.kill(self.pid, sign)


@dataclass
class ForkClient:
    """Requests to one fork server. The socket outlives the server, which may be restarted."""

    ours: socket.socket
    theirs: socket.socket
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    asked: dict[str, asyncio.Future[Started]] = field(default_factory=dict)
    running: dict[int, asyncio.Future[int]] = field(default_factory=dict)

    @classmethod
    def open(cls) -> "ForkClient":
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        return cls(ours, theirs)

    def listen(self) -> None:
        """Begin to hear a server that is about to start."""
        asyncio.get_running_loop().add_reader(self.ours, self._hear)

    def close(self) -> None:
        self.forget()
        self.ours.close()
        self.theirs.close()

    def forget(self) -> None:
        """The server has ended, and the kernel ends its children: requests fail, and processes count as killed."""
        asyncio.get_running_loop().remove_reader(self.ours)
        self.ready.clear()
        # What it reported last still counts.
        for message in _waiting(self.ours):
            self._read(message)
        self.ready.clear()
        self.theirs.setblocking(False)
        for _ in _waiting(self.theirs):
            pass
        self.theirs.setblocking(True)
        for answer in self.asked.values():
            if not answer.done():
                answer.set_exception(ForkServerEnded())
        for ended in self.running.values():
            ended.set_result(-signal.SIGKILL)
        self.asked.clear()
        self.running.clear()

    async def fork(self, command: Command, *, separate_errors: bool = False) -> ForkedProcess:
        """Return the process, once there is a server. Its errors go to its output unless `separate_errors` is set."""
        while True:
            await self.ready.wait()
            with suppress(ForkServerEnded):
                return await self._fork(command, separate_errors=separate_errors)

    async def _fork(self, command: Command, *, separate_errors: bool) -> ForkedProcess:
        output, errors = os.pipe(), os.pipe() if separate_errors else None
        written = [output[1], (errors or output)[1]]
        request = {
            "name": command.name,
            "argv": command.argv[1:],
            "env": dict(command.env),
            "cwd": str(command.cwd),
            "nice": command.nice,
            "orphan_signal": int(command.orphan_signal),
            "numbers": [1, 2, *command.pass_fds],
        }
        answer = self.asked[command.name] = asyncio.get_running_loop().create_future()
        read = [os.fdopen(pipe[0], "rb", buffering=0) for pipe in (output, errors) if pipe]
        try:
            self._send(json.dumps(request).encode(), [*written, *command.pass_fds])
            pid, ended = await answer
        except BaseException:
            for file in read:
                file.close()
            raise
        finally:
            for descriptor in set(written):
                os.close(descriptor)
        loop = asyncio.get_running_loop()
        readers = [asyncio.StreamReader() for _ in read]
        for file, reader in zip(read, readers, strict=True):
            await loop.connect_read_pipe(lambda reader=reader: asyncio.StreamReaderProtocol(reader), file)  # type: ignore[misc]
        return ForkedProcess(pid, readers[0], readers[1] if errors else None, ended)

    def _send(self, message: bytes, descriptors: list[int]) -> None:
        # The server answers each request at once, so that the socket has room.
        self.ours.setblocking(True)
        try:
            socket.send_fds(self.ours, [message], descriptors)
        finally:
            self.ours.setblocking(False)

    def _hear(self) -> None:
        for message in _waiting(self.ours):
            self._read(message)

    def _read(self, message: bytes) -> None:
        told = json.loads(message)
        if "ready" in told:
            self.ready.set()
        elif "forked" in told:
            ended = self.running[told["pid"]] = asyncio.get_running_loop().create_future()
            answer = self.asked.pop(told["forked"], None)
            # A supervisor that is stopping no longer waits for it; the server ends what it has forked.
            if answer and not answer.done():
                answer.set_result((told["pid"], ended))
        else:
            self.running.pop(told["ended"]).set_result(told["code"])


def _waiting(end: socket.socket) -> Iterator[bytes]:
    with suppress(BlockingIOError):
        while message := end.recv(LONGEST_MESSAGE):
            yield message
