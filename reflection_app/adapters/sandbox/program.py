"""One program run for its own sake: what it printed, and how it ended."""

from contextlib import closing
from dataclasses import asdict, dataclass

from reflection_app.adapters.sandbox.frames import Record
from reflection_app.adapters.sandbox.judge import FORGED_TEXT, Judge
from reflection_app.adapters.sandbox.limits import SandboxLimits
from reflection_app.adapters.sandbox.process import HarnessDied, run_job
from reflection_app.adapters.sandbox.texts import clean
from reflection_app.adapters.sandbox.values import MalformedValue
from reflection_app.loops.code_tests import FailureReason, TestResult


@dataclass(frozen=True)
class ProgramResult:
    """`reason` and `error` say why it did not end well: an exception, a status that is not 0, a limit."""

    stdout: str
    stderr: str
    reason: FailureReason | None
    error: str

    @property
    def ended_well(self) -> bool:
        return self.reason is None


def run_program(
    code: str, *, stdin: str = "", limits: SandboxLimits | None = None, deadline_s: float | None = None
) -> ProgramResult:
    """How the code ran as a main program. SandboxUnavailable or SandboxFailed where nothing can be said of it."""
    limits = limits or SandboxLimits()
    total_s = limits.total_s if deadline_s is None else max(0.1, min(limits.total_s, deadline_s))
    kept = {"total_s": total_s, "wall_s": total_s, "kept_bytes": limits.output_bytes}
    job = {
        "form": "stdin_cases",
        "items": [{"stdin": stdin}],
        "script": "",
        "code": code.encode("utf-8", "backslashreplace").decode("utf-8"),
        "entry_point": None,
        "preload": [],
        "limits": {**asdict(limits), **kept},
    }
    try:
        with closing(run_job(job, total_s=total_s, limits=limits)) as records:
            record = next(records, None)
    except HarnessDied:
        return ProgramResult("", "", FailureReason.CRASHED, "The sandbox was brought down while the program ran.")
    if record is None:
        return ProgramResult("", "", FailureReason.TIMEOUT, f"No result within {total_s:g} s.")
    reason, error = _end_of(record, wall_s=total_s)
    printed = clean(record.stdout, limit=limits.output_bytes), clean(record.stderr, limit=limits.output_bytes)
    return ProgramResult(*printed, reason, error)


def _end_of(record: Record, *, wall_s: float) -> tuple[FailureReason | None, str]:
    if record.outcome == "ended" and record.status == 0 and not record.report:
        return None, ""
    try:
        message = Judge(wall_s=wall_s, entry_point=None).read(record)
    except MalformedValue:
        return FailureReason.FORGED, FORGED_TEXT
    if isinstance(message, TestResult):
        return message.reason, message.error
    status = message.get("status")
    if type(status) is not int:
        return FailureReason.FORGED, FORGED_TEXT
    return (None, "") if status == 0 else (FailureReason.EXITED, f"The program ended with status {status}.")
