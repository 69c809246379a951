"""Run untrusted Python code against tests, in bubblewrap.

Each run is a new sandbox without network and without host files except the interpreter's, under a user that owns
nothing. Each test in it is a new process. If no sandbox can start, code is refused.
"""

from desk_sandbox.bwrap import SandboxStatus, check
from desk_sandbox.code_tests import CodeTests, FailureReason, TestReport, TestResult
from desk_sandbox.limits import SandboxBusy, SandboxFailed, SandboxLimits, SandboxUnavailable
from desk_sandbox.memory import queued_for_memory, share_memory, working_clock
from desk_sandbox.run import ProgramResult, run_program, run_tests

__all__ = [
    "CodeTests",
    "FailureReason",
    "ProgramResult",
    "SandboxBusy",
    "SandboxFailed",
    "SandboxLimits",
    "SandboxStatus",
    "SandboxUnavailable",
    "TestReport",
    "TestResult",
    "check",
    "queued_for_memory",
    "run_program",
    "run_tests",
    "share_memory",
    "working_clock",
]
