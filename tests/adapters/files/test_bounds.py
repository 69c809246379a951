"""What a hostile file can do: spoil what is said of itself, and nothing else."""

import resource
import time
from dataclasses import replace
from pathlib import Path

import pytest

from desk_sandbox import SandboxLimits, bwrap, memory
from desk_sandbox.memory import reserved_memory
from reflection_app.adapters.files import child, inspect_files, inspecting
from reflection_app.adapters.files.libraries import get_libraries
from reflection_app.loops.completeness.files import FaultCode, FileKind, FileRequirement, WhyNot
from tests.adapters.files import broken, whole
from tests.adapters.files.opening import codes, inspect_file, produced


def test_bombs_are_told_in_seconds_and_leave_no_memory_taken() -> None:
    bombs = [
        produced("a.zip", broken.zip_bomb()),
        produced("b.zip", broken.nested_bomb()),
        produced("c.gz", broken.gzip_bomb()),
        produced("d.png", broken.png_of(60_000, 60_000)),
        produced("e.docx", broken.with_entities(whole.document(), "word/document.xml")),
        produced("f.xml", broken.BOMB.replace(b"DOCTYPE w", b"DOCTYPE x") + b"<x>&j;</x>"),
        produced("g.json", b"[" * 5_000_000),
    ]
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    told = inspect_files(bombs)
    assert [codes(one) for one in told.files] == [{FaultCode.UNFOLDS}] * len(bombs)
    assert time.monotonic() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "the parent took it in"


def test_a_picture_within_the_bounds_that_needs_much_memory_is_looked_at() -> None:
    facts = inspect_file(broken.png_of(7_000, 7_000), name="large.png")
    assert codes(facts) <= {FaultCode.TRUNCATED}  # its last rows are left out, so that it is made quickly
    assert facts.width == 7_000


def test_memory_that_a_file_asks_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tight = replace(child.LIMITS, memory_bytes=120 * 2**20)
    monkeypatch.setattr(inspecting, "LIMITS", tight)
    facts = inspect_file(b"[" + b"[0]," * 4_000_000 + b"0]", name="many.json")
    assert codes(facts) == {FaultCode.UNFOLDS}


def test_a_file_that_takes_too_long_is_left() -> None:
    slow = b"a,b\n" + b'"x",1\n' * 8_000_000
    facts = inspect_file(slow, name="slow.csv", each_s=0.5)
    # A machine that is too busy to give it the CPU time says nothing of the file.
    assert codes(facts) == {FaultCode.TOO_SLOW} or not facts.is_whole or facts.why_not == WhyNot.NO_TIME


def test_a_file_that_is_too_large_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspecting, "LARGEST_FILE", 1_000)
    facts = inspect_file(whole.csv_file() * 100, name="large.csv")
    assert codes(facts) == {FaultCode.TOO_LARGE}
    assert not facts.is_whole


def looked_by(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on this code looks at files, inside of the sandbox."""
    parts = f"{child.INSIDE}.look".split(".")
    packages = [(".".join(parts[:length]), None) for length in range(1, len(parts))]
    code = compile(source, "look.py", "exec")
    monkeypatch.setattr(child, "modules_inside", lambda: (*packages, (".".join(parts), code)))


LOOK_AROUND = """
import os, socket
def look(item, report_end):
    found = []
    for path in PLACES:
        if os.path.exists(path):
            found.append(path)
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=0.5)
        found.append("network")
    except OSError:
        pass
    for folder in FOLDERS:
        try:
            open(folder + "/written", "w")
            found.append(folder)
        except OSError:
            pass
    os.write(report_end, repr(found).encode())
    os._exit(0)
