"""An entry as files hold it, and what could not be read as one."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from notebook_app.kinds import EntryKind, words_of
from notebook_app.storable_text import storable

LONGEST_TEXT = 20_000
MOST_ITEMS = 5_000
# Kept with the import and shown; a wrong file may be wrong in every line.
MOST_PROBLEMS = 200


class ImportItem(BaseModel):
    """One entry of a file. `key` is what the file itself calls it, in a form that no other kind of file uses."""

    model_config = ConfigDict(extra="forbid")

    file: str
    key: str = Field(max_length=200)
    kind: EntryKind
    name: str = Field(min_length=1, max_length=200)
    description: str = Field(default="", max_length=LONGEST_TEXT)
    content: str = Field(default="", max_length=LONGEST_TEXT)
    details: dict[str, Any] = Field(default_factory=dict)
    agent: str = Field(default="", max_length=120)
    category: str = Field(default="", max_length=120)
    tags: list[str] = Field(default_factory=list, max_length=20)
    occurrences: int = Field(default=1, ge=1, le=1_000_000)
    id: str = ""

    @model_validator(mode="after")
    def check_it_can_be_stored(self) -> "ImportItem":
        texts = (self.file, self.key, self.name, self.description, self.content, self.agent, self.category)
        # What the details are is checked later, by their kind: they may hold anything yet.
        said = "".join((*texts, *self.tags, *map(str, words_of(self.details))))
        if storable(said) != said:
            raise ValueError("a text holds a NUL character or half a surrogate pair, which cannot be stored")
        return self


@dataclass(frozen=True)
class Problem:
    """What could not be read: the file, where in it, and why."""

    file: str
    where: str
    message: str


class Unreadable(ValueError):
    """A part of a file is not in the form that the file's name says."""


def first_sentence(text: str, *, longest: int = 120) -> str:
    """The beginning of `text` as a name: its first line, cut at the end of a sentence or where it gets too long."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    for end in ("。", "！", "？", ". ", "! ", "? "):
        place = line.find(end)
        if 10 <= place < longest:
            return line[: place + 1].rstrip(" .")
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
