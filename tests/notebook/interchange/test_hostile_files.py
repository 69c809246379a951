"""Files that mean harm, or are broken in unlikely ways: blamed by name, within bounds, and nothing else is lost."""

import io
import json
import tracemalloc
import zipfile
import zlib

import pytest

from notebook_app.interchange.reading import HandedIn, read_files
from tests.notebook.interchange.test_reading import NOTE, file

RULE = {"kind": "rule", "name": "Dates", "content": "Write dates as 2026-01-31."}


def packed(name: str, content: bytes, *, compression: int) -> HandedIn:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", compression) as written:
        written.writestr(name, content)
    return HandedIn("n.zip", held.getvalue())


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_cannot_be_unpacked_piece_by_piece_is_not_unpacked(compression: int) -> None:
    """Python unpacks these whole, however little is asked for: a few kilobytes would fill the memory."""
    bomb = packed("a.json", b" " * 80_000_000, compression=compression)
    assert len(bomb.content) < 100_000
    tracemalloc.start()
    found = read_files([bomb, file("nb.json", NOTE)])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30_000_000
    assert [problem.file for problem in found.problems] == ["n.zip"]
    assert len(found.items) == 1


def test_archives_together_unpack_to_no_more_than_one_may() -> None:
    one = packed("a.json", b" " * 9_000_000, compression=zipfile.ZIP_DEFLATED)
    found = read_files([one] * 8)
    assert sum("unpacks to more" in problem.message for problem in found.problems) == 3


@pytest.mark.parametrize("place", [40, 60, 90, -30, -10])
def test_a_broken_archive_is_blamed(place: int) -> None:
    content = bytearray(packed("a.json", json.dumps(NOTE).encode() * 9, compression=zipfile.ZIP_DEFLATED).content)
    content[place : place + 8] = b"\xff" * len(content[place : place + 8])
    found = read_files([HandedIn("n.zip", bytes(content)), file("nb.json", NOTE)])
    assert len(found.items) == 1
    assert found.problems


def test_a_deflated_file_that_is_damaged_is_blamed() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("a.json", zlib.compress(bytes(range(256)) * 40))
    content = bytearray(held.getvalue())
    content[50:70] = bytes(20)
    found = read_files([HandedIn("n.zip", bytes(content))])
    assert len(found.problems) == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "anti_pattern", "name": "A", "details": {"symptoms": [1, 2]}},
        {"kind": "anti_pattern", "name": "A", "details": {"symptoms": [{"a": 1}]}},
        {"kind": "rule", "name": "A", "details": {"x": [None]}},
        {"kind": "rule", "name": "A\ud800"},
        {"kind": "rule", "name": "A", "tags": ["\udc00"]},
        {"kind": "rule", "name": "A", "tags": [1]},
        {"kind": "rule", "name": "A", "source": "\ud800"},
        {"kind": "rule", "name": "A", "id": "\ud800"},
        {"kind": "error_note", "name": "A", "details": {"cause": "\ud800"}},
        {"kind": "rule", "name": "A", "details": float("nan")},
        {"kind": "rule", "name": "A", "occurrences": float("inf")},
    ],
)
def test_an_entry_that_cannot_be_kept_is_blamed(broken: dict[str, object]) -> None:
    lines = "\n".join([json.dumps(broken), json.dumps(RULE)])
    found = read_files([file("a.jsonl", lines)])
    assert [item.name for item in found.items] == ["Dates"]
    assert [problem.where for problem in found.problems] == ["line 1"]


def test_line_separators_inside_a_text_end_no_line() -> None:
    line = json.dumps(RULE | {"content": "a\u2028b\u2029c\x85d"}, ensure_ascii=False)
    found = read_files([file("a.jsonl", f"{line}\r\n{json.dumps(RULE)}\n")])
    assert not found.problems
    assert found.items[0].content == "a\u2028b\u2029c\x85d"
    assert len(found.items) == 2


def test_an_index_that_lists_what_cannot_be_stored_is_blamed_in_words_that_can() -> None:
    [problem] = read_files([file("index.json", '{"entries": [{"id": "\\ud800\\u0000"}]}')]).problems
    assert problem.where == "\N{REPLACEMENT CHARACTER}" * 2