"""


def test_the_process_sees_the_libraries_and_nothing_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = get_libraries()
    folders = [path for path in libraries.shown if Path(path).is_dir()]
    assert any(path.endswith("/PIL") for path in folders)
    beside = [f"{libraries.path[0]}/django", "/proc/1", "/etc/passwd", __file__]
    looked_by(LOOK_AROUND.replace("PLACES", repr(beside)).replace("FOLDERS", repr(folders)), monkeypatch)
    answer = next(child.ask([{}], limits=child.LIMITS))
    assert answer.record is not None
    assert answer.record.report == b"[]"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no json",
        b"[1]",
        b'{"faults": "none"}',
        b'{"kind": "weapon"}',
        b'{"rows": 1e400}',
        b'{"faults": [{"code": "invented"}]}',
        b"[" * 100_000,
        b'{"begins": "' + b"x" * 3_000_000,
    ],
)
def test_an_answer_that_is_none_is_the_files_fault(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_by(
        f"import os\ndef look(item, report_end):\n    os.write(report_end, {answer!r})\n    os._exit(0)", monkeypatch
    )
    facts = inspect_file(b"{}", name="a.json")
    assert codes(facts) == {FaultCode.UNREADABLE}
    assert facts.name == "a.json"


def test_a_file_whose_process_dies_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_by("import os\ndef look(item, report_end):\n    os.kill(os.getpid(), 11)", monkeypatch)
    facts = inspect_file(b"{}", name="a.json")
    assert [(one.code, one.actual) for one in facts.faults] == [(FaultCode.UNREADABLE, "SIGSEGV")]


def test_without_a_sandbox_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    bwrap.forget()
    monkeypatch.setattr(bwrap, "candidates", lambda: iter([]))
    try:
        facts = inspect_file(whole.csv_file(), name="sales.csv")
    finally:
        bwrap.forget()
    assert (facts.could_look, facts.why_not, facts.faults) == (False, WhyNot.NO_SANDBOX, ())
    assert "bwrap" in facts.lacks
    assert facts.kind is FileKind.CSV
    assert not facts.is_good


def test_without_its_library_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = get_libraries()
    fewer = replace(libraries, shown=tuple(path for path in libraries.shown if not path.endswith("/pyarrow")))
    monkeypatch.setattr(child, "get_libraries", lambda: fewer)
    facts = inspect_file(whole.parquet(), name="sales.parquet")
    assert (facts.could_look, facts.why_not, facts.lacks) == (False, WhyNot.NO_LIBRARY, "pyarrow")
    assert inspect_file(whole.workbook(), name="sales.xlsx").is_good


def test_what_no_library_reads_is_not_called_good() -> None:
    for name, content in (("a.7z", b"7z\xbc\xaf\x27\x1c\0\4"), ("a.bin", b"\0\1\2")):
        facts = inspect_file(content, name=name)
        assert (facts.could_look, facts.why_not, facts.faults) == (False, WhyNot.NO_READER, ()), facts


def test_files_that_had_no_turn_are_not_looked_at() -> None:
    files = [produced(f"{number}.csv", b"a,b\n" + b'"x",1\n' * 3_000_000) for number in range(4)]
    told = inspect_files(files, deadline_s=1.0, each_s=1.0)
    assert len(told.files) == 4
    assert told.files[-1].why_not == WhyNot.NO_TIME


def test_files_are_met_by_requirements_and_the_rest_is_missing() -> None:
    files = [
        produced("out/charts/north.png", whole.picture()),
        produced("out/charts/south.png", whole.picture("JPEG")),
        produced("report.md", b"# Report\n"),
        produced("out/sales.csv", whole.csv_file()),
    ]
    told = inspect_files(
        files,
        [
            FileRequirement(path="charts/*.png", min_files=3, min_width=50),
            FileRequirement(path="sales.csv", columns=("region",), min_rows=100),
            FileRequirement(path="summary.docx"),
        ],
    )
    assert [(one.code, one.place, one.actual) for one in told.missing] == [
        (FaultCode.TOO_FEW, "charts/*.png", "2"),
        (FaultCode.NOT_THERE, "summary.docx", "0"),
    ]
    assert [codes(one) for one in told.files] == [
        set(),
        {FaultCode.OTHER_ENDING},
        set(),
        {FaultCode.TOO_FEW_ROWS},
    ]


def test_more_files_than_can_be_told_of_leave_out_those_that_nothing_is_asked_of() -> None:
    files = [produced(f"{number}.txt", b"text") for number in range(210)]
    told = inspect_files(files, [FileRequirement(path="209.txt")])
    assert len(told.files) == 200
    assert told.files[-1].name == "209.txt"
    assert all(one.is_good for one in told.files)


def test_files_are_opened_within_the_memory_of_all_sandboxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_shared", memory.Shared(tmp_path / "memory", 64 * 2**20))
    monkeypatch.setattr(memory, "PATIENCE_S", 0.0)
    with reserved_memory(SandboxLimits()):
        refused = inspect_file(b"{}", name="a.json")
    assert (refused.could_look, refused.why_not) == (False, WhyNot.NO_SANDBOX)
    assert "memory" in refused.lacks
    assert inspect_file(b"{}", name="a.json").could_look
