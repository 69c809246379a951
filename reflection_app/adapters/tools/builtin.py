"""The tools that every project can have without a server: their descriptions, and how they are called."""

import math
import re
import time
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import regex

from desk_sandbox import SandboxFailed, SandboxLimits, SandboxUnavailable, run_program
from reflection_app.adapters.tools.config import failed, told
from reflection_app.adapters.tools.errors import UnusableArguments
from reflection_app.loops.lengths import lines_of
from reflection_app.loops.tool_calls import ToolFailure, ToolResult, ToolSpec

# The built-in tools `read_file` and `grep_search`, on the files handed in with a task and no others.

Files = Mapping[str, str]

MOST_LINES = 2_000
MOST_MATCHES = 200
USUAL_MATCHES = 50
LONGEST_LINE = 500
LONGEST_PATTERN = 1_000
# As long as a path; those that were used stay in memory.
LONGEST_GLOB = 400
# Compiling writes every repeat out: `(?:y{5000}){5000}` takes all memory there is, and no timeout holds for that.
MOST_WRITTEN_OUT = 100_000
_LEAST_TIMES = re.compile(r"\{\s*+([0-9][0-9\s]*+)")
# `regex` measures in CPU time of the whole process, so that on a busy machine it takes longer by the clock.
SEARCH_WITHIN_S = 1.0
MOST_NAMED = 50


def read_file(files: Files, arguments: Mapping[str, Any], *, deadline_s: float) -> ToolResult:
    """The lines of a file from number `offset` on, each with its number."""
    path = str(arguments.get("path", ""))
    if path not in files:
        return failed(ToolFailure.TOOL_ERROR, f"There is no file {path[:400]!r}. {_names(files)}")
    lines = lines_of(files[path])
    offset = _number(arguments, "offset", usual=1, most=10**9)
    limit = _number(arguments, "limit", usual=MOST_LINES, most=MOST_LINES)
    if offset > max(len(lines), 1):
        return failed(ToolFailure.TOOL_ERROR, f"{path!r} has {len(lines)} lines; line {offset} is beyond its end.")
    shown = lines[offset - 1 : offset - 1 + limit]
    text = "\n".join(f"{number}\t{line}" for number, line in enumerate(shown, offset))
    left = len(lines) - (offset - 1 + len(shown))
    more = f"\n[{left} more lines; go on with offset {offset + len(shown)}]" if left else ""
    return told((text or "(the file is empty)") + more)


def grep_search(files: Files, arguments: Mapping[str, Any], *, deadline_s: float) -> ToolResult:
    """The lines that the pattern matches, as `path:number: line`."""
    text = str(arguments.get("pattern", ""))
    if not text or len(text) > LONGEST_PATTERN:
        raise UnusableArguments(f"pattern: a regular expression of 1 to {LONGEST_PATTERN} characters")
    # No fewer pieces than the compiled pattern has. Where there are no groups, repeats do not multiply.
    times = [max(1, int("".join(found.split()))) for found in _LEAST_TIMES.findall(text)]
    written_out = len(text) * (math.prod(times) if "(" in text else max(times, default=1))
    if written_out > MOST_WRITTEN_OUT:
        raise UnusableArguments("pattern: its repeats {n} multiply to too much; use + or smaller numbers")
    try:
        pattern = regex.compile(text, cache_pattern=False)
    except (regex.error, OverflowError, RecursionError, ValueError) as error:
        raise UnusableArguments(f"pattern: no regular expression: {error}") from None
    glob = str(arguments.get("path_glob") or "*")
    most = _number(arguments, "max_matches", usual=USUAL_MATCHES, most=MOST_MATCHES)
    if len(glob) > LONGEST_GLOB:
        raise UnusableArguments(f"path_glob: at most {LONGEST_GLOB} characters")
    chosen = {path: content for path, content in files.items() if fnmatchcase(path, glob)}
    if not chosen:
        return failed(ToolFailure.TOOL_ERROR, f"No file fits {glob!r}. {_names(files)}")
    try:
        found = _matches(chosen, pattern, most=most, left_s=min(deadline_s, SEARCH_WITHIN_S))
    except TimeoutError:
        return failed(ToolFailure.TIMED_OUT, "The pattern takes too long on these files; use a simpler one.")
    more = f"\n[stopped after {most} matches]" if len(found) == most else ""
    return told("\n".join(found) + more if found else "No line matches.")


def _matches(files: Files, pattern: "regex.Pattern[str]", *, most: int, left_s: float) -> list[str]:
    """The first matches. Raises TimeoutError. `regex` measures each search alone, so all share what is left."""
    until = time.monotonic() + left_s
    found: list[str] = []
    for path, content in files.items():
        for number, line in enumerate(lines_of(content), 1):
            left_s = until - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            if match := pattern.search(line, timeout=left_s, concurrent=True):
                # Of a long line the part where the match begins: what a tool answered is often one line.
                first = 0 if match.start() < LONGEST_LINE // 2 else match.start() - LONGEST_LINE // 4
                part = line[first : first + LONGEST_LINE]
                before, after = "…" if first else "", "…" if first + LONGEST_LINE < len(line) else ""
                found.append(f"{path}:{number}: {before}{part}{after}")
                if len(found) == most:
                    return found
    return found


def _number(arguments: Mapping[str, Any], name: str, *, usual: int, most: int) -> int:
    value = arguments.get(name)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 1:
        raise UnusableArguments(f"{name}: a whole number from 1")
    return min(int(value), most)


def _names(files: Files) -> str:
    if not files:
        return "The task came without files."
    named = ", ".join(list(files)[:MOST_NAMED])
    return f"There are: {named}{', …' if len(files) > MOST_NAMED else ''}"


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
