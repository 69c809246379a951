"""Processes that are forked from one with the application's code, and what the supervisor notices of them."""

import asyncio
import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from django.conf import settings

from reflection_app.config.up.processes import FORK_SERVER, Command, JointLog, Register
from reflection_app.config.up.supervisor import NotStarted, Supervisor
from tests.pace import PATIENCE_S

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each process is started on its own"),
]
SHOWS = """
import os, sys, time
print("started", sys.argv[1:], os.environ.get("GIVEN"), os.getcwd(), os.getsid(0) == os.getpid(), flush=True)
"""
WAITS = SHOWS + "time.sleep(600)"
GENTLE = (
    SHOWS
    + """
import signal
def stop(*_):
    time.sleep(0.3)
    print("ended gently", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("listens", flush=True)
time.sleep(600)
"""
)
FAILS = "import sys; print('no such thing', flush=True); sys.exit(7)"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Supervisor]:
    """A supervisor with a running fork server that has imported nothing."""
    monkeypatch.setattr("reflection_app.config.up.supervisor.FIRST_DELAY_S", 0.05)
    supervisor = Supervisor(log=JointLog(io.StringIO()), register=Register(tmp_path / "processes.json"))
    start(supervisor)
    yield supervisor
    await supervisor.stop(*supervisor.keepers.keys() - supervisor.fork_servers.keys())
    for name in reversed(list(supervisor.fork_servers)):
        await supervisor.stop(name)


def start(supervisor: Supervisor, name: str = "parent", *preloaded: str, forked_from: str = "") -> None:
    def command(channel: int) -> Command:
        argv = (sys.executable, "-m", FORK_SERVER, str(channel), *preloaded)
        environment = dict(os.environ) | {"PYTHONUNBUFFERED": "1"}
        options = {"cwd": Path(settings.BASE_DIR), "pass_fds": (channel,), "forked_from": forked_from}
        return Command(name=name, argv=argv, env=environment, **options)  # type: ignore[arg-type]

    supervisor.start_fork_server(name, command)


def script(folder: Path, code: str, *, name: str = "child", parent: str = "parent", **options: object) -> Command:
    file = folder / f"{name}.py"
    file.write_text(code)
    given = {"GIVEN": f"for {name}"}
    argv = (sys.executable, str(file), "one", "two")
    return Command(name=name, argv=argv, env=given, cwd=folder, forked_from=parent, **options)  # type: ignore[arg-type]


def said(supervisor: Supervisor) -> str:
    assert isinstance(supervisor.log.stream, io.StringIO)
    return supervisor.log.stream.getvalue()


async def until(holds: Callable[[], bool], supervisor: Supervisor) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, said(supervisor)
        await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_forked_process_has_its_own_command_line_environment_folder_and_session(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.start(script(tmp_path, WAITS))
    await until(lambda: f"started ['one', 'two'] for child {tmp_path} True" in said(supervisor), supervisor)
    pid = supervisor.running["child"].pid
    parent = supervisor.running["parent"].pid
    stat = Path(f"/proc/{pid}/stat").read_text()
    assert stat.rpartition(")")[2].split()[1] == str(parent)
    assert "(desk-child)" in stat
    # What a later start finds the process by is what the kernel shows of it.
    _, arguments, _ = supervisor.register.left_behind()["child"]
    assert Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip().endswith(arguments)


async def test_a_forked_process_that_dies_is_started_again(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(script(tmp_path, WAITS))
    await until(lambda: said(supervisor).count("started") == 1, supervisor)
    first = supervisor.running["child"].pid
    os.kill(first, signal.SIGKILL)
    await until(lambda: said(supervisor).count("started") == 2, supervisor)
    assert supervisor.running["child"].pid != first
    assert "child ended (killed by SIGKILL); starting it again" in said(supervisor)


async def test_stopping_a_forked_process_waits_for_its_gentle_end(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(script(tmp_path, GENTLE))
    await until(lambda: "listens" in said(supervisor), supervisor)
    await supervisor.stop("child")
    assert "ended gently" in said(supervisor)
    assert supervisor.running["child"].returncode == 0


async def test_a_fork_server_passes_sigterm_on_and_ends_after_its_children(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.start(script(tmp_path, GENTLE))
    await until(lambda: "listens" in said(supervisor), supervisor)
    os.kill(supervisor.running["parent"].pid, signal.SIGTERM)
    await until(lambda: said(supervisor).count("listens") == 2, supervisor)
    assert said(supervisor).index("ended gently") < said(supervisor).index("parent ended (exit code 0)")


async def test_children_of_a_killed_fork_server_die_with_it_and_all_are_started_again(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    start(supervisor, "second", forked_from="parent")
    supervisor.start(script(tmp_path, WAITS, parent="second"))
    await until(lambda: said(supervisor).count("started") == 1, supervisor)
    before = [supervisor.running[name].pid for name in ("parent", "second", "child")]
    os.kill(before[0], signal.SIGKILL)
    await until(lambda: said(supervisor).count("started") == 2, supervisor)
    await until(lambda: not any(map(is_alive, before)), supervisor)
    assert [supervisor.running[name].returncode for name in ("parent", "second", "child")] == [None] * 3


async def test_a_process_that_runs_once_gives_its_code_and_lines(supervisor: Supervisor, tmp_path: Path) -> None:
    errors = "import sys; print('beside', file=sys.stderr, flush=True); "
    assert await supervisor.run_once(script(tmp_path, errors + FAILS)) == (7, ["no such thing"])
    assert "beside" in said(supervisor)
    assert "no such thing" not in said(supervisor)


async def test_a_fork_server_that_cannot_import_is_not_waited_for(supervisor: Supervisor) -> None:
    start(supervisor, "broken", "no_such_module")
    with pytest.raises(NotStarted, match="No module named 'no_such_module'"):
        await supervisor.wait_until(lambda _pid: False, name="broken")


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "thread"),
        ("import socket\nkept = socket.socket()", "socket:"),
        ("import asyncio\nkept = asyncio.new_event_loop()", "anon_inode:"),
    ],
    ids=["thread", "socket", "event loop"],
)
async def test_it_refuses_to_fork_what_processes_must_not_share(code: str, refused: str, tmp_path: Path) -> None:
    (tmp_path / "unfit.py").write_text(code)
    argv = (sys.executable, "-m", FORK_SERVER, "0", "unfit")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(settings.BASE_DIR), str(tmp_path)))}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ended = subprocess.run(
            argv, env=environment, capture_output=True, text=True, check=False, stdin=theirs.fileno()
        )
    assert ended.returncode == 1
    assert "RuntimeError" in ended.stderr
    assert refused in ended.stderr


async def test_forked_processes_have_leases_and_database_sessions_of_their_own() -> None:
    code = (
        "import django, os; django.setup()\n"
        "from django.conf import settings\n"
        "from reflection_app.runs import lease\n"
        "def told(): return lease.PROCESS.hex(), settings.DATABASES['default']['OPTIONS']['application_name']\n"
        "print(os.getpid(), *told(), flush=True)\n"
        "if os.fork() == 0: print(os.getpid(), *told(), flush=True); os._exit(0)\n"
        "os.wait()\n"
    )
    environment = os.environ | {"DATABASE_POOL_SIZE": "2", "DJANGO_SETTINGS_MODULE": "reflection_app.config.settings"}
    argv = (sys.executable, "-c", code)
    ran = subprocess.run(argv, env=environment, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True)
    parent, child = (line.split() for line in ran.stdout.splitlines())
    assert parent[1] != child[1]
    for pid, _process, *name in (parent, child):
        assert name[:2] == ["reflection-desk", pid]
