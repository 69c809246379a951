"""The built-in tools, called as a run calls them: real sandbox, real rows."""

import pytest

from reflection_app.adapters.tools.builtin import grep_search
from reflection_app.core.audit import Actor
from reflection_app.loops.tool_calls import ToolFailure
from reflection_app.runs.models import Run
from reflection_app.teams.tools import add_builtin_tools
from tests import given
from tests.adapters.tools.making import call, run_of
from tests.pace import within

pytestmark = pytest.mark.django_db
FILES = [
    {"path": "src/app.py", "content": "import os\n\ndef main():\n    return os.name\n"},
    {"path": "src/lib/deep.py", "content": "VALUE = 1\n"},
    {"path": "notes.md", "content": "# Notes\nimport things\n" + "line\n" * 3000},
]


@pytest.fixture(scope="module")
def run(module_transaction: None) -> Run:
    project = given.project()
    add_builtin_tools(project, actor=Actor())
    return run_of(project, files=FILES)


def test_they_are_registered_once() -> None:
    project = given.project()
    assert {tool.name for tool in add_builtin_tools(project, actor=Actor())} == {"python", "read_file", "grep_search"}
    assert add_builtin_tools(project, actor=Actor()) == []


def test_python_runs_in_the_sandbox(run: Run) -> None:
    result = call(
        run, "python", code="import sys; print(sys.stdin.read().upper()); print('x', file=sys.stderr)", stdin="hi"
    )
    assert result.ok
    assert result.content == "HI\n\n[stderr]\nx"
    assert call(run, "python", code="pass").content == "(the program printed nothing)"
    hidden = call(
        run, "python", code="import os, socket; print(os.listdir('/work')); socket.create_connection(('8.8.8.8', 53))"
    )
    assert not hidden.ok


def test_python_tells_how_a_program_failed(run: Run) -> None:
    raised = call(run, "python", code="print('before')\n1 / 0")
    assert (raised.failure, raised.content) == (ToolFailure.TOOL_ERROR, "before\n")
    assert "ZeroDivisionError" in raised.error
    left = call(run, "python", code="import sys; sys.exit(3)")
    assert (left.failure, left.error) == (ToolFailure.TOOL_ERROR, "The program ended with status 3.")
    assert call(run, "python", code="def f(:").failure is ToolFailure.TOOL_ERROR
    assert call(run, "python").failure is ToolFailure.INVALID_ARGUMENTS
    assert call(run, "python", code="x", more=1).failure is ToolFailure.INVALID_ARGUMENTS


def test_python_is_stopped_in_time_and_size(run: Run) -> None:
    with within(paces=500):
        assert (
            call(run, "python", code="print('tick', flush=True)\nwhile True: pass", timeout_s=1).failure
            is ToolFailure.TIMED_OUT
        )
    assert call(run, "python", code="while True: print('x' * 10_000)").failure is ToolFailure.TOOL_ERROR
    long = call(run, "python", code="print('y' * 200_000)")
    assert long.ok
    assert len(long.content) <= 66_000
    assert "characters left out" in long.content


def test_a_file_is_read_with_line_numbers(run: Run) -> None:
    assert (
        call(run, "read_file", path="src/app.py").content == "1\timport os\n2\t\n3\tdef main():\n4\t    return os.name"
    )
    part = call(run, "read_file", path="notes.md", offset=2, limit=1)
    assert part.content == "2\timport things\n[3000 more lines; go on with offset 3]"
    assert "[1002 more lines; go on with offset 2001]" in call(run, "read_file", path="notes.md").content
    beyond = call(run, "read_file", path="src/app.py", offset=99)
    assert (beyond.failure, "4 lines" in beyond.error) == (ToolFailure.TOOL_ERROR, True)


@pytest.mark.parametrize("path", ["/etc/passwd", "../src/app.py", "src/../notes.md", "src", "", "./notes.md"])
def test_nothing_but_the_tasks_own_files_is_read(run: Run, path: str) -> None:
    result = call(run, "read_file", path=path)
    assert result.failure is ToolFailure.TOOL_ERROR
    assert "There are: notes.md, src/app.py, src/lib/deep.py" in result.error


def test_the_files_of_another_task_are_not_seen(run: Run) -> None:
    other = run_of(run.project, files=[{"path": "own.txt", "content": "x"}])
    assert call(other, "read_file", path="notes.md").error.endswith("There are: own.txt")
    assert call(run_of(run.project), "read_file", path="notes.md").error.endswith("The task came without files.")


def test_files_are_searched_by_line(run: Run) -> None:
    assert (
        call(run, "grep_search", pattern=r"^import\b").content == "notes.md:2: import things\nsrc/app.py:1: import os"
    )
    assert call(run, "grep_search", pattern="VALUE|os", path_glob="src/*.py").content == (
        "src/app.py:1: import os\nsrc/app.py:4:     return os.name\nsrc/lib/deep.py:1: VALUE = 1"
    )
    assert call(run, "grep_search", pattern="line", max_matches=3).content.endswith("[stopped after 3 matches]")
    assert call(run, "grep_search", pattern="absent").content == "No line matches."
    assert "No file fits" in call(run, "grep_search", pattern="x", path_glob="*.rs").error


@pytest.mark.parametrize(
    "pattern", ["(?:y{5000}){5000}", "(?x)(?: y{ 5000 } ){ 5 000 , }", r"\X{500000}", "(((a{50}){50}){50}){50}"]
)
def test_a_pattern_that_would_take_all_memory_is_refused(run: Run, pattern: str) -> None:
    result = call(run, "grep_search", pattern=pattern)
    assert result.failure is ToolFailure.INVALID_ARGUMENTS
    assert "use + or smaller numbers" in result.error


@pytest.mark.parametrize("pattern", [r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", r"\b[0-9a-f]{64}\b|i{1,9}mport"])
def test_usual_repeats_are_searched_for(run: Run, pattern: str) -> None:
    assert call(run, "grep_search", pattern=pattern).ok


def test_a_pattern_that_is_none_or_never_ends_is_told(run: Run) -> None:
    assert call(run, "grep_search", pattern="(").failure is ToolFailure.INVALID_ARGUMENTS
    assert call(run, "grep_search", pattern="x" * 1001).failure is ToolFailure.INVALID_ARGUMENTS
    assert call(run, "grep_search", pattern="x", path_glob="*" * 401).failure is ToolFailure.INVALID_ARGUMENTS
    evil = run_of(run.project, files=[{"path": "a", "content": "a" * 40 + "!\n"}])
    with within(paces=400):
        result = call(evil, "grep_search", pattern=r"^(a|a|aa)+(\1)*$")
        assert result.failure is ToolFailure.TIMED_OUT


def test_of_a_long_line_the_part_that_matches_is_shown() -> None:
    line = "x" * 3_000 + " the needle " + "y" * 3_000
    files = {"session.txt": line}
    found = grep_search(files, {"pattern": "needle"}, deadline_s=5).content
    assert "the needle" in found
    assert found.startswith("session.txt:1: …")
    assert found.endswith("…")
    assert len(found) < 600
    assert grep_search(files, {"pattern": "^x"}, deadline_s=5).content.startswith("session.txt:1: xxx")
