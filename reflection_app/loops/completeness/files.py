"""Values for produced files: requirements, facts found by opening a file, and faults. Pure.

Names and claims are not trusted. All facts come from the file's bytes, read in the sandbox within limits.
"""

import re
import unicodedata
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import ConfigDict, Field, field_validator, model_validator

from reflection_app.loops.completeness.file_codes import FaultCode, FileKind, WhyNot
from reflection_app.loops.json_schema import check_schema
from reflection_app.loops.storable import Text
from reflection_app.loops.texts import cut, one_line
from reflection_app.loops.values import Recorded, Value

__all__ = (
    "MOST_LISTED",
    "MOST_REQUIRED",
    "FaultCode",
    "FileFacts",
    "FileFault",
    "FileKind",
    "FileRequirement",
    "FilesInspected",
    "WhyNot",
    "fits",
)

MOST_REQUIRED = 50
MOST_LISTED = 200
LONGEST_NAME = 200
LONGEST_TOLD = 300
Short = Annotated[Text, Field(min_length=1, max_length=LONGEST_NAME)]
Listed = Annotated[tuple[Short, ...], Field(max_length=MOST_REQUIRED)]
Least = Annotated[int | None, Field(ge=1, le=1_000_000_000)]


class FileRequirement(Value):
    """A file that the work must produce: one whose name matches `path`, a pattern such as `charts/*.png`.

    `schema` is a JSON Schema (draft 2020-12) for the data, or for each line or row by column name. `sections` are
    required headings of a document. `shows` describes what must be visible, which only a model can check.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    path: Short
    kind: FileKind | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    columns: Listed = ()
    sheets: Listed = ()
    sections: Listed = ()
    entries: Listed = ()
    min_files: int = Field(default=1, ge=1, le=20)
    min_bytes: Least = None
    min_rows: Least = None
    min_pages: Least = None
    min_words: Least = None
    min_width: Least = None
    min_height: Least = None
    shows: Text = Field(default="", max_length=2_000)

    @field_validator("schema_")
    @classmethod
    def check_that_schema_can_be_used(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema is not None:
            check_schema(schema)
        return schema


def fits(name: str, path: str) -> bool:
    """Return True if a file called `name` satisfies the requirement's `path`.

    Agents name files by full path or by the last part alone; both match. A path with pattern characters, such as
    `report[1].csv`, also matches the file of exactly that name.
    """
    name, path = _plain(name), _plain(path)
    if f"/{name}".endswith(f"/{path}") or fnmatchcase(name, path) or fnmatchcase(name, f"*/{path}"):
        return True
    last = path.rsplit("/", 1)[-1]
    return "/" not in name and (name == last or fnmatchcase(name, last))


def _plain(path: str) -> str:
    """Return the path without platform differences: Unicode form, case, slashes, white space."""
    spaced = " ".join(unicodedata.normalize("NFC", path).replace("\\", "/").split())
    return unicodedata.normalize("NFC", re.sub(r"^(?:\.?/)+", "", spaced).casefold())


class FileFault(Value):
    """A fault of a file. `place` is where (`line 3`, `Sheet1!B2`, `page 2`).

    `expected` and `actual` fill the code's text.
    """

    code: FaultCode
    place: Text = Field(default="", examples=["line 3"])
    expected: Text = ""
    actual: Text = ""

    @property
    def in_words(self) -> str:
        """The fault as text for models and programs: what, where, expected and found."""
        words = self.code.value.replace("_", " ")
        words += f" ({one_line(self.place)})" if self.place else ""
        words += f", expected {one_line(self.expected)}" if self.expected else ""
        words += f", found {one_line(self.actual)}" if self.actual else ""
        return cut(words, LONGEST_TOLD)


class FileFacts(Recorded):
    """Facts found by opening a file. Counts are None if they do not apply or are unknown.

    If `could_look` is False, `why_not` is a WhyNot. `lacks` then names the library or format, or quotes the sandbox.
    """

    name: Text
    sha256: str = ""
    size: int = Field(default=0, description="size in bytes")
    media_type: str = ""
    kind: FileKind = FileKind.OTHER
    could_look: bool = Field(
        default=True, description="false if the file could not be opened here; this is not a fault of the file"
    )
    why_not: Text = ""
    lacks: Text = ""
    is_whole: bool = Field(default=True, description="false if limits stopped the inspection before its end")
    encoding: str = ""
    rows: int | None = None
    columns: tuple[Text, ...] = ()
    sheets: tuple[Text, ...] = ()
    headings: tuple[Text, ...] = ()
    pages: int | None = None
    words: int | None = None
    width: int | None = None
    height: int | None = None
    entries: tuple[Text, ...] = ()
    begins: Text = ""
    faults: tuple[FileFault, ...] = ()

    @property
    def is_good(self) -> bool:
        return self.could_look and not self.faults

    @property
    def is_read(self) -> bool:
        """True if the file was inspected to its end. An unread rest may hold a fault."""
        return self.could_look and self.is_whole


class FilesInspected(Value):
    """All files produced so far, and the task's file requirements that none of them meets."""

    files: tuple[FileFacts, ...] = ()
    missing: tuple[FileFault, ...] = ()

    @model_validator(mode="after")
    def check_bounds(self) -> "FilesInspected":
        if len(self.files) > MOST_LISTED:
            raise ValueError(f"at most {MOST_LISTED} files are told of")
        return self
