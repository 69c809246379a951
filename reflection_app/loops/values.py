"""The base of every value that passes between layers."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value that refuses fields it does not know, so that a misspelt field is an error and not silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# The message that every loop builds its prompts from, in the form that all providers understand.


class Message(BaseModel):
    """One turn of a conversation."""

    model_config = ConfigDict(frozen=True)

    role: Literal["system", "user", "assistant"]
    content: str


# Some providers refuse a message without content.
NO_ANSWER = "(no answer)"


def system(content: str) -> Message:
    return Message(role="system", content=content)


def user(content: str) -> Message:
    return Message(role="user", content=content)


def with_last(messages: tuple[Message, ...], content: str) -> tuple[Message, ...]:
    """The messages, the last of them with other content."""
    return (*messages[:-1], messages[-1].model_copy(update={"content": content}))


def assistant(content: str) -> Message:
    return Message(role="assistant", content=content)
