"""What the candidate can reach: neither the host, nor the network, nor another test."""

import threading
from errno import ENETUNREACH, EPERM
from pathlib import Path

from sandbox_runs import run_call, run_calls

from desk_sandbox import check
from desk_sandbox.bwrap import filter_program
from desk_sandbox.code_tests import TestReport

LOOK = """
import os, socket, sys
def has_interface(number):
    try:
        return bool(socket.if_indextoname(number))
    except OSError:
        return False
def f(what):
    if what == "project":
        return any(os.path.exists(os.path.dirname(path)) for path in PLACES)
    if what == "root":
        return sorted(set(os.listdir("/")) - {"dev", "tmp", "usr", "lib", "lib64"} - FIRST)
    if what == "etc":
        return [path for path in ("/etc", "/proc/1", "/sys", "/var", "/run") if os.path.exists(path)]
    if what == "environment":
        return sorted(os.environ)
    if what == "path":
        return [path for path in sys.path if "packages" in path]
    if what == "packages":
        return [name for folder in sys.path if os.path.isdir(folder + "/site-packages")
                for name in os.listdir(folder + "/site-packages")]
    if what == "interfaces":
        return [number for number in range(2, 100) if has_interface(number)]
    if what == "user":
        return [os.getuid(), os.getgid(), set(os.getgroups()) <= {65534}, socket.gethostname()]
    if what == "connect":
        try:
            socket.create_connection(("192.0.2.1", 80), timeout=0.5)
        except OSError as error:
            return error.errno
    if what == "write":
        tried = []
        for folder in ("/", "/dev", "/dev/shm", os.path.dirname(os.__file__)):
            try:
                open(folder + "/written", "w")
                tried.append(folder)
            except OSError:
                pass
        return tried
    if what == "namespace":
        import ctypes
        return ctypes.CDLL(None).unshare(0x10000000)
    if what == "trace":
        import ctypes
        return ctypes.CDLL(None).ptrace(16, 1, 0, 0)
"""


def look(what: str, *, expected: object) -> None:
    first = {check().interpreter.split("/")[1], "nix"}
    code = f"PLACES = [{__file__!r}]\nFIRST = {first!r}\n{LOOK}"
    result = run_call(code, what, expected=expected)
    assert result.passed, result


def test_there_is_no_host_file_but_the_interpreter() -> None:
    look("project", expected=False)
    look("root", expected=[])
    look("etc", expected=[])
    look("path", expected=[])
    look("packages", expected=[])


def test_there_is_no_network_no_environment_and_no_privilege() -> None:
    look("interfaces", expected=[])
    look("connect", expected=EPERM if filter_program() else ENETUNREACH)
    look("environment", expected=[])
    look("user", expected=[65534, 65534, True, "sandbox"])
    look("namespace", expected=-1)
    look("trace", expected=-1)


def test_nothing_but_tmp_can_be_written() -> None:
    look("write", expected=[])


def test_a_case_sees_nothing_of_what_an_earlier_one_changed() -> None:
    code = (
        "import builtins, math, os\nseen = []\n"
        "def f(x):\n"
        "  marks = [len(seen), math.pi == 3, hasattr(builtins, 'mark'), os.path.exists('/tmp/a/b')]\n"
        "  seen.append(x); math.pi = 3; builtins.mark = 1; os.makedirs('/tmp/a/b')\n"
        "  return marks\n"
    )
    clean = [0, False, False, False]
    assert run_calls(code, ([1], clean), ([2], clean)).all_passed


def test_a_case_sees_no_process_of_an_earlier_one() -> None:
    code = (
        "import os, time\n"
        "def f(x):\n"
        "  if x == 0:\n"
        "    if os.fork() == 0: os.setsid(); time.sleep(99)\n"
        "    return 1\n"
        "  try: os.kill(-1, 0)\n"
        "  except ProcessLookupError: return 1\n"
    )
    assert run_calls(code, ([0], 1), ([1], 1)).all_passed


def test_expected_values_do_not_enter_the_sandbox() -> None:
    code = (
        "import gc, sys\n"
        "def f():\n"
        "  told = [repr(sys._getframe(i).f_locals) + repr(sys._getframe(i).f_globals) for i in range(20) if deep(i)]\n"
        "  told += [repr(x) for x in gc.get_objects() if type(x) in (dict, list, tuple)]\n"
        "  return any(''.join(['answer', '-', str(7319)]) in text for text in told)\n"
        "def deep(i):\n"
        "  try: return sys._getframe(i + 1)\n"
        "  except ValueError: return None\n"
    )
    result = run_call(code, expected="answer-7319")
    assert result.actual == "False", result


def test_many_threads_may_run_code_at_once() -> None:
    reports: list[TestReport] = []

    def run(number: int) -> None:
        reports.append(run_calls(f"def f(x): return x + {number}", ([1], number + 1), ([1], 0)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [[result.passed for result in report.results] for report in reports] == [[True, False]] * 12


def test_a_run_leaves_no_descriptor_and_no_child_behind() -> None:
    run_call("def f(): return 1")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run_call("import time\ndef f(): return 1")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
