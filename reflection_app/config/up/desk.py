"""The whole desk on one machine: the order in which `manage.py up` starts its parts, and stops them."""

import asyncio
import http.client
import os
import secrets
import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from django.conf import settings

from reflection_app.config import local_model
from reflection_app.config.services import socket_dir
from reflection_app.config.up import processes
from reflection_app.config.up.engines import (
    EmbeddedEngineError,
    postgres_is_ready,
    prepared_postgres,
    prepared_valkey,
    valkey_is_ready,
)
from reflection_app.config.up.preconditions import Refused, free_port, listening_socket, sole_use
from reflection_app.config.up.processes import Command, JointLog, Register, stop_orphans
from reflection_app.config.up.supervisor import NotStarted, Supervisor

# Where a browser on this machine finds the desk that `manage.py up` runs, noted for commands beside it.


def address() -> str:
    """The address by HOST and PORT, as a browser on this machine has to write it."""
    host = "127.0.0.1" if settings.HOST in {"0.0.0.0", "::"} else settings.HOST  # noqa: S104 - compared with
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.PORT}"


def note_address() -> None:
    """Keeps the address of the desk that is starting."""
    (settings.DATA_DIR / "address").write_text(address())


def next_commands() -> list[str]:
    """Return what a newcomer does next, with the commands for it."""
    own_model = ("LLM_MODEL=openai/gpt-5-mini OPENAI_API_KEY=… make run", "use your own model")
    tests = ("make test", "run the tests")
    commands = [
        ("docs/tutorial.md", "ten-minute tutorial"),
        ("make login-link", "new login link"),
        tests if settings.LLM_MODEL else own_model,
    ]
    width = max(len(command) for command, _ in commands)
    return ["", "Next:", *(f"  {command:<{width}}  {why}" for command, why in commands)]


def address_in_use() -> str:
    """The address of the desk that was started last on this data folder, else the one of the settings."""
    noted = settings.DATA_DIR / "address"
    return noted.read_text().strip() if noted.is_file() else address()


# Whether a web process answers: asked by `manage.py up` and by the image's health check, so Django is not imported.


def answers(address: str, *, timeout_s: float = 5) -> bool:
    """Whether `address` (host:port) answers requests, be it with a complaint about the host name."""
    client = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        client.request("GET", "/healthz")
        return client.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        client.close()


if __name__ == "__main__":
    sys.exit(0 if answers(f"127.0.0.1:{os.environ.get('PORT', '8000')}") else 1)


# How far a desk goes for a port where nobody said which: others may run on the same machine.
PORTS_TRIED = 100
ENGINES = {"valkey", "postgres"}
FORK_SERVERS = (processes.APP_WITH_MODELS, processes.APP)


