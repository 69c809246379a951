"""The message that every loop builds its prompts from, in the form that all providers understand."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


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


def assistant(content: str) -> Message:
    return Message(role="assistant", content=content)
