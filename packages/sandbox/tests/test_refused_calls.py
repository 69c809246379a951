"""What the filter of system calls refuses, and that what it leaves alone works."""

import errno
import os
import signal
import threading
import time

import pytest
from sandbox_runs import run_call, run_calls

from desk_sandbox import SandboxLimits, check
from desk_sandbox.bwrap import filter_program, steps
from desk_sandbox.code_tests import FailureReason
from desk_sandbox.process import descendants, numbers_of

PATIENCE_S = 300.0

MEBIBYTE = 1024 * 1024
needs_filter = pytest.mark.skipif(filter_program() is None, reason="the filter is for x86_64 and aarch64")

REFUSED = {
    "memfd": "os.memfd_create('a')",
    "anonymous shared memory": "mmap.mmap(-1, 4096)",
    "shared memory of a device": "mmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096, mmap.MAP_SHARED)",
    "System V memory": "call(libc.shmget, 0, 4096, 0o1600)",
    "System V messages": "call(libc.msgget, 0, 0o1600)",
    "System V semaphores": "call(libc.semget, 0, 9, 0o1600)",
    "tracing": "call(libc.ptrace, 0, 0, 0, 0)",
    "memory of another process": "call(libc.process_vm_readv, os.getpid(), 0, 0, 0, 0, 0)",
    "limits of the harness": "resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))",
    "priority": "os.setpriority(os.PRIO_PROCESS, 1, 19)",
    "processors of the harness": "os.sched_setaffinity(1, {0})",
    "scheduler of the harness": "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))",
    "a network socket": "socket.socket(socket.AF_INET)",
    "a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "a vsock socket": "socket.socket(socket.AF_VSOCK)",
    "a new namespace": "call(libc.unshare, 0x10000000)",
    "a child in a new namespace": "call(libc.syscall, 56 if machine == 'x86_64' else 220, 0x10000000 | 17, 0, 0, 0, 0)",
    "a mount": "call(libc.mount, None, b'/tmp', b'tmpfs', 0, None)",
    "io_uring": "call(libc.syscall, 425, 1, 0)",
    "keys": "call(libc.syscall, 250 if machine == 'x86_64' else 219, 0, 0, 0, 0, 0)",
    "userfaultfd": "call(libc.syscall, 323 if machine == 'x86_64' else 282, 1)",
    "bpf": "call(libc.syscall, 321 if machine == 'x86_64' else 280, 0, 0, 0)",
}
TRY = f"""
import ctypes, mmap, os, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
machine = os.uname().machine
def call(function, *arguments):
    if function(*arguments) == -1:
        raise OSError(ctypes.get_errno(), '')
def f(what):
    try:
        eval({REFUSED!r}[what])
    except OSError as error:
        return error.errno
"""


@needs_filter
def test_it_refuses() -> None:
    report = run_calls(TRY, *(([what], errno.EPERM) for what in REFUSED))
    allowed = {what: result.actual for what, result in zip(REFUSED, report.results, strict=True) if not result.passed}
    # A kernel may have no such memory at all.
    assert allowed in ({}, {"shared memory of a device": str(errno.ENODEV)})


def test_what_ordinary_code_needs_still_works() -> None:
    code = (
        "import asyncio, mmap, os, resource, socket, subprocess, sys, threading\n"
        "async def wait(): await asyncio.sleep(0); return 1\n"
        "def f():\n"
        "  told = [asyncio.run(wait())]\n"
        "  thread = threading.Thread(target=told.append, args=(2,)); thread.start(); thread.join()\n"
        "  left, right = socket.socketpair(); left.send(b'3'); told.append(int(right.recv(1)))\n"
        "  private = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE); private[0] = 4; told.append(private[0])\n"
        "  told.append(os.waitstatus_to_exitcode(os.waitpid(os.fork() or os._exit(5), 0)[1]))\n"
        "  resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)); told.append(6)\n"
        "  return told\n"
    )
    result = run_call(code, expected=[1, 2, 3, 4, 5, 6])
    assert result.passed, result


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_jump_of_the_program_stays_in_it(machine: str) -> None:
    program = list(steps(machine))
    for place, (code, yes, no, _) in enumerate(program):
        assert code == 0x06 or place + 1 + max(yes, no) < len(program)


SHARED_BY_FORKS = (
    "import mmap, os, time\n"
    "def f(x):\n"
    "  for number in range(x):\n"
    "    if os.fork() == 0:\n"
    "      fd = os.open(f'/tmp/{number}', os.O_RDWR | os.O_CREAT)\n"
    "      os.truncate(fd, 10 * 2**20)\n"
    "      kept = mmap.mmap(fd, 10 * 2**20); kept.write(b'x' * (10 * 2**20)); time.sleep(9)\n"
    "  time.sleep(3 if x else 0)\n"
    "  return 1\n"
)


def test_memory_that_processes_share_is_counted() -> None:
    limits = SandboxLimits(wall_s=4, sum_of_memory_bytes=60 * MEBIBYTE, tmp_bytes=500 * MEBIBYTE)
    reports = run_calls(SHARED_BY_FORKS, ([10], 1), ([0], 1), limits=limits).results
    assert [result.reason for result in reports] == [FailureReason.MEMORY, None], reports


def test_a_hundred_thousand_folders_are_too_much_memory_too() -> None:
    code = (
        "import os, time\n"
        "def f(x):\n"
        "  for number in range(x): os.mkdir(f'/tmp/{number}')\n"
        "  time.sleep(x and 3)\n"
        "  return 1\n"
    )
    limits = SandboxLimits(wall_s=5, sum_of_memory_bytes=64 * MEBIBYTE)
    reports = run_calls(code, ([60_000], 1), ([0], 1), limits=limits).results
    assert [result.reason for result in reports] == [FailureReason.MEMORY, None], reports


@pytest.mark.parametrize("attack", ["os.kill(1, number)", "resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))"])
def test_the_harness_outlives_every_signal_and_limit(attack: str) -> None:
    code = (
        "import os, resource, time\n"
        "def f(x):\n"
        "  for number in range(1, 65):\n"
        f"    try: {attack}\n"
        "    except OSError: pass\n"
        "  return x\n"
    )
    report = run_calls(code, ([1], 1), ([2], 2), ([3], 4))
    assert [result.passed for result in report.results] == [True, True, False], report


def test_the_candidate_gets_the_signals_of_python_as_usual() -> None:
    code = (
        "import os, signal\ndef f():\n try: os.kill(os.getpid(), signal.SIGINT)\n except KeyboardInterrupt: return 1\n"
    )
    assert run_call(code).passed


def kill_the_harness() -> None:
    """Kills process 1 of the sandbox that this process started, once its candidate has run a while."""
    nesting = len(numbers_of("self")) + (2 if check().in_view else 1)
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        # Each is read once: a candidate may end between two looks.
        numbers = {pid: numbers_of(pid) for pid in descendants(os.getpid())}
        inside = {told[-1]: pid for pid, told in numbers.items() if len(told) == nesting}
        if "3" in inside and "1" in inside:
            os.kill(inside["1"], signal.SIGKILL)
            return
        time.sleep(0.02)


def test_a_harness_that_dies_costs_the_test_that_ran_and_keeps_what_was_judged() -> None:
    code = "import time\ndef f(x):\n  time.sleep(x)\n  return 1\n"
    killer = threading.Thread(target=kill_the_harness)
    killer.start()
    report = run_calls(code, ([0], 1), ([8], 1), ([0], 1), limits=SandboxLimits(wall_s=9))
    killer.join()
    assert [result.reason for result in report.results] == [None, FailureReason.CRASHED, FailureReason.NOT_RUN], report
