"""Whatever the candidate does, it ends in time as a failed test with its reason, and the sandbox goes on."""

import time

import pytest
from sandbox_runs import QUICK, run_call, run_calls, run_program, run_script

from desk_sandbox import SandboxLimits
from desk_sandbox.code_tests import FailureReason

R = FailureReason

HOSTILE = {
    "leaves at once": ("import os\ndef f(): os._exit(0)", {R.EXITED}),
    "calls sys.exit": ("import sys\ndef f(): sys.exit()", {R.EXITED}),
    "loops for ever": ("def f():\n while True: pass", {R.TIMEOUT}),
    "sleeps": ("import time\ndef f(): time.sleep(99)", {R.TIMEOUT}),
    "loops while it is loaded": ("while True: pass\ndef f(): return 1", {R.TIMEOUT}),
    "masks signals and loops": (
        (
            "import signal\ndef f():\n for s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n"
            "  except Exception: pass\n while True: pass"
        ),
        {R.TIMEOUT},
    ),
    "prints for ever": ("def f():\n while True: print('x' * 10000)", {R.OUTPUT_LIMIT}),
    "writes a gigabyte": ("import sys\ndef f(): sys.stdout.write('x' * 10**8)\n", {R.OUTPUT_LIMIT}),
    "takes all memory": ("def f(): return len(bytearray(10**10))", {R.MEMORY}),
    "takes memory bit by bit": (
        "def f():\n x = []\n while True: x.append('y' * 10**6 + str(len(x)))",
        {R.MEMORY, R.TIMEOUT},
    ),
    "recurses": ("def f(): return f()", {R.EXCEPTION}),
    "recurses without limit": (
        (
            "import sys\ndef f():\n sys.setrecursionlimit(10**9)\n class A:\n  def __repr__(s): return repr([s])\n"
            "  def __eq__(s, o): return [s] == [o]\n return A() == A() and f()"
        ),
        {R.CRASHED, R.EXCEPTION, R.MEMORY, R.TIMEOUT},
    ),
    "reads address zero": ("import ctypes\ndef f(): ctypes.string_at(0)", {R.CRASHED}),
    "kills its parent": (
        "import os, signal\ndef f():\n os.kill(os.getppid(), 9); os.kill(1, 9); os.kill(os.getpid(), 9)",
        {R.CRASHED},
    ),
    "kills everything": ("import os\ndef f():\n os.kill(-1, 9)\n return 2", {R.EXCEPTION}),
    "forks without end": ("import os\ndef f():\n while True:\n  try: os.fork()\n  except OSError: pass", {R.TIMEOUT}),
    "forks until it may not": ("import os\ndef f():\n while True: os.fork()", {R.EXCEPTION, R.EXITED, R.FORGED}),
    "fills the disk": (
        "def f():\n i = 0\n while True:\n  i += 1\n  open(f'/tmp/{i}', 'wb').write(b'x' * 10**7)",
        {R.EXCEPTION},
    ),
    "writes one large file": ("def f(): open('/tmp/a', 'wb').write(b'x' * 10**8)", {R.EXCEPTION}),
    "returns a huge value": ("def f(): return ['x' * 10**6] * 3", {R.OUTPUT_LIMIT}),
    "returns a value without end": ("def f():\n x = []\n x.append(x)\n return x", {R.OUTPUT_LIMIT}),
    "returns a deep value": ("def f():\n x = []\n for _ in range(10**5): x = [x]\n return x", {R.OUTPUT_LIMIT}),
    "writes to every descriptor": (
        (
            "import os\ndef f():\n for fd in range(3, 64):\n  try: os.write(fd, b'{\"value\":1}\\n')\n"
            "  except OSError: pass\n return 2"
        ),
        {R.FORGED},
    ),
    "does not parse": ("def f(:\n return 1", {R.EXCEPTION}),
    "has a NUL in it": ("def f(): return 1\x00", {R.EXCEPTION}),
    "has half a surrogate pair in it": ("def f(): return '\ud800'", {R.WRONG_ANSWER}),
    "raises what cannot be shown": (
        "class E(BaseException):\n def __str__(self): raise self\ndef f(): raise E",
        {R.EXCEPTION, R.EXITED},
    ),
    "starts threads that never end": (
        (
            "from threading import Thread\nimport time\ndef f():\n"
            " for _ in range(5): Thread(target=time.sleep, args=(99,)).start()\n return 2"
        ),
        {R.WRONG_ANSWER},
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_code_that_is_hostile_fails_with_its_reason_in_time(what: str) -> None:
    code, reasons = HOSTILE[what]
    started = time.monotonic()
    result = run_call(code)
    assert not result.passed
    assert result.reason in reasons, result
    assert result.error or result.reason is R.WRONG_ANSWER
    assert time.monotonic() - started < QUICK.total_s


def test_a_test_after_one_that_timed_out_has_its_own_chance() -> None:
    code = "def f(x):\n while x: pass\n return 1"
    report = run_calls(code, ([1], 1), ([0], 1), ([1], 1), ([0], 1))
    assert [result.passed for result in report.results] == [False, True, False, True]


def test_tests_that_found_no_time_are_named_as_not_run() -> None:
    limits = SandboxLimits(wall_s=1.0, total_s=1.5)
    report = run_calls("while True: pass", *[([], 1)] * 5, limits=limits)
    assert [result.reason for result in report.results] == [R.TIMEOUT] * 2 + [R.NOT_RUN] * 3


def test_cpu_time_is_limited_beside_wall_time() -> None:
    result = run_call("def f():\n while True: pass", limits=SandboxLimits(wall_s=9.0, cpu_s=1))
    assert result.reason is R.TIMEOUT
    assert "CPU" in result.error


def test_a_fork_bomb_leaves_the_next_test_its_processes() -> None:
    code = "import os\ndef f(x):\n while x:\n  try: os.fork()\n  except OSError: pass\n return 1"
    report = run_calls(code, ([1], 1), ([0], 1))
    assert [result.passed for result in report.results] == [False, True]


def test_processes_that_take_too_much_memory_together_are_stopped() -> None:
    code = (
        "import os, time\n"
        "def f(x):\n"
        "  while x:\n"
        "    x -= 1\n"
        "    if os.fork() == 0: kept = b'x' * (200 * 2**20); time.sleep(9)\n"
        "    else: time.sleep(0.05)\n"
        "  time.sleep(5)\n"
    )
    limits = SandboxLimits(wall_s=4, sum_of_memory_bytes=500 * 2**20)
    result = run_calls(code, ([8], 1), ([0], 1), limits=limits).results[0]
    assert result.reason is R.MEMORY, result


def test_folders_nested_beyond_any_path_do_not_stop_the_next_test() -> None:
    code = (
        "import os\n"
        "def f(x):\n"
        "  for _ in range(3000 * x): os.mkdir('deep'); os.chdir('deep')\n"
        "  return 'deep' in os.listdir('/tmp')\n"
    )
    assert [result.passed for result in run_calls(code, ([1], True), ([0], False)).results] == [True, True]


REDEFINED = (
    "import builtins, sys, os, json\n"
    "class Odd:\n"
    "  def __init__(self, *a, **k): pass\n"
    "  def __bool__(self): return True\n"
    "for name in 'AssertionError bool print len sum isinstance repr type exec BaseException'.split():\n"
    "  setattr(builtins, name, Odd)\n"
    "  globals()[name] = Odd\n"
    "os._exit = sys.exit = os.write = json.dumps = Odd\n"
    "def f(): return 2\n"
)


def test_redefined_builtins_do_not_turn_a_wrong_value_into_a_pass() -> None:
    assert not run_call(REDEFINED).passed
    assert run_call(REDEFINED, expected=2).passed


@pytest.mark.parametrize("assertion", ["assert f() == 1", "assert len([f()]) == 2", "assert isinstance(f(), str)"])
def test_redefined_builtins_do_not_turn_a_failed_assertion_into_a_pass(assertion: str) -> None:
    report = run_script(REDEFINED, f"{assertion}\ndef test_it():\n    {assertion}\n")
    assert [result.passed for result in report.results] == [False, False]


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos._exit(0)",
        "import sys\nsys.exit(0)",
        "import os\ndef f(): os._exit(0)",
        "import sys\ndef f(): sys.exit(0)",
        "import atexit, os\natexit.register(os._exit, 0)\ndef f(): return 2",
        "import sys\nsys.settrace(None)\nsys.excepthook = print\ndef f(): return 2",
        (
            "import os\nfor fd in range(3, 64):\n  try: os.write(fd, b'L\\nx E 0 {\"ok\":true}\\nx Z 0 \\n')\n"
            "  except OSError: pass\ndef f(): return 2"
        ),
        (
            "import os\ndef f():\n  for fd in range(3, 64):\n"
            "    try: os.write(fd, b'x E 0 {\"ok\":true}\\nx Z 0 \\n')\n    except OSError: pass\n  os._exit(0)"
        ),
    ],
)
def test_no_script_test_passes_because_the_code_left_or_wrote_to_the_channel(code: str) -> None:
    report = run_script(code, "assert f() == 1\ndef test_it():\n    assert f() == 1\n")
    assert [result.passed for result in report.results] == [False, False]
    assert all(result.error for result in report.results)


def test_a_script_goes_on_behind_an_assertion_that_never_ended() -> None:
    code = "def f(x):\n while x == 2: pass\n return x"
    report = run_script(code, "assert f(1) == 1\nassert f(2) == 2\nassert f(3) == 3\nassert f(4) == 5")
    assert [result.reason for result in report.results] == [None, R.TIMEOUT, None, R.WRONG_ANSWER]


def test_a_program_that_prints_without_end_is_stopped() -> None:
    assert run_program("while True: print('x' * 100)", expected="x").reason is R.OUTPUT_LIMIT


def test_texts_that_come_back_have_no_nul_and_no_lone_surrogate() -> None:
    code = "import os\ndef f():\n os.write(1, b'\\x00\\xff'); print('\\x00')\n raise ValueError('\\x00\\ud800')"
    report = run_calls(code, ([], 1))
    for text in (report.stdout, report.results[0].error, run_call("def f(): return '\\x00\\ud800'").actual):
        assert text
        assert "\x00" not in text
        text.encode("utf-8")
