"""Stands in for the inspector until it is there."""

import csv
import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

from reflection_app.loops.completeness.file_checks import fits
from reflection_app.loops.completeness.files import (
    FaultCode,
    FileFacts,
    FileFault,
    FileKind,
    FileRequirement,
    FilesInspected,
)


def inspect_files(
    files: Sequence[Any], requirements: Sequence[FileRequirement], *, deadline_s: float
) -> FilesInspected:
    facts = tuple(inspect_file(one.content, name=one.name, deadline_s=deadline_s) for one in files)
    missing = tuple(
        FileFault(code=FaultCode.NOT_THERE, expected=one.path)
        for one in requirements
        if not any(fits(fact.name, one.path) for fact in facts)
    )
    return FilesInspected(files=facts, missing=missing)


def inspect_file(
    content: bytes, *, name: str, requirement: FileRequirement | None = None, deadline_s: float
) -> FileFacts:
    faults = []
    kind, rows, begins, columns = FileKind.OTHER, None, "", ()
    if name.endswith(".xlsx"):
        kind = FileKind.XLSX
        try:
            zipfile.ZipFile(io.BytesIO(content)).testzip()
        except zipfile.BadZipFile:
            faults.append(FileFault(code=FaultCode.TRUNCATED, place="end"))
    elif name.endswith(".csv"):
        kind = FileKind.CSV
        begins = content.decode()
        table = list(csv.reader(io.StringIO(begins)))
        rows, columns = len(table) - 1, tuple(table[0])
        for number, row in enumerate(table, 1):
            if len(row) != len(table[0]):
                faults.append(
                    FileFault(
                        code=FaultCode.TORN_ROW,
                        place=f"line {number}",
                        expected=str(len(table[0])),
                        actual=str(len(row)),
                    )
                )
    elif name.endswith(".json"):
        kind = FileKind.JSON
        begins = content.decode()
        try:
            json.loads(begins)
        except ValueError as error:
            faults.append(FileFault(code=FaultCode.SYNTAX, place=str(error)))
    return FileFacts(
        name=name, size=len(content), kind=kind, rows=rows, begins=begins, columns=columns, faults=tuple(faults)
    )
