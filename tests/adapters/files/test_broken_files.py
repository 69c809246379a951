"""Each file is broken in one way, and that is what is said of it, with the place."""

import tarfile
from typing import Any

import pytest

from reflection_app.loops.completeness.files import FaultCode
from tests.adapters.files import broken, whole
from tests.adapters.files.broken import cut
from tests.adapters.files.opening import codes, inspect_here


def torn_csv() -> bytes:
    return whole.csv_file().replace(b"South,Q1,95", b"South,Q1")


def bad_line() -> bytes:
    return whole.json_lines().replace(b'"South"', b'"South')


def entry(name: str) -> bytes:
    return whole.zip_file({"good.txt": b"good", name: b"bad"})


BROKEN: list[tuple[str, bytes, dict[str, Any], FaultCode, str]] = [
    ("report.xlsx", cut(whole.workbook()), {}, FaultCode.TRUNCATED, ""),
    ("locked.xlsx", broken.locked_workbook(), {}, FaultCode.ENCRYPTED, ""),
    ("sales.xlsx", whole.workbook(), {"columns": ["region", "profit"]}, FaultCode.MISSING_COLUMN, ""),
    ("sales.xlsx", whole.workbook(), {"sheets": ["Sales", "Costs"]}, FaultCode.MISSING_SHEET, ""),
    ("sales.xlsx", whole.workbook(), {"min_rows": 100}, FaultCode.TOO_FEW_ROWS, ""),
    ("sales.csv", torn_csv(), {}, FaultCode.TORN_ROW, "line 3"),
    ("sales.csv", whole.csv_file()[:-8], {}, FaultCode.TRUNCATED, "line 4"),
    ("sales.csv", b'a,b\n1,"two\n3,four\n5,six\n', {}, FaultCode.TRUNCATED, "line 2"),
    ("sales.csv", "stadt,preis\nKöln,1\nDüren,2\n".encode("cp1252"), {}, FaultCode.ENCODING, "line 2"),
    ("sales.jsonl", bad_line(), {}, FaultCode.BAD_LINE, "line 2"),
    ("sales.jsonl", cut(whole.json_lines(), 0.9), {}, FaultCode.TRUNCATED, "line 3"),
    ("sales.json", cut(whole.json_file()), {}, FaultCode.TRUNCATED, "line 10"),
    ("sales.json", whole.json_file().replace(b'"sales": 95', b"'sales': 95"), {}, FaultCode.SYNTAX, "line 10"),
    ("sales.json", b'{"mean": NaN}', {}, FaultCode.SYNTAX, "line 1"),
    ("sales.json", whole.json_lines(), {}, FaultCode.SYNTAX, "line 2"),
    (
        "sales.json",
        whole.json_file().replace(b"95", b"-95"),
        {"schema": {"type": "array", "items": whole.SCHEMA}},
        FaultCode.SCHEMA,
        "$[1].sales",
    ),
    ("sales.json", b"[" * 100_000 + b"]" * 100_000, {}, FaultCode.UNFOLDS, ""),
    ("sales.parquet", cut(whole.parquet()), {}, FaultCode.TRUNCATED, ""),
    ("report.docx", whole.document(), {"sections": ["Summary", "Conclusion"]}, FaultCode.MISSING_SECTION, ""),
    ("report.docx", cut(whole.document()), {}, FaultCode.TRUNCATED, ""),
    (
        "report.docx",
        broken.with_entities(whole.document(), "word/document.xml"),
        {},
        FaultCode.UNFOLDS,
        "word/document.xml",
    ),
    (
        "report.docx",
        broken.renamed_part(
            broken.with_entities(whole.document(), "word/document.xml"), "word/document.xml", "word/document.bin"
        ),
        {},
        FaultCode.UNFOLDS,
        "word/document.bin",
    ),
    *(
        (
            "report.docx",
            broken.with_entities(whole.document(), "word/document.xml", written=written),
            {},
            FaultCode.UNFOLDS,
            "word/document.xml",
        )
        for written in (broken.in_utf_16, broken.after_blanks)
    ),
    *(
        (
            "report.docx",
            broken.in_encoding(broken.with_entities(whole.document(), "word/document.xml"), "word/document.xml", name),
            {},
            FaultCode.UNFOLDS,
            "word/document.xml",
        )
        for name in ("utf-16-le", "utf-16-be", "utf-16", "utf-7")
    ),
    ("report.docx", whole.zip_file(), {}, FaultCode.OTHER_KIND, ""),
    ("sales.xlsx", broken.with_entities(whole.workbook(), "xl/workbook.xml"), {}, FaultCode.UNFOLDS, "xl/workbook.xml"),
    ("talk.pptx", whole.slides(3), {"min_pages": 5}, FaultCode.TOO_FEW_PAGES, ""),
    ("talk.pptx", whole.without_part(whole.slides(), "ppt/slides/slide2.xml"), {}, FaultCode.UNREADABLE, ""),
    ("scan.pdf", whole.pdf(text=False), {}, FaultCode.NO_TEXT, ""),
    ("report.pdf", whole.pdf(password="secret"), {}, FaultCode.ENCRYPTED, ""),
    ("report.pdf", cut(whole.pdf()), {}, FaultCode.TRUNCATED, ""),
    ("report.pdf", whole.pdf(2), {"min_pages": 3}, FaultCode.TOO_FEW_PAGES, ""),
    ("chart.png", whole.picture("JPEG"), {}, FaultCode.OTHER_ENDING, ""),
    ("chart.png", cut(whole.picture()), {}, FaultCode.TRUNCATED, ""),
    ("chart.png", whole.picture()[:-12], {}, FaultCode.TRUNCATED, ""),
    ("photo.jpg", cut(whole.picture("JPEG")), {}, FaultCode.TRUNCATED, ""),
    ("chart.png", whole.picture(), {"min_width": 800}, FaultCode.TOO_SMALL, ""),
    ("chart.png", broken.png_of(60_000, 60_000), {}, FaultCode.UNFOLDS, ""),
    ("chart.png", b"<!DOCTYPE html><html><body>404</body></html>", {}, FaultCode.OTHER_KIND, ""),
    ("page.html", whole.HTML[:-70].encode(), {}, FaultCode.TRUNCATED, "line 4"),
    ("notes.md", whole.MARKDOWN.encode(), {"min_words": 5_000}, FaultCode.TOO_FEW_WORDS, ""),
    ("out.zip", broken.zip_bomb(), {}, FaultCode.UNFOLDS, ""),
    ("out.zip", broken.nested_bomb(), {}, FaultCode.UNFOLDS, ""),
    ("out.zip", broken.endless_zip(), {}, FaultCode.UNFOLDS, ""),
    ("out.zip", broken.overlapping_zip(), {}, FaultCode.UNFOLDS, ""),
    ("out.zip", broken.encrypted_zip(), {}, FaultCode.ENCRYPTED, "secret.txt"),
    ("out.zip", entry("../../etc/cron.d/job"), {}, FaultCode.UNSAFE_ENTRY, "../../etc/cron.d/job"),
    ("out.zip", entry("/etc/passwd"), {}, FaultCode.UNSAFE_ENTRY, "/etc/passwd"),
    ("out.zip", entry("C:\\Windows\\evil.dll"), {}, FaultCode.UNSAFE_ENTRY, "C:\\Windows\\evil.dll"),
    ("out.zip", cut(whole.zip_file()), {}, FaultCode.TRUNCATED, ""),
    ("out.zip", whole.zip_file(), {"entries": ["report.md", "*.png"]}, FaultCode.MISSING_ENTRY, ""),
    ("out.tar.gz", broken.tar_with(tarfile.SYMTYPE, "link", "/etc/passwd"), {}, FaultCode.UNSAFE_ENTRY, "link"),
    ("out.tar.gz", broken.tar_with(tarfile.CHRTYPE, "device"), {}, FaultCode.UNSAFE_ENTRY, "device"),
    ("out.tar.gz", broken.tar_with_name("../outside"), {}, FaultCode.UNSAFE_ENTRY, "../outside"),
    ("out.tar", cut(whole.tar_file("w")), {}, FaultCode.TRUNCATED, ""),
    ("out.tar.gz", cut(whole.tar_file()), {}, FaultCode.TRUNCATED, ""),
    ("sales.csv.gz", cut(whole.gzip_file()), {}, FaultCode.TRUNCATED, ""),
    ("sales.csv.gz", broken.gzip_bomb(), {}, FaultCode.UNFOLDS, ""),
    ("empty.csv", b"", {}, FaultCode.EMPTY, ""),
    ("blank.txt", b" \n\n", {}, FaultCode.EMPTY, ""),
    ("report.pdf", whole.document(), {"kind": "pdf"}, FaultCode.OTHER_KIND, ""),
    ("report.pdf", whole.document(), {"kind": "docx"}, FaultCode.OTHER_ENDING, ""),
    ("sales.csv", whole.csv_file(), {"min_bytes": 10_000}, FaultCode.TOO_SMALL, ""),
    ("drawing.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><g></svg>', {}, FaultCode.SYNTAX, "line 1"),
]


@pytest.mark.parametrize(
    ("name", "content", "asked", "code", "place"),
    BROKEN,
    ids=[f"{number}-{name}-{code.value}" for number, (name, _, _, code, _) in enumerate(BROKEN)],
)
def test_what_is_broken_is_named_and_nothing_else(
    name: str, content: bytes, asked: dict[str, Any], code: FaultCode, place: str
) -> None:
    facts = inspect_here(content, name=name, **asked)
    assert facts.could_look, facts
    assert codes(facts) == {code}, facts.faults
    assert not place or facts.faults[0].place == place


def test_a_zip_that_lies_about_its_sizes_is_found_out() -> None:
    facts = inspect_here(broken.lying_zip_bomb(), name="out.zip")
    assert codes(facts) <= {FaultCode.UNREADABLE, FaultCode.UNFOLDS}
    assert facts.faults


def test_faults_are_bounded_however_many_there_are() -> None:
    facts = inspect_here(whole.csv_file() * 500 + b"torn\n" * 900, name="sales.csv")
    assert len(facts.faults) == 5
    assert facts.rows == 2_899
