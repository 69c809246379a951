"""The base of every value that passes between layers."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Value(BaseModel):
    """A frozen value that refuses fields it does not know, so that a misspelt field is an error and not silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Recorded(Value):
    """A value that journals hold. Fields that were removed since are ignored when it is read."""

    model_config = ConfigDict(extra="ignore")


# The message that every loop builds its prompts from, in the form that all providers understand.


# Anthropic's rule of thumb (https://docs.anthropic.com/en/docs/build-with-claude/vision); others count less.
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
    # Left out where there are none: what was recorded before there were pictures reads and is written as ever.
    pictures: tuple[Picture, ...] = Field(default=(), exclude_if=lambda pictures: not pictures)


# Some providers refuse a message without content.
NO_ANSWER = "(no answer)"


def system(content: str) -> Message:
    return Message(role="system", content=content)


def user(content: str, *, pictures: tuple[Picture, ...] = ()) -> Message:
    return Message(role="user", content=content, pictures=pictures)


def with_last(messages: tuple[Message, ...], content: str) -> tuple[Message, ...]:
    """The messages, the last of them with other content."""
    return (*messages[:-1], messages[-1].model_copy(update={"content": content}))


def assistant(content: str) -> Message:
    return Message(role="assistant", content=content)
