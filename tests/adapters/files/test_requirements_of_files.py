"""Ways in which a faulty file could pass for what is required, and a good one could fail."""

import io
import unicodedata
from typing import Any

import pytest
from openpyxl import Workbook

from desk_sandbox.process import Record
from reflection_app.adapters.files import Produced, inspect_files, inspecting
from reflection_app.adapters.files.child import Answer
from reflection_app.adapters.files.inside.found import Found
from reflection_app.adapters.files.inside.office import inspect_workbook
from reflection_app.loops.completeness.file_checks import FilesChecked
from reflection_app.loops.completeness.files import FaultCode, FileKind, FileRequirement, WhyNot, fits
from tests.adapters.files import whole
from tests.adapters.files.opening import inspect_here, produced


def checked(file: Produced, *required: dict[str, Any]) -> FilesChecked:
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
    schema = checked(
        produced("data.json", b'{"a": 1}'), first, {"path": "data.json", "schema": {"required": ["total"]}}
    )
    assert [one.fault.code for one in schema.deciding] == [FaultCode.SCHEMA]
    kind = checked(
        produced("data.csv", whole.csv_file()), {"path": "*.csv", "kind": "csv"}, {"path": "*", "kind": "json"}
    )
    assert [one.fault.code for one in kind.deciding] == [FaultCode.OTHER_KIND]


def test_data_without_an_ending_is_held_against_its_schema() -> None:
    facts = checked(produced("data", b'{"a": 1}'), {"path": "data", "schema": {"required": ["total"]}})
    assert [one.fault.code for one in facts.deciding] == [FaultCode.SCHEMA]


@pytest.mark.parametrize("name", ["data.yaml", "data.csv"])
def test_a_schema_is_not_met_by_a_format_that_nobody_here_finds_data_in(name: str) -> None:
    told = checked(produced(name, b"a: 1\n"), {"path": "data.*", "schema": {"required": ["total"]}})
    assert [one.why_not for one in told.inspected.files] == [WhyNot.NO_READER]
    assert (told.deciding, told.results, len(told.unknown)) == ((), (), 1)


def test_an_archive_made_on_a_mac_has_the_entry_by_its_name() -> None:
    content = whole.zip_file({unicodedata.normalize("NFD", "résumé.txt"): b"here", "a[1].txt": b"here"})
    wanted = [unicodedata.normalize("NFC", "résumé.txt"), "a[1].txt"]
    assert inspect_here(content, name="out.zip", entries=wanted).is_good


def test_a_file_that_is_not_opened_for_want_of_room_is_not_missing() -> None:
    requirement = FileRequirement(path="*.csv", min_files=2)
    told = inspect_files([produced("a.csv", whole.csv_file()), produced("b.csv", None)], [requirement])
    assert told.missing == ()
    assert [one.why_not for one in told.files] == ["", WhyNot.NO_TIME]


def test_a_process_that_opened_one_file_cannot_tell_of_another() -> None:
    forged = b'{"name": "required.csv", "sha256": "0", "size": 1, "kind": "csv", "rows": 1000}'
    record = Record(0, "ended", 0, 1.0, forged, b"", b"")
    wanted = inspecting.Wanted(produced("other.csv", b"a,b\n"))
    facts = inspecting._read(wanted, Answer(record), each_s=1.0)
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
    found = checked(produced(name, content[: len(content) * 2 // 3]), {"path": name} | required)
    assert [(one.fault.code, one.fault.actual) for one in found.deciding] == [(FaultCode.TRUNCATED, "")]


@pytest.mark.parametrize(
    ("name", "content"), [("sales.csv", b",,,,\n,,,,\n"), ("sales.csv", b"# nothing yet\n"), ("sales.csv", b"a,b\n")]
)
def test_a_table_without_a_row_does_not_have_the_least_of_rows(name: str, content: bytes) -> None:
    told = checked(produced(name, content), {"path": name, "min_rows": 1})
    assert [one.fault.code for one in told.deciding] == [FaultCode.TOO_FEW_ROWS]


@pytest.mark.parametrize(
    ("name", "content", "least"),
    [
        ("data.json", b'{"rows": []}', {"min_rows": 100}),
        ("report.docx", whole.document(), {"min_pages": 10}),
        ("chart.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", {"min_width": 800}),
    ],
    ids=["rows of an object", "pages of a document that has none", "the size of a drawing without one"],
)
def test_what_nobody_can_count_in_a_file_is_neither_met_nor_missed(
    name: str, content: bytes, least: dict[str, int]
) -> None:
    told = checked(produced(name, content), {"path": name, **least})
    assert (told.deciding, told.results, len(told.unknown)) == ((), (), 1)


def test_slow_files_beside_a_required_one_do_not_use_up_its_time() -> None:
    slow = [produced(f"{number}.md", b"<div>\n" + b"<a " * 300_000) for number in range(3)]
    files = [*slow, produced("sales.csv", whole.csv_file())]
    told = inspect_files(files, [FileRequirement(path="sales.csv")], each_s=2, deadline_s=3)
    assert [one.name for one in told.files] == ["0.md", "1.md", "2.md", "sales.csv"]
    assert told.files[-1].rows == len(whole.csv_file().splitlines()) - 1


def test_rows_of_very_many_cells_end_in_time_and_their_columns_are_known() -> None:
    book, written = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet()
    for _ in range(3):
        sheet.append([f"c{number}" for number in range(3_000)])
    book.save(written)
    found = Found(kind=FileKind.XLSX, media_type="", time_s=0.0)
    inspect_workbook(written.getvalue(), found)
    assert (found.is_whole, found.columns[:2], found.faults) == (False, ["c0", "c1"], [])
