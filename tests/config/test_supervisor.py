import asyncio
import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reflection_app.config.up.processes import Command, JointLog, Register, stop_orphans
from reflection_app.config.up.supervisor import NotStarted, Supervisor
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def supervisor(tmp_path: Path) -> Supervisor:
    return Supervisor(log=JointLog(io.StringIO()), register=Register(tmp_path / "processes.json"))


def python(code: str, *, name: str = "child", patience_s: float = 5) -> Command:
    return Command(name=name, argv=(sys.executable, "-c", code), env=dict(os.environ), patience_s=patience_s)


def said(supervisor: Supervisor) -> str:
    assert isinstance(supervisor.log.stream, io.StringIO)
    return supervisor.log.stream.getvalue()


async def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


WAITS = "import time; print('ready', flush=True); time.sleep(60)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + WAITS


async def test_a_process_that_dies_is_started_again_and_that_is_said(supervisor: Supervisor) -> None:
    supervisor.start(python(WAITS))
    await until(lambda: "ready" in said(supervisor))
    first = supervisor.running["child"].pid
    os.kill(first, signal.SIGKILL)
    await until(lambda: said(supervisor).count("ready") == 2)
    assert supervisor.running["child"].pid != first
    await supervisor.stop("child")

    assert "child ended (killed by SIGKILL); starting it again in 0.5 s" in said(supervisor)


async def test_stopping_ends_a_process_for_good(supervisor: Supervisor) -> None:
    supervisor.start(python(WAITS))
    await until(lambda: "ready" in said(supervisor))
    await supervisor.stop("child", "never started")

    assert supervisor.running["child"].returncode == -signal.SIGTERM
    assert "starting it again" not in said(supervisor)


async def test_a_process_that_does_not_listen_is_killed_when_patience_ends(supervisor: Supervisor) -> None:
    supervisor.start(python(DEAF, patience_s=0.2))
    await until(lambda: "ready" in said(supervisor))
    await supervisor.stop("child")

    assert supervisor.running["child"].returncode == -signal.SIGKILL


async def test_a_process_that_keeps_dying_before_it_is_ready_is_not_waited_for(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reflection_app.config.up.supervisor.FIRST_DELAY_S", 0.01)
    supervisor.start(python("print('no such thing'); raise SystemExit(7)"))
    try:
        with pytest.raises(NotStarted, match=r"child does not start. Its last lines:\n  no such thing"):
            await supervisor.wait_until(lambda _pid: False, name="child")
    finally:
        await supervisor.stop("child")

    assert "child ended (exit code 7)" in said(supervisor)


async def test_a_process_that_lives_is_waited_for_and_now_and_then_it_is_said_for_whom_and_where_its_log_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reflection_app.config.up.supervisor.SAY_WAITING_EVERY_S", 0.05)
    log = JointLog(io.StringIO(), folder=tmp_path / "logs")
    supervisor = Supervisor(log=log, register=Register(tmp_path / "processes.json"))
    # However many seconds a busy machine takes.
    line = re.compile(rf"Starting child… \d+ s \(log: {tmp_path}/logs/child.log\)")
    supervisor.start(python(WAITS))
    await supervisor.wait_until(lambda _pid: len(line.findall(said(supervisor))) >= 2, name="child")
    told = len(line.findall(said(supervisor)))
    await until(lambda: "ready" in said(supervisor))
    await asyncio.sleep(0.15)
    assert len(line.findall(said(supervisor))) == told, "whoever is no longer waited for is not spoken of"
    await supervisor.stop("child")

    assert (tmp_path / "logs" / "child.log").read_text() == "ready\n"


async def test_a_process_that_ends_while_it_is_asked_is_not_waited_for(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reflection_app.config.up.supervisor.FIRST_DELAY_S", 0.01)
    answer = threading.Event()
    supervisor.start(python("import time; time.sleep(0.1); raise SystemExit(7)"))
    try:
        with pytest.raises(NotStarted, match="child does not start, and said nothing"):
            await supervisor.wait_until(lambda _pid: answer.wait(PATIENCE_S), name="child")
    finally:
        answer.set()
        await supervisor.stop("child")


async def test_a_log_file_begins_anew_before_it_grows_without_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reflection_app.config.up.processes.LARGEST_FILE", 1000)
    log = JointLog(io.StringIO(), folder=tmp_path)
    supervisor = Supervisor(log=log, register=Register(tmp_path / "processes.json"))
    assert await supervisor.run_once(python("import sys; [print('x' * 99, file=sys.stderr) for _ in range(95)]")) == (
        0,
        [],
    )

    assert sorted(file.name for file in tmp_path.glob("*.log*")) == ["child.log", "child.log.1"]
    assert all(file.stat().st_size <= 1000 for file in tmp_path.glob("*.log*"))


async def test_what_processes_say_stands_in_one_log_after_their_names(supervisor: Supervisor) -> None:
    supervisor.start(python("print('x' * 200_000); print('äö'); " + WAITS, name="web"))
    await until(lambda: "ready" in said(supervisor))
    await supervisor.stop("web")

    assert said(supervisor).splitlines()[:3] == [f"web      | {'x' * 200_000}", "web      | äö", "web      | ready"]


async def test_who_keeps_dying_is_given_up_where_that_is_asked_for(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reflection_app.config.up.supervisor.FIRST_DELAY_S", 0.01)
    supervisor.most_deaths_in_a_row = 3
    supervisor.start(python(WAITS, name="other"))
    await until(lambda: "ready" in said(supervisor))
    supervisor.start(python("raise SystemExit('no such setting')"))
    with pytest.raises(NotStarted, match=r"child does not start[^|]*no such setting"):
        await supervisor.until_one_is_given_up()
    await supervisor.stop(*supervisor.keepers)

    assert said(supervisor).count("starting it again") == 2
    assert supervisor.running["other"].returncode == -signal.SIGTERM


async def test_a_single_run_gives_what_was_printed_and_says_the_rest(supervisor: Supervisor) -> None:
    code = "import sys; print('login: x'); print('working', file=sys.stderr); sys.exit(3)"
    assert await supervisor.run_once(python(code, name="first")) == (3, ["login: x"])

    assert said(supervisor) == "first    | working\n"


async def test_processes_of_a_killed_supervisor_are_found_and_stopped(supervisor: Supervisor) -> None:
    supervisor.start(python(WAITS))
    await until(lambda: "ready" in said(supervisor))
    orphan = supervisor.running["child"]
    assert await stop_orphans(Register(supervisor.register.path)) == ["child"]
    await until(lambda: orphan.returncode == -signal.SIGKILL)
    await supervisor.stop("child")

    assert not supervisor.register.path.exists()


def test_a_stranger_that_was_given_an_old_process_id_is_left_alone(tmp_path: Path) -> None:
    register = Register(tmp_path / "processes.json")
    register.note(python("something else"), pid=os.getpid())

    assert asyncio.run(stop_orphans(Register(register.path))) == []


def test_a_register_that_was_cut_off_while_written_counts_as_empty(tmp_path: Path) -> None:
    register = Register(tmp_path / "processes.json")
    register.path.write_text('{"web": [12')

    assert asyncio.run(stop_orphans(register)) == []
