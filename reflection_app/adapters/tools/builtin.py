"""The tools that every project can have without a server: their descriptions, and how they are called."""

from collections.abc import Mapping
from typing import Any

from reflection_app.adapters.sandbox import SandboxFailed, SandboxLimits, SandboxUnavailable, run_program
from reflection_app.adapters.tools.files import MOST_LINES, MOST_MATCHES, USUAL_MATCHES, Files, grep_search, read_file
from reflection_app.adapters.tools.results import failed, told
from reflection_app.loops.tool_calls import ToolFailure, ToolResult, ToolSpec

LONGEST_PROGRAM_S = 30.0
# Those that only look at files.
READING = ("read_file", "grep_search")


def _parameters(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [required], "additionalProperties": False}


SPECS: dict[str, ToolSpec] = {
    spec.name: spec
    for spec in (
        ToolSpec(
            name="python",
            description="Runs a Python program without network or files and returns what it printed.",
            parameters=_parameters(
                "code",
                code={"type": "string", "description": "the program", "maxLength": 100_000},
                stdin={"type": "string", "description": "what it reads from standard input", "maxLength": 100_000},
            ),
        ),
        ToolSpec(
            name="read_file",
            description="Reads a file that came with the task, with line numbers.",
            parameters=_parameters(
                "path",
                path={"type": "string", "description": "the file's path as listed in the task"},
                offset={"type": "integer", "minimum": 1, "description": "the first line to read; 1 by default"},
                limit={"type": "integer", "minimum": 1, "maximum": MOST_LINES, "description": "how many lines"},
            ),
        ),
        ToolSpec(
            name="grep_search",
            description="Searches the files that came with the task, line by line, with a regular expression.",
            parameters=_parameters(
                "pattern",
                pattern={"type": "string", "minLength": 1, "description": "a regular expression"},
                path_glob={"type": "string", "description": "only files whose path fits, such as src/*.py"},
                max_matches={
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_MATCHES,
                    "description": f"{USUAL_MATCHES} by default",
                },
            ),
        ),
    )
}


def call_builtin(name: str, arguments: Mapping[str, Any], *, files: Files, deadline_s: float) -> ToolResult:
    """What the built-in tool came to. Raises UnusableArguments."""
    if name == "python":
        return run_python(arguments, deadline_s=deadline_s)
    if name == "read_file":
        return read_file(files, arguments, deadline_s=deadline_s)
    return grep_search(files, arguments, deadline_s=deadline_s)


def run_python(arguments: Mapping[str, Any], *, deadline_s: float) -> ToolResult:
    """What the program printed, and why it failed where it did."""
    limits = SandboxLimits(total_s=LONGEST_PROGRAM_S)
    code, stdin = str(arguments.get("code", "")), str(arguments.get("stdin") or "")
    try:
        result = run_program(code, stdin=stdin, limits=limits, deadline_s=deadline_s)
    except SandboxUnavailable as error:
        return failed(ToolFailure.MISCONFIGURED, f"Code is not run without a sandbox: {error}")
    except SandboxFailed as error:
        return failed(ToolFailure.UNREACHABLE, f"The sandbox broke: {error}")
    complaints = f"[stderr]\n{result.stderr.rstrip()}" if result.stderr.strip() else ""
    printed = "\n".join(filter(None, (result.stdout, complaints)))
    if result.ended_well:
        return told(printed or "(the program printed nothing)")
    timed_out = result.reason == "timeout"
    return told(printed, failure=ToolFailure.TIMED_OUT if timed_out else ToolFailure.TOOL_ERROR, error=result.error)
