"""Whole files, as the writers of the world write them, have no faults; and what is in them is told."""

import gzip
import io
from typing import Any

import docx
import pandas as pd
import pytest

from reflection_app.loops.completeness.files import FileKind
from tests.adapters.files import whole
from tests.adapters.files.opening import inspect_here
from tests.attachments import samples

FRAME = pd.DataFrame(whole.records())


def excel(engine: str) -> bytes:
    file = io.BytesIO()
    FRAME.to_excel(file, index=False, sheet_name="Sales", engine=engine)
    return file.getvalue()


def chinese_document() -> bytes:
    made = docx.Document()
    made.add_heading("季度报告", 0)
    made.add_heading("第一章 概述", 1)
    made.add_paragraph("东部地区的销售额有所增长。")
    made.add_heading("二、风险", 1)
    made.add_paragraph("南部落后。")
    return whole.written(made.save)


QUOTED = '\ufeffname,note\r\n"Müller, Anna","first line\r\nsecond ""line"""\r\nLi,\r\n'.encode()
SEMICOLONS = b"land;preis;anteil\nNord;1,50;0,3\nS\xc3\xbcd;2,75;0,7\n"
GBK = "城市,人口\n北京,21893095\n上海,24870895\n广州市越秀区,1038643\n".encode("gb18030")
WINDOWS_HTML = b'<html><head><meta charset="windows-1252"></head><body><p>Caf\xe9</p></body></html>'
SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="120" height="80px"><text>a</text></svg>'
NOTES = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'

WHOLE: list[tuple[str, bytes, dict[str, Any], dict[str, Any]]] = [
    ("sales.json", whole.json_file(), {"schema": {"type": "array", "items": whole.SCHEMA}, "min_rows": 3}, {"rows": 3}),
    ("notes.ipynb", NOTES.encode(), {}, {"kind": FileKind.JSON}),
    ("sales.jsonl", whole.json_lines(), {"schema": whole.SCHEMA, "columns": ["region"]}, {"rows": 3}),
    ("open.jsonl", whole.json_lines().rstrip(), {}, {"rows": 3}),
    ("sales.csv", whole.csv_file(), {"columns": ["region", "sales"]}, {"rows": 3}),
    ("quoted.csv", QUOTED, {"columns": ["name", "note"]}, {"rows": 2, "encoding": "utf-8"}),
    ("semicolons.csv", SEMICOLONS, {"columns": ["land", "preis", "anteil"], "min_rows": 2}, {"rows": 2}),
    ("chinese.csv", GBK, {"columns": ["城市"]}, {"rows": 3, "encoding": "gb18030"}),
    ("unicode.csv", "a\tb\nÄ\t1\n".encode("utf-16"), {"columns": ["a", "b"]}, {"rows": 1, "encoding": "utf-16"}),
    ("titled.csv", b"Sales of 2026\n\nregion,sales\nNorth,1\nSouth,2\n", {"columns": ["region"]}, {"rows": 2}),
    ("one.csv", b"name\nAnna\nLi\n", {"columns": ["name"]}, {"rows": 2}),
    ("pandas.csv", FRAME.to_csv().encode(), {"columns": ["region"]}, {"rows": 3}),
    ("sales.tsv", whole.csv_file("\t"), {"columns": ["sales"]}, {"rows": 3, "kind": FileKind.TSV}),
    ("openpyxl.xlsx", excel("openpyxl"), {"sheets": ["Sales"], "columns": ["region"], "min_rows": 3}, {"rows": 3}),
    ("xlsxwriter.xlsx", excel("xlsxwriter"), {}, {"rows": 3, "sheets": ("Sales",)}),
    ("formula.xlsx", whole.workbook_of_xlsxwriter(), {}, {"rows": 4}),
    ("sales.parquet", whole.parquet(), {"columns": ["sales"]}, {"rows": 1_500}),
    ("report.docx", whole.document(), {"sections": ["Summary", "risks"], "min_words": 10}, {"words": 18}),
    (
        "bericht.docx",
        chinese_document(),
        {"sections": ["概述", "风险"]},
        {"headings": ("季度报告", "第一章 概述", "二、风险")},
    ),
    ("talk.pptx", whole.slides(), {"min_pages": 3, "sections": ["Part 2"]}, {"pages": 3}),
    ("report.pdf", whole.pdf(), {"min_pages": 2, "min_words": 8}, {"pages": 2, "words": 12}),
    ("page.html", whole.HTML.encode(), {"sections": ["Risks"]}, {"headings": ("Report", "Risks")}),
    ("old.html", WINDOWS_HTML, {}, {"encoding": "windows-1252"}),
    ("notes.md", whole.MARKDOWN.encode(), {"sections": ["What may go wrong"]}, {}),
    ("chart.png", whole.picture(), {"min_width": 60, "min_height": 40}, {"width": 64, "height": 48}),
    ("chart.webp", whole.picture("WEBP", mode="RGBA"), {}, {"width": 64}),
    ("photo.jpg", whole.picture("JPEG"), {}, {"media_type": "image/jpeg"}),
    ("photo.avif", whole.picture("AVIF"), {}, {"media_type": "image/avif"}),
    ("scan.tiff", whole.picture("TIFF"), {}, {"media_type": "image/tiff"}),
    ("moving.gif", whole.animation(), {}, {"pages": 3}),
    ("drawing.svg", SVG, {}, {}),
    ("bell.wav", samples.wav(), {}, {"kind": FileKind.SOUND}),
    (
        "out.zip",
        whole.zip_file(),
        {"entries": ["report.md", "data/*.csv"]},
        {"entries": ("report.md", "data/sales.csv")},
    ),
    ("nested.zip", whole.zip_file({"inner.zip": whole.zip_file(), "a.gz": gzip.compress(b"a" * 99)}), {}, {}),
    ("out.tar.gz", whole.tar_file(), {"entries": ["data/sales.csv"]}, {"media_type": "application/gzip"}),
    ("out.tar.xz", whole.tar_file("w:xz"), {}, {"entries": ("data/sales.csv",)}),
    ("out.tar.bz2", whole.tar_file("w:bz2"), {}, {"entries": ("data/sales.csv",)}),
    ("sales.csv.gz", whole.gzip_file() + whole.gzip_file(), {}, {"kind": FileKind.ARCHIVE}),
    ("add.py", whole.PYTHON.encode(), {}, {"kind": FileKind.SOURCE, "rows": 5}),
    ("notes.txt", "Nothing to say. 没有。\n".encode(), {"min_words": 5}, {"words": 5}),
    ("commented.csv", b"# made by hand\na,b\n1,2\n# two\n3,4\n", {"columns": ["a"]}, {"rows": 2}),
    ("feed.xml", b"<?xml version='1.0'?><feed><title>a</title></feed>", {}, {}),
]


@pytest.mark.parametrize(("name", "content", "asked", "told"), WHOLE, ids=[name for name, *_ in WHOLE])
def test_what_is_whole_has_no_fault(name: str, content: bytes, asked: dict[str, Any], told: dict[str, Any]) -> None:
    facts = inspect_here(content, name=name, **asked)
    assert facts.is_good, facts
    assert facts.is_whole
    assert {key: getattr(facts, key) for key in told} == told
