"""Base classes of values that are passed between layers."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Value(BaseModel):
    """A frozen value that rejects unknown fields, so that a misspelled field raises an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Recorded(Value):
    """A value stored in journals. Fields that were removed later are ignored when it is read."""

    model_config = ConfigDict(extra="ignore")


# Messages for prompts, in a form that all providers support


# Anthropic's rule of thumb (https://docs.anthropic.com/en/docs/build-with-claude/vision); others count fewer.
PIXELS_PER_TOKEN = 750


class Picture(Value):
    """A page of a file sent with a message, identified by the hash of its content, which no journal stores.

    An image is its own first page. No side of the image sent is longer than `max_side_px`.
    """

    sha256: str = Field(min_length=64, max_length=64)
    page: int = Field(default=1, ge=1)
    max_side_px: int = Field(ge=16, le=4_096)


class Message(BaseModel):
    """One turn of a conversation. Its images precede its text and are numbered from 1 in order."""

    model_config = ConfigDict(frozen=True)

    role: Literal["system", "user", "assistant"]
    content: str
    # Excluded when empty, so records from before pictures existed read and serialize unchanged.
    pictures: tuple[Picture, ...] = Field(default=(), exclude_if=lambda pictures: not pictures)


# Some providers refuse a message without content.
NO_ANSWER = "(no answer)"


def system(content: str) -> Message:
    return Message(role="system", content=content)


def user(content: str, *, pictures: tuple[Picture, ...] = ()) -> Message:
    return Message(role="user", content=content, pictures=pictures)


def with_last(messages: tuple[Message, ...], content: str) -> tuple[Message, ...]:
    """Return the messages with other content in the last one."""
    return (*messages[:-1], messages[-1].model_copy(update={"content": content}))


def assistant(content: str) -> Message:
    return Message(role="assistant", content=content)
