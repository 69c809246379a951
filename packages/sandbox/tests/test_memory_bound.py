"""All sandboxes of a machine share a bound on memory; those that do not fit wait their turn."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from sandbox_runs import QUICK, run_call

from desk_sandbox import SandboxBusy, SandboxLimits, queued_for_memory, share_memory, working_clock
from desk_sandbox import memory as sandbox_memory
from desk_sandbox.limits import MEBIBYTE
from desk_sandbox.memory import Shared, available_memory, memory_bound, reserved_memory

# With its files a run takes 17 of the 64 MiB shares: two fit into this, a third does not.
FOR_TWO = 48 * 64 * MEBIBYTE
# Three runs at once; each prints when the sandboxed program began and ended, by the machine's clock.
THREE = f"""
import json, threading
import pathlib, sys
from desk_sandbox import SandboxLimits, queued_for_memory, run_program, share_memory
share_memory(pathlib.Path(sys.argv[1]), most_bytes={FOR_TWO})
code = "import time\\nbegan = time.monotonic()\\ntime.sleep(0.5)\\nprint(began, time.monotonic())"
def run():
    with queued_for_memory():
        result = run_program(code, limits=SandboxLimits(total_s=30))
    print(json.dumps([str(result.reason), *map(float, result.stdout.split())]), flush=True)
threads = [threading.Thread(target=run) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
HOLD = """
import pathlib, sys, time
from desk_sandbox import SandboxLimits, share_memory
from desk_sandbox.memory import reserved_memory
share_memory(pathlib.Path(sys.argv[1]), most_bytes=64 * 2**20)
with reserved_memory(SandboxLimits()):
    print("held", flush=True)
    time.sleep(600)
"""

# Other processes find the package where this one does.
WITH_OUR_PATH = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file whose locks leave memory for one run."""
    file = tmp_path / "memory"
    monkeypatch.setattr(sandbox_memory, "_shared", Shared(file, 64 * MEBIBYTE))
    monkeypatch.setattr(sandbox_memory, "PATIENCE_S", 0.0)
    return file


def most_at_once(spans: list[tuple[float, float]]) -> int:
    return max(sum(began <= moment < ended for began, ended in spans) for moment, _ in spans)


def test_of_six_runs_in_two_processes_no_more_hold_memory_at_once_than_fit_and_all_end_well(
    tmp_path: Path,
) -> None:
    argv = (sys.executable, "-c", THREE, str(tmp_path / "memory"))
    processes = [subprocess.Popen(argv, env=WITH_OUR_PATH, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    ended = [json.loads(line) for process in processes for line in process.communicate()[0].splitlines()]
    assert [reason for reason, *_ in ended] == ["None"] * 6
    assert most_at_once([(began, end) for _, began, end in ended]) <= 2


@pytest.mark.usefixtures("one_at_a_time")
def test_a_run_that_may_use_more_than_the_whole_bound_runs_alone() -> None:
    assert run_call("def f(): return 1").passed
    with reserved_memory(SandboxLimits()), pytest.raises(SandboxBusy):
        run_call("def f(): return 1")
    assert run_call("def f(): return 1").passed


def test_a_killed_process_frees_what_it_reserved(one_at_a_time: Path) -> None:
    argv = (sys.executable, "-c", HOLD, str(one_at_a_time))
    with subprocess.Popen(argv, env=WITH_OUR_PATH, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()
    with reserved_memory(QUICK):
        pass


def has_queue_head(path: Path) -> bool:
    file = os.open(path, os.O_RDWR)
    try:
        return not sandbox_memory._lock(file, sandbox_memory.HEAD_OF_QUEUE)
    finally:
        os.close(file)


def count_waiting(path: Path) -> int:
    """How many threads the kernel makes wait for a byte of the file."""
    inode = f":{path.stat().st_ino} "
    return sum("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())


def test_waiting_is_in_the_order_of_arrival_and_uses_none_of_the_time_of_the_code(one_at_a_time: Path) -> None:
    order: list[int] = []
    charged: dict[int, tuple[float, float]] = {}

    def wait(number: int) -> None:
        began, worked = time.monotonic(), working_clock()
        with queued_for_memory(), reserved_memory(QUICK):
            order.append(number)
        charged[number] = (time.monotonic() - began, working_clock() - worked)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(3)]
    with reserved_memory(QUICK):
        for number, thread in enumerate(threads):
            thread.start()
            while count_waiting(one_at_a_time) < number or not has_queue_head(one_at_a_time):
                time.sleep(0.01)
        time.sleep(0.2)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2]
    assert all(waited - worked >= 0.2 for waited, worked in charged.values())


def test_the_bound_is_what_was_set_or_half_of_what_there_is(one_at_a_time: Path) -> None:
    share_memory(one_at_a_time, most_bytes=300 * MEBIBYTE)
    assert memory_bound() == 300 * MEBIBYTE
    share_memory(one_at_a_time)
    assert memory_bound() == available_memory() // 2 > 0


@pytest.mark.parametrize(
    ("groups", "file", "limit"),
    [
        ("0::/desk/worker\n", "desk/memory.max", 5_000_000),
        ("0::/outside/of/the/container\n", "memory.max", 6_000_000),
        ("4:memory:/desk\n0::/\n", "memory/desk/memory.limit_in_bytes", 7_000_000),
    ],
)
def test_the_limit_of_a_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, file: str, limit: int
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{limit}\n")
    (tmp_path / "groups").write_text(groups)
    monkeypatch.setattr(sandbox_memory, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(sandbox_memory, "OWN_GROUPS", tmp_path / "groups")
    assert available_memory.__wrapped__() == limit
