"""The base of every value that passes between layers."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value that refuses fields it does not know, so that a misspelt field is an error and not silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")
