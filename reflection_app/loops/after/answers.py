"""What reflectors answer, read leniently: an item that says nothing is left out, and costs none of the others."""

import json
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, JsonValue, ValidationError, model_validator

from reflection_app.loops.after.findings import (
    LONGEST_NAME,
    MOST_FOUND,
    ErrorFound,
    ErrorsFound,
    MemoriesFound,
    MemoryFound,
    MemoryType,
)
from reflection_app.loops.lenient_values import Lenient
from reflection_app.loops.session_reflections import Finding, known_finding
from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_arguments import is_too_deep

LONGEST_TEXT = 2_000
LONGEST_CONTENT = 8_000
WRAPPED_IN = ("final_answer", "answer", "result", "output")
PREFERENCES = frozenset({"preference", "user_preference", "style", "habit"})
RULES = frozenset({"rule", "constraint", "requirement"})


def _said(value: Any) -> Any:
    """A text of whatever stands where one was asked for."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(str(one) for one in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return text.strip()[:LONGEST_TEXT]


def _content(text: str) -> str:
    return text.strip()[:LONGEST_CONTENT]


def _score(value: Any) -> float | None:
    """0 to 100; None where nothing can be read as a number."""
    text = str(value).strip().removesuffix("%").split("/")[0]
    try:
        number = float(text)
    except ValueError:
        return None
    return min(100.0, max(0.0, number)) if number == number else None  # noqa: PLR0124 - NaN is unlike itself


def _memory_type(value: Any) -> MemoryType:
    """Models invent types; what is neither rule nor preference is a fact about the project."""
    name = str(value).strip().lower().replace(" ", "_")
    if name in PREFERENCES:
        return MemoryType.PREFERENCE
    return MemoryType.RULE if name in RULES else MemoryType.PROJECT


Short = Annotated[str, BeforeValidator(_said), AfterValidator(_short)]


class FindingAnswer(Lenient):
    category: Annotated[Finding, BeforeValidator(known_finding)] = Finding.OTHER
    description: Short = Field(min_length=1, validation_alias=AliasChoices("description", "issue", "problem"))
    cause: Short = Field(default="", validation_alias=AliasChoices("cause", "root_cause", "reason"))
    suggestion: Short = Field(default="", validation_alias=AliasChoices("suggestion", "fix", "recommendation"))

    @model_validator(mode="after")
    def check_it_says_something(self) -> Self:
        if not self.description:
            raise ValueError("the description is empty")
        return self


class MemoryAnswer(Lenient):
    type: Annotated[MemoryType, BeforeValidator(_memory_type)] = MemoryType.PROJECT
    name: Short = ""
    description: Short = ""
    content: Annotated[str, BeforeValidator(_said), AfterValidator(_content)] = ""

    @model_validator(mode="after")
    def check_it_says_something(self) -> Self:
        if not (self.name or self.description or self.content):
            raise ValueError("it says nothing")
        return self

    def memory(self) -> MemoryFound:
        name = " ".join((self.name or self.description or self.content).split())
        return MemoryFound(
            type=self.type, name=name[:LONGEST_NAME].rstrip(), description=self.description, content=self.content
        )


def _readable[A: Lenient](value: Any, *, schema: type[A]) -> list[A]:
    """The items of a list that can be read. Raises ValueError where it is no list."""
    if value is None:
        return []
    items = [value] if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise ValueError("must be a list of objects")
    found: list[A] = []
    for item in items:
        try:
            found.append(schema.model_validate(item))
        except ValidationError:
            continue
    return found[:MOST_FOUND]


def _unwrapped(value: Any, *, key: str) -> Any:
    """The object itself, or the one that it is wrapped in by the name of an answer."""
    if isinstance(value, dict) and key not in value:
        inside = next((value[name] for name in WRAPPED_IN if isinstance(value.get(name), dict)), None)
        return value if inside is None else inside
    return value


class ErrorsAnswer(Lenient):
    """The error reflector's last word. `findings` may be empty, and may not be left out."""

    score: Annotated[float | None, BeforeValidator(_score)] = None
    findings: Annotated[
        tuple[FindingAnswer, ...], BeforeValidator(lambda value: tuple(_readable(value, schema=FindingAnswer)))
    ]

    @model_validator(mode="before")
    @classmethod
    def unwrap(cls, value: Any) -> Any:
        return _unwrapped(value, key="findings")

    def found(self) -> ErrorsFound:
        findings = tuple(ErrorFound.model_validate(one.model_dump()) for one in self.findings)
        return ErrorsFound(score=self.score, findings=findings)


class MemoriesAnswer(Lenient):
    """The memory reflector's last word. `memories` may be empty, and may not be left out."""

    memories: Annotated[
        tuple[MemoryAnswer, ...], BeforeValidator(lambda value: tuple(_readable(value, schema=MemoryAnswer)))
    ]

    @model_validator(mode="before")
    @classmethod
    def unwrap(cls, value: Any) -> Any:
        return _unwrapped(value, key="memories")

    def found(self) -> MemoriesFound:
        return MemoriesFound(memories=tuple(one.memory() for one in self.memories))


def _arguments(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError("must be an object") from None
    if is_too_deep(value) or not is_storable(value):
        raise ValueError("holds a number or a depth that cannot be kept")
    return value


class ToolAnswer(Lenient):
    """A call of a tool, as a reflector asks for it."""

    tool: str = Field(min_length=1, max_length=64, validation_alias=AliasChoices("tool", "action", "tool_name"))
    arguments: Annotated[dict[str, JsonValue], BeforeValidator(_arguments)] = Field(
        default_factory=dict, validation_alias=AliasChoices("arguments", "action_input", "args", "parameters", "input")
    )
