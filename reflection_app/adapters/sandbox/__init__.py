"""Untrusted Python code against tests, in bubblewrap. The only importer of subprocess in the project.

Each run is a new sandbox without network, with no host file but the interpreter's, under a user that owns nothing;
each test in it is a new process. Where no sandbox starts, code is refused.
"""

from reflection_app.adapters.sandbox.bwrap import SandboxStatus, check
from reflection_app.adapters.sandbox.limits import SandboxFailed, SandboxLimits, SandboxUnavailable
from reflection_app.adapters.sandbox.run import ProgramResult, run_program, run_tests

__all__ = [
    "ProgramResult",
    "SandboxFailed",
    "SandboxLimits",
    "SandboxStatus",
    "SandboxUnavailable",
    "check",
    "run_program",
    "run_tests",
]
