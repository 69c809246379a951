"""When work that is handed in is to be reflected on, and what those who look back are given besides it."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from reflection_app.core.json_sizes import at_most
from reflection_app.loops.notebook_settings import ReflectionMode
from reflection_app.loops.storable import is_storable
from reflection_app.loops.values import Value

LARGEST_TOOL_ERRORS = 500_000
LARGEST_FILES = 2_000_000
MOST_FILES = 100
MOST_TOOL_ERRORS = 200


def _mode_alone(value: Any) -> Any:
    return {"mode": value} if isinstance(value, str) else value


class ReflectionInput(Value):
    """When to reflect; without a mode as the project has it. Inline: after so many turns, and when a tool fails."""

    mode: ReflectionMode | None = Field(
        default=None,
        description="post_hoc: once it has ended; inline: while it happens, sessions only; unset: as its project says",
    )
    every_turns: int = Field(default=5, ge=1, le=100)


AnyReflection = Annotated[ReflectionInput, BeforeValidator(_mode_alone)]


def _relative(path: str) -> str:
    parts = path.split("/")
    if "\\" in path or any(part in {"", ".", ".."} for part in parts):
        raise ValueError("must be a relative path with forward slashes and no . or .. in it")
    return path


class FileSubmission(Value):
    """A text file to be read by tools, under a relative path with forward slashes."""

    path: Annotated[str, Field(min_length=1, max_length=400), AfterValidator(_relative)]
    content: str


def _named_once(files: tuple[FileSubmission, ...]) -> tuple[FileSubmission, ...]:
    paths = [file.path for file in files]
    if doubled := next((path for path in paths if paths.count(path) > 1), None):
        raise ValueError(f"two files have the path {doubled!r}")
    return files


def _storable(value: Any) -> Any:
    if not is_storable(value):
        raise ValueError("holds a NUL character, half a surrogate pair or an infinite number, which cannot be stored")
    return value


Files = Annotated[
    tuple[FileSubmission, ...], Field(max_length=MOST_FILES), AfterValidator(_named_once), at_most(LARGEST_FILES)
]


class ToolErrorInput(Value):
    """A call of a tool that failed, as the agent's framework traced it."""

    tool: str = Field(max_length=120)
    error: str = Field(max_length=20_000)
    arguments: Annotated[JsonValue, AfterValidator(_storable)] = None
    turn: int | None = Field(default=None, ge=1)


ToolErrors = Annotated[tuple[ToolErrorInput, ...], Field(max_length=MOST_TOOL_ERRORS), at_most(LARGEST_TOOL_ERRORS)]
