"""Keeps the processes of `manage.py up` or of a web container running.

It starts them, says what they say, restarts them, and stops them.
"""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from reflection_app.config.up.fork_client import ForkClient, ForkedProcess
from reflection_app.config.up.processes import Command, JointLog, Process, Register, send, start_options, stop

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
STEADY_AFTER_S = 60.0
DEATHS_BEFORE_READY = 3
SAY_WAITING_EVERY_S = 15.0
ACTIVITIES = {
    "app": "Loading the application",
    "first": "Loading sample data",
    "prepare": "Preparing the database",
}


class NotStarted(Exception):
    """A process that the rest needs did not come up."""


@dataclass
class Supervisor:
    log: JointLog
    register: Register
    # Of one process, each soon after the one before; then it is given up. None: it is tried for ever.
    most_deaths_in_a_row: int | None = None
    stopping: bool = False
    running: dict[str, Process] = field(default_factory=dict)
    keepers: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)
    fork_servers: dict[str, tuple[ForkClient, Command]] = field(default_factory=dict)

    def start_fork_server(self, name: str, command: Callable[[int], Command]) -> None:
        """Start the fork server that `command` describes, given the number of its socket's descriptor.

        Until it is ready, the processes that are forked from it wait.
        """
        client = ForkClient.open()
        self.fork_servers[name] = (client, command(client.theirs.fileno()))
        self.start(self.fork_servers[name][1])

    def start(self, command: Command) -> None:
        """The process is started, and started again whenever it ends, until it is stopped."""
        self.keepers[command.name] = asyncio.create_task(self._keep(command))

    async def wait_until(self, ready: Callable[[int], bool], *, name: str) -> None:
        """Returns once `ready` is true of the process's id. A process that lives is waited for, however long it takes.

        Raises NotStarted, with the process's last lines, where it keeps dying instead.
        """
        async with self.saying_who_is_waited_for(name):
            while True:
                process = self.running.get(name)
                if process and process.returncode is None and await _true_while_it_lives(ready, process):
                    return
                if self.deaths[name] >= DEATHS_BEFORE_READY:
                    raise NotStarted(self._last_words(name))
                await asyncio.sleep(0.03)

    @asynccontextmanager
    async def saying_who_is_waited_for(self, name: str) -> AsyncIterator[None]:
        """Log every 15 s what is under way, for how many seconds, and the process's log file."""
        began = time.monotonic()

        async def say() -> None:
            while True:
                await asyncio.sleep(SAY_WAITING_EVERY_S)
                file = self.log.file_of(name)
                where = f" (log: {file})" if file and file.exists() else ""
                what = ACTIVITIES.get(name, f"Starting {name}")
                self.log.say(f"{what}… {time.monotonic() - began:.0f} s{where}")

        saying = asyncio.create_task(say())
        try:
            yield
        finally:
            saying.cancel()

    async def until_one_is_given_up(self) -> None:
        """Raises NotStarted then, with that process's last lines; the others run on until they are stopped."""
        # Not gather(): cancelled, it would cancel the keepers, and stop() once more while they end their processes.
        given_up, _ = await asyncio.wait(self.keepers.values(), return_when=asyncio.FIRST_COMPLETED)
        for keeper in given_up:
            keeper.result()

    def _last_words(self, name: str) -> str:
        lines = self.log.last_lines.get(name)
        if not lines:
            return f"{name} does not start, and said nothing."
        return "\n".join([f"{name} does not start. Its last lines:", *(f"  {line}" for line in lines)])

    async def stop(self, *names: str) -> None:
        """These processes have ended, all asked at once; those that were never started are passed over."""
        self.stopping = True
        keepers = [self.keepers[name] for name in names if name in self.keepers]
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        for name in self.fork_servers.keys() & set(names):
            client, _ = self.fork_servers.pop(name)
            client.close()

    def kill(self, *names: str) -> None:
        """These processes, and what they started, end at once."""
        for name in names:
            if name in self.running:
                send(self.running[name], sign=signal.SIGKILL, group=True)

    async def run_once(self, command: Command) -> tuple[int, list[str]]:
        """The exit code and the lines of standard output; what goes to standard error is said at once."""
        async with self.saying_who_is_waited_for(command.name):
            process = await self._begin(command, separate_errors=True)
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                printed, _ = await asyncio.gather(
                    process.stdout.read(), self.log.forward(process.stderr, name=command.name)
                )
                return await process.wait(), printed.decode(errors="replace").splitlines()
            except asyncio.CancelledError:
                await stop(process, command=command)
                raise

    async def _begin(
        self, command: Command, *, separate_errors: bool = False
    ) -> asyncio.subprocess.Process | ForkedProcess:
        if command.forked_from in self.fork_servers:
            client, _ = self.fork_servers[command.forked_from]
            return await client.fork(command, separate_errors=separate_errors)
        return await asyncio.create_subprocess_exec(
            *command.argv,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if separate_errors else asyncio.subprocess.STDOUT,
            **start_options(command),
        )

    def _root(self, command: Command) -> Command:
        """The command whose command line the process shows: a forked one has that of the first fork server."""
        while command.forked_from in self.fork_servers:
            command = self.fork_servers[command.forked_from][1]
        return command

    async def _keep(self, command: Command) -> None:
        """Runs the command until it is given up. Cancelled, it ends the process in the command's own way first."""
        delay, in_a_row = FIRST_DELAY_S, 0
        while True:
            started = time.monotonic()
            code = await self._run(command)
            self.deaths[command.name] += 1
            if time.monotonic() - started > STEADY_AFTER_S:
                delay, in_a_row = FIRST_DELAY_S, 0
            in_a_row += 1
            if in_a_row == self.most_deaths_in_a_row:
                raise NotStarted(self._last_words(command.name))
            self.log.say(f"{command.name} ended ({describe(code)}); starting it again in {delay:g} s")
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST_DELAY_S)

    async def _run(self, command: Command) -> int:
        client = self.fork_servers[command.name][0] if command.name in self.fork_servers else None
        if client:
            client.listen()
        try:
            process = await self._begin(command)
            self.running[command.name] = process
            self.register.note(command, pid=process.pid, root=self._root(command))
            assert process.stdout is not None
            forwarding = asyncio.create_task(self.log.forward(process.stdout, name=command.name))
            try:
                return await process.wait()
            except asyncio.CancelledError:
                await stop(process, command=command)
                raise
            finally:
                # A grandchild may hold the pipe open; what the process itself said is through by then.
                await asyncio.wait([forwarding], timeout=1)
                forwarding.cancel()
        finally:
            if client:
                client.forget()


async def _true_while_it_lives(ready: Callable[[int], bool], process: Process) -> bool:
    """Whether `ready` is true of the process; false as soon as that has ended, however long the question may take."""
    asked = asyncio.create_task(asyncio.to_thread(ready, process.pid))
    ended = asyncio.create_task(process.wait())
    try:
        await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
        return asked.done() and asked.result()
    finally:
        ended.cancel()


def describe(code: int) -> str:
    """An exit code in words: negative ones are signals."""
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
