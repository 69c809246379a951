"""Work of a forked child for one case or program: run the candidate, report, and exit."""

import builtins
import posix
import resource
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

from desk_sandbox.inside.encode import (
    CANDIDATE_FILE,
    Encoder,
    TooLarge,
    describe,
    quote,
    write_object,
)

leave, send = posix._exit, posix.write  # noqa: SLF001 - its public name
flush_out, flush_err = sys.stdout.flush, sys.stderr.flush


def load(code: str, *, name: str) -> ModuleType:
    """Execute the candidate's code and return its module. Exceptions of the code are propagated."""
    module = ModuleType(name)
    module.__dict__["__builtins__"] = builtins
    sys.modules[name] = module
    compiled: CodeType = compile(code, CANDIDATE_FILE, "exec", dont_inherit=True)
    exec(compiled, module.__dict__)  # noqa: S102 - the purpose of the place
    return module


def run_case(job: dict[str, Any], case: dict[str, Any], report_end: int) -> NoReturn:
    """Report the value that the entry point returned for this case, or the failure."""
    code: str = job["code"]
    try:
        space = load(code, name="candidate").__dict__
        function = find(space, job["entry_point"])
        if function is None:
            report = write_object(kind='"missing"', error=quote(what_is_there(space)))
        else:
            value = function(*case["args"], **case["kwargs"])
            report = write_object(value=Encoder().write(value))
    except BaseException as error:  # noqa: BLE001 - SystemExit and all: the child must report it
        report = failure(error, code)
    end(report, report_end)


def run_program(job: dict[str, Any], report_end: int) -> NoReturn:
    """Run the code as the main program and report how it ended."""
    code: str = job["code"]
    try:
        load(code, name="__main__")
        report = write_object(status="0")
    except SystemExit as error:
        status = error.code if type(error.code) is int else 0 if error.code is None else 1
        if type(error.code) is str:
            sys.stderr.write(error.code)
        report = write_object(status=str(status))
    except BaseException as error:  # noqa: BLE001 - the child must report it
        report = failure(error, code)
    end(report, report_end)


def failure(error: BaseException, code: str) -> str:
    """Return the report on an exception."""
    return write_object(**failure_fields(error, code))


def failure_fields(error: BaseException, code: str, script: str = "") -> dict[str, str]:
    """Return the report's fields as JSON texts; the judge outside knows the values of `kind`."""
    if isinstance(error, MemoryError):
        kind = "memory"
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))  # room to report it
    elif isinstance(error, TooLarge):
        kind = "too_large"
    elif isinstance(error, SystemExit):
        kind = "exit"
    else:
        kind = "exception"
    return {"kind": quote(kind), "error": describe(error, code, script)}


def end(report: str, report_end: int) -> NoReturn:
    """Send the complete report and exit without running the candidate's exit handlers."""
    flush()
    send_whole(report_end, report.encode("ascii"))
    leave(0)


def flush() -> None:
    for stream in (flush_out, flush_err):
        try:
            stream()
        except Exception:  # noqa: BLE001, S112 - a closed or full stream has nothing more to tell
            continue


def send_whole(fd: int, content: bytes) -> None:
    while content:
        content = content[send(fd, content) :]


def find(space: dict[str, Any], entry_point: str) -> Any:
    """Return the callable with this dotted name, or None. A method is bound to a new instance of its class."""
    first, *rest = entry_point.split(".")
    found = space.get(first)
    for name in rest:
        if isinstance(found, type) and type(found.__dict__.get(name)) is FunctionType:
            found = found()
        found = getattr(found, name, None)
    return found if callable(found) else None


def what_is_there(space: dict[str, Any]) -> str:
    names = [name for name, value in space.items() if type(value) in {FunctionType, type} and type(name) is str]
    return ", ".join(names)
