"""What a file that work has produced must be, what it was found to be by opening it, and what is wrong with it. Pure.

Names and claims are never believed: all of a file's facts were found in its own bytes, in the sandbox, within bounds.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value

MOST_REQUIRED = 50
MOST_LISTED = 200
LONGEST_NAME = 200
Short = Annotated[Text, Field(min_length=1, max_length=LONGEST_NAME)]
Listed = Annotated[tuple[Short, ...], Field(max_length=MOST_REQUIRED)]
Least = Annotated[int | None, Field(ge=1, le=1_000_000_000)]


class FileKind(StrEnum):
    """What is opened, and how."""

    JSON = "json"
    JSON_LINES = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    XLSX = "xlsx"
    PARQUET = "parquet"
    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    HTML = "html"
    MARKDOWN = "markdown"
    IMAGE = "image"
    SOUND = "sound"
    ARCHIVE = "archive"
    SOURCE = "source"
    TEXT = "text"
    OTHER = "other"


class FileRequirement(Value):
    """A file that the work must have produced: one whose name fits `path`, a pattern as in `charts/*.png`.

    `schema` is a JSON Schema (draft 2020-12): of the data, or of each line or row, by its columns' names. `sections`
    are headings that a document must have. `shows` is what a person should see on it, which only a model can tell.
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


class FaultCode(StrEnum):
    """What is wrong with a file. The registry has the words (core/registry.py)."""

    NOT_THERE = "not_there"
    TOO_FEW = "too_few_files"
    EMPTY = "empty"
    OTHER_KIND = "other_kind"
    OTHER_ENDING = "other_ending"
    TRUNCATED = "truncated"
    UNREADABLE = "unreadable"
    ENCRYPTED = "encrypted"
    ENCODING = "encoding"
    SYNTAX = "syntax"
    TORN_ROW = "torn_row"
    BAD_LINE = "bad_line"
    NO_TEXT = "no_text"
    SCHEMA = "schema"
    MISSING_COLUMN = "missing_column"
    MISSING_SHEET = "missing_sheet"
    MISSING_SECTION = "missing_section"
    MISSING_ENTRY = "missing_entry"
    TOO_FEW_ROWS = "too_few_rows"
    TOO_FEW_PAGES = "too_few_pages"
    TOO_FEW_WORDS = "too_few_words"
    TOO_SMALL = "too_small"
    BROKEN_LINK = "broken_link"
    UNFOLDS = "unfolds_too_far"
    UNSAFE_ENTRY = "unsafe_entry"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"


class FileFault(Value):
    """`place` is where in the file (`line 3`, `Sheet1!B2`, `page 2`); `expected` and `actual` fill the words of `code`."""

    code: FaultCode
    place: Text = ""
    expected: Text = ""
    actual: Text = ""


class FileFacts(Value):
    """What opening a file told. None where it does not apply, or nobody could tell.

    `could_look` is False where no library for it is installed here or the sandbox cannot start, which says nothing
    of the file; `why_not` says which. `is_whole` is False where bounds ended the look before the file's end.
    """

    name: Text
    sha256: str = ""
    size: int = 0
    media_type: str = ""
    kind: FileKind = FileKind.OTHER
    could_look: bool = True
    why_not: Text = ""
    is_whole: bool = True
    encoding: str = ""
    rows: int | None = None
    columns: tuple[Text, ...] = ()
    sheets: tuple[Text, ...] = ()
    headings: tuple[Text, ...] = ()
    links: int | None = None
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


class FilesInspected(Value):
    """All files that the work has produced so far, and what of the task's requirements none of them meets."""

    files: tuple[FileFacts, ...] = ()
    missing: tuple[FileFault, ...] = ()

    @model_validator(mode="after")
    def check_bounds(self) -> "FilesInspected":
        if len(self.files) > MOST_LISTED:
            raise ValueError(f"at most {MOST_LISTED} files are told of")
        return self

    @property
    def has_faults(self) -> bool:
        return bool(self.missing) or any(one.faults for one in self.files)