@dataclass
class Desk:
    log: JointLog
    supervisor: Supervisor = field(init=False)
    login: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(log=self.log, register=Register(settings.DATA_DIR / "processes.json"))

    async def run(self) -> None:
        """Runs everything until SIGINT, SIGTERM or SIGHUP; nothing is left running when it returns or raises.

        Raises Refused, EmbeddedEngineError or NotStarted, each of which says why.
        """
        running = asyncio.create_task(self._start_and_wait())
        loop = asyncio.get_running_loop()
        for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(sign, self._on_signal, running)
        try:
            await running
        except asyncio.CancelledError:
            self.log.say("stopping; again to stop at once")
        finally:
            await self._stop()

    def _tell(self, line: str, *, after: Iterable[str] = ()) -> None:
        """Show `line`, the login and the lines after it in a box. The login of a first start is shown once."""
        self.log.box([line, *self.login, *after])
        self.login = []

    def _on_signal(self, running: asyncio.Task[None]) -> None:
        if self.supervisor.stopping:
            self.supervisor.kill(*self._application())
        running.cancel()

    async def _start_and_wait(self) -> None:
        for name in await stop_orphans(self.supervisor.register):
            self.log.say(f"stopped the {name} that an earlier copy left behind")
        # On PORT; where the environment names none, on the next one that is free.
        or_next = 0 if os.environ.get("PORT") else PORTS_TRIED
        with listening_socket(settings.HOST, port=settings.PORT, or_next=or_next) as listener:
            port = listener.getsockname()[1]
            if port != settings.PORT:
                self.log.say(f"port {settings.PORT} is in use; this desk takes {port}")
                settings.PORT = port
            if unused := processes.keys_without_model(os.environ):
                self.log.say(f"{', '.join(unused)} set, but not LLM_MODEL: no provider is used until it names a model")
            if ignored := processes.names_without_effect(os.environ):
                self.log.say(f"{', '.join(ignored)} set, without effect: every step is in the run's journal and page")
            shared, behind = self._plan()
            self._start_fork_servers(shared)
            if not (settings.REDIS_URL and settings.DATABASE_URL):
                with self.log.step("Engines"):
                    await self._start_engines()
            with self.log.step("Tables"):
                await self._prepare(processes.prepare(shared))
            await asyncio.gather(
                self._first_start(
                    processes.first_start(shared, address=address(), shows_password=self.log.stream.isatty())
                ),
                self._start_application(processes.web(shared, listener=listener.fileno()), behind=behind),
            )
            note_address()
            self._tell(f"Reflection Desk is running at {address()}", after=next_commands())
            await asyncio.Event().wait()

    async def _start_engines(self) -> None:
        sockets = socket_dir(settings.DATA_DIR)
        if not settings.REDIS_URL:
            self.supervisor.start(prepared_valkey(settings.DATA_DIR, sockets=sockets))
            await self.supervisor.wait_until(lambda _pid: valkey_is_ready(sockets), name="valkey")
        if not settings.DATABASE_URL:
            options = processes.options_of_postgres()
            self.supervisor.start(await prepared_postgres(settings.DATA_DIR, sockets=sockets, options=options))
            await self.supervisor.wait_until(lambda pid: postgres_is_ready(settings.DATA_DIR, pid=pid), name="postgres")

    def _plan(self) -> tuple[dict[str, str], list[Command]]:
        """Return the environment of every process, and the background processes: local model (if used) and workers."""
        key = secrets.token_urlsafe(24)
        port = 0
        if not settings.LLM_MODEL:
            if local_model.available():
                port = free_port()
            else:
                self.log.say("no local model for this platform: set LLM_MODEL, and its provider's key")
        shared = processes.shared_environment(local_model_url=f"http://127.0.0.1:{port}/v1" if port else "")
        model = [processes.local_model(shared, port=port, local_model_key=key)] if port else []
        return shared, [*model, *processes.workers(shared, local_model_key=key)]

    def _start_fork_servers(self, shared: dict[str, str]) -> None:
        # Elsewhere each process is started on its own: system libraries of macOS do not bear a fork.
        if sys.platform == "linux":
            for name in (processes.APP, processes.APP_WITH_MODELS):
                self.supervisor.start_fork_server(name, partial(processes.fork_server, name, shared))

    async def _prepare(self, command: Command) -> None:
        """Bring the database and the static files to this version. Raises NotStarted with the reason if that fails."""
        if processes.APP in self.supervisor.fork_servers:
            client, _ = self.supervisor.fork_servers[processes.APP]
            await self.supervisor.wait_until(lambda _pid: client.ready.is_set(), name=processes.APP)
        code, printed = await self.supervisor.run_once(command)
        if code:
            raise NotStarted("\n".join(printed) or "The database could not be prepared; the reason is above.")

    async def _start_application(self, web: list[Command], *, behind: list[Command]) -> None:
        # One after the other: on two cores they would slow each other down, and the page is what a person waits for.
        first, *others = web
        with self.log.step("Web"):
            self.supervisor.start(first)
            # The socket listens from the start, so this waits for the process; on a slow machine that takes its time.
            here = address().removeprefix("http://")
            await self.supervisor.wait_until(lambda _pid: answers(here, timeout_s=300), name=first.name)
        with self.log.step("Workers"):
            for command in (*behind, *others):
                self.supervisor.start(command)
            await self.supervisor.wait_until(lambda _pid: self._worker_is_ready(), name=processes.WORKER)

    def _worker_is_ready(self) -> bool:
        """Return True once the first worker printed that it takes tasks (runs/jobs.py)."""
        return any(line.endswith(processes.READY) for line in list(self.log.last_lines.get(processes.WORKER, ())))

    async def _first_start(self, command: Command) -> None:
        # A data folder without a noted address has not been up before.
        is_first = not (settings.DATA_DIR / "address").is_file()
        with self.log.step("Demo" if is_first and not settings.PRODUCTION else "Login"):
            code, self.login = await self.supervisor.run_once(command)
        if code:
            for line in self.login:
                self.log.say(line, name=command.name)
            raise NotStarted("The first start could not be finished; its own words are above.")

    def _application(self) -> set[str]:
        return self.supervisor.keepers.keys() - ENGINES

    async def _stop(self) -> None:
        if self.login:
            self._tell("The desk did not come up. This will be the login when it does:")
        # What uses the engines goes first, and the truth last.
        await self.supervisor.stop(*self._application() - set(FORK_SERVERS))
        for name in FORK_SERVERS:
            await self.supervisor.stop(name)
        await self.supervisor.stop("valkey")
        await self.supervisor.stop("postgres")
        self.supervisor.register.clear()
        self.log.say("stopped")


def run_desk() -> None:
    """Run the whole desk until it is stopped. Exits with the reason if it cannot start."""
    try:
        with sole_use(settings.DATA_DIR):
            asyncio.run(Desk(log=JointLog(sys.stdout, folder=settings.DATA_DIR / "logs")).run())
    except (Refused, EmbeddedEngineError, NotStarted) as problem:
        sys.exit(str(problem))
