"""Codes for produced files: format, faults, and reasons why a file was not inspected.

Imports nothing from the project, because the sandbox that opens the files uses this module too.
"""

from enum import StrEnum


class FileKind(StrEnum):
    """File format, which determines the inspection."""

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


class FaultCode(StrEnum):
    """Fault found in a file. The labels are in core/registry.py."""

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
    FORMULA_ERROR = "formula_error"
    UNFOLDS = "unfolds_too_far"
    UNSAFE_ENTRY = "unsafe_entry"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"


class WhyNot(StrEnum):
    """Reason why a file was not inspected. It says nothing about the file."""

    NO_SANDBOX = "no_sandbox"
    NO_LIBRARY = "no_library"
    NO_READER = "no_reader"
    NO_TIME = "no_time"
