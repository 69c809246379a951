"""Untrusted Python code against tests, in bubblewrap. The only importer of subprocess in the project.

Each run is a new sandbox without network, with no host file but the interpreter's, under a user that owns nothing;
each test in it is a new process. Where no sandbox starts, code is refused.
"""

from reflection_app.adapters.sandbox.bwrap import SandboxStatus, check
from reflection_app.adapters.sandbox.limits import SandboxBusy, SandboxFailed, SandboxLimits, SandboxUnavailable
from reflection_app.adapters.sandbox.memory import queued_for_memory, working_clock
from reflection_app.adapters.sandbox.run import ProgramResult, run_program, run_tests

__all__ = [
    "ProgramResult",
    "SandboxBusy",
    "SandboxFailed",
    "SandboxLimits",
    "SandboxStatus",
    "SandboxUnavailable",
    "check",
    "queued_for_memory",
    "run_program",
    "run_tests",
    "working_clock",
]
