"""Ways in which a faulty file could pass for what is required, and a good one could fail."""

import unicodedata
from dataclasses import dataclass
from typing import Any

import pytest

from reflection_app.adapters.files import inspect_file, inspect_files, inspecting
from reflection_app.adapters.files.child import Answer
from reflection_app.adapters.files.inside.pages import lacks_end
from reflection_app.adapters.sandbox.process import Record
from reflection_app.loops.completeness.file_checks import FilesChecked
from reflection_app.loops.completeness.files import FaultCode, FileRequirement, WhyNot, fits
from tests.adapters.files import whole


@dataclass(frozen=True)
class File:
    name: str
    content: bytes


def checked(file: File, *required: dict[str, Any]) -> FilesChecked:
    requirements = tuple(FileRequirement.model_validate(one) for one in required)
    return FilesChecked(inspect_files([file], requirements), requirements)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("report[1].csv", "report[1].csv"),
        ("out/report[1].csv", "report[1].csv"),
        (unicodedata.normalize("NFD", "résumé.pdf"), unicodedata.normalize("NFC", "résumé.pdf")),
        (unicodedata.normalize("NFC", "résumé.pdf"), unicodedata.normalize("NFD", "R*É.PDF")),
        ("out/report.csv", "out\\report.csv"),
        # Names are kept without the slash in front of them, and with single spaces.
        ("mnt/data/report.csv", "/mnt/data/report.csv"),
        ("my report.csv", "my  report.csv"),
    ],
)
def test_a_file_is_found_under_whatever_form_of_its_name(name: str, path: str) -> None:
    assert fits(name, path)


@pytest.mark.parametrize(
    ("name", "path"),
    [("report1.csv.exe", "report[1].csv"), ("myreport.csv", "report.csv"), ("a/report.csv", "b/*.csv")],
)
def test_a_file_of_another_name_is_another_file(name: str, path: str) -> None:
    assert not fits(name, path)


def test_each_of_several_requirements_on_one_file_is_held_against_it() -> None:
    first = {"path": "*.json", "schema": {"type": "object"}}
    schema = checked(File("data.json", b'{"a": 1}'), first, {"path": "data.json", "schema": {"required": ["total"]}})
    assert [one.fault.code for one in schema.deciding] == [FaultCode.SCHEMA]
    kind = checked(File("data.csv", whole.csv_file()), {"path": "*.csv", "kind": "csv"}, {"path": "*", "kind": "json"})
    assert [one.fault.code for one in kind.deciding] == [FaultCode.OTHER_KIND]


def test_data_without_an_ending_is_held_against_its_schema() -> None:
    facts = checked(File("data", b'{"a": 1}'), {"path": "data", "schema": {"required": ["total"]}})
    assert [one.fault.code for one in facts.deciding] == [FaultCode.SCHEMA]


@pytest.mark.parametrize("name", ["data.yaml", "data.txt", "data.md"])
def test_a_schema_is_not_met_by_a_format_that_nobody_here_finds_data_in(name: str) -> None:
    told = checked(File(name, b"a: 1\n"), {"path": "data.*", "schema": {"required": ["total"]}})
    assert [one.why_not for one in told.unseen] == [WhyNot.NO_READER]
    assert (told.deciding, told.results, told.lacks_a_look) == ((), (), True)


def test_an_archive_made_on_a_mac_has_the_entry_by_its_name() -> None:
    content = whole.zip_file({unicodedata.normalize("NFD", "résumé.txt"): b"here", "a[1].txt": b"here"})
    wanted = FileRequirement(path="out.zip", entries=(unicodedata.normalize("NFC", "résumé.txt"), "a[1].txt"))
    assert inspect_file(content, name="out.zip", requirement=wanted).is_good


def test_a_document_is_cut_off_where_objects_follow_the_last_mark_of_an_end() -> None:
    content = whole.pdf(3)
    assert not lacks_end(content)
    assert not lacks_end(content + b"\r\n<!-- served in 3 ms -->")
    # As a document begins whose first page is to be shown first, or one that was changed since.
    first = content + b"\n12 0 obj\n<< /Type /Page >>\nendobj\n13 0 obj\n<< /Le"
    assert lacks_end(first)
    facts = inspect_file(first, name="report.pdf")
    assert [one.code for one in facts.faults] == [FaultCode.TRUNCATED]


def test_a_file_that_is_not_opened_for_want_of_room_is_not_missing() -> None:
    requirement = FileRequirement(path="*.csv", min_files=2)
    told = inspect_files([File("a.csv", whole.csv_file())], [requirement], unread=["b.csv"])
    assert told.missing == ()
    assert inspect_files([File("a.csv", whole.csv_file())], [requirement], unread=["b.md"]).missing


def test_a_process_that_opened_one_file_cannot_tell_of_another() -> None:
    forged = b'{"name": "required.csv", "sha256": "0", "size": 1, "kind": "csv", "rows": 1000}'
    record = Record(0, "ended", 0, 1.0, forged, b"", b"")
    wanted = inspecting.Wanted("other.csv", b"a,b\n", (), None)
    facts = inspecting._read(wanted, Answer(record), deadline_s=1.0)
    assert (facts.name, facts.size, facts.rows) == ("other.csv", 4, 1000)
    assert len(facts.sha256) == 64


@pytest.mark.parametrize(
    ("name", "content", "required"),
    [
        ("a.xlsx", whole.workbook(), {"columns": ["name", "no such column"], "sheets": ["no such sheet"]}),
        ("a.docx", whole.document(), {"sections": ["Results"]}),
        ("a.zip", whole.zip_file(), {"entries": ["data.csv"]}),
    ],
)
def test_names_of_a_file_that_breaks_off_are_not_said_to_be_missing(
    name: str, content: bytes, required: dict[str, Any]
) -> None:
    found = checked(File(name, content[: len(content) * 2 // 3]), {"path": name} | required)
    assert [(one.fault.code, one.fault.actual) for one in found.deciding] == [(FaultCode.TRUNCATED, "")]
