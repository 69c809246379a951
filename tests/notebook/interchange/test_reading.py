"""Files of every form the notebook reads, whole, wrong and hostile."""

import io
import json
import zipfile
from uuid import uuid4

import pytest
from django.utils import timezone

from notebook_app.interchange.formats import MOST_ITEMS, MOST_PROBLEMS, Problem, written_markdown
from notebook_app.interchange.reading import LARGEST_FILE, MOST_LOOKED_AT, HandedIn, Readings, read_files
from notebook_app.kinds import EntryKind
from notebook_app.models import Entry

NOTE = {
    "id": "nb_xxx001",
    "sessionId": "session-123",
    "category": "tool_misuse",
    "description": "多次使用 GrepSearchTool 但未指定 glob 过滤",
    "cause": "LLM 不知道可以通过 glob 参数过滤文件类型",
    "suggestion": '在搜索代码时指定 glob: "*.ts" 以提高搜索精度',
}
REPORT = {
    "reflection_id": "ref_20260221_101010_abcdef",
    "agent": "community_researcher",
    "error_analysis": {"surface_issue": "只收集了讨论", "occurrence_process": [], "root_cause": "x"},
    "error_classification": {"type": "3.3.1", "description": "d", "remediation": "r"},
    "learning_notes": "每收集 5 个帖子后先提炼共识。再继续。",
    "anti_pattern": {"pattern_name": "只收集不提炼", "symptoms": ["缺少模式识别"], "prevention": "每 5 个帖子提炼一次"},
}
MARKDOWN = """# Anti-Pattern: Stopping the search too early

Seen where the first page looked good enough.

## Symptoms
- only one source is named
- no second query
  in another language

## 预防
Ask for a second source before summing up.
"""


def file(name: str, content: object) -> HandedIn:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return HandedIn(name, text.encode())


def zipped(files: dict[str, object]) -> HandedIn:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return HandedIn("notebook.zip", held.getvalue())


def only_problem(found: Readings) -> Problem:
    assert not found.items
    [problem] = found.problems
    return problem


def test_a_note_of_the_seeds_error_notebook_is_an_error_note() -> None:
    [item] = read_files([file("nb_xxx001.json", NOTE)]).items
    assert (item.kind, item.category, item.key) == (EntryKind.ERROR_NOTE, "tool_misuse", "note:nb_xxx001")
    assert item.description == NOTE["description"]
    assert item.details == {"cause": NOTE["cause"], "suggestion": NOTE["suggestion"]}


def test_a_notebooks_folder_is_read_with_its_index_and_what_the_index_misses_is_told() -> None:
    index = {"version": 1, "entries": [NOTE, NOTE | {"id": "nb_lost"}]}
    found = read_files([zipped({"index.json": index, "entries/nb_xxx001.json": NOTE})])
    assert [item.key for item in found.items] == ["note:nb_xxx001"]
    assert found.problems == [Problem("index.json", "nb_lost", "is listed, and its own file is not there")]


def test_a_report_gives_its_anti_pattern_and_what_was_learned() -> None:
    pattern, lesson = read_files([file("reflection_ref_1.json", REPORT)]).items
    assert (pattern.kind, pattern.name) == (EntryKind.ANTI_PATTERN, "只收集不提炼")
    assert pattern.details == {"symptoms": ["缺少模式识别"], "prevention": "每 5 个帖子提炼一次"}
    assert (lesson.kind, lesson.name) == (EntryKind.LESSON, "每收集 5 个帖子后先提炼共识。")
    assert {pattern.agent, lesson.agent} == {"community_researcher"}
    assert pattern.key != lesson.key


def test_an_anti_pattern_in_markdown_is_read_in_its_parts() -> None:
    [item] = read_files([file("stopping.md", MARKDOWN)]).items
    assert item.name == "Stopping the search too early"
    assert item.description == "Seen where the first page looked good enough."
    assert item.details == {
        "symptoms": ["only one source is named", "no second query in another language"],
        "prevention": "Ask for a second source before summing up.",
    }


def test_the_records_that_the_seed_keeps_by_themselves_are_read() -> None:
    pattern = {
        "pattern_name": "共识点识别不足",
        "symptoms": ["只收集讨论，不提炼共识", "缺少跨帖子的模式识别"],
        "prevention": "明确要求在每 5 个帖子后提炼一次共识点",
        "error_type": "3.3.1",
    }
    fix = {
        "pattern_id": "tool_fail_001",
        "tool": "mcp__arxiv-mcp-server__search_papers",
        "error_type": "external_service_exception",
        "symptoms": ["Timeout", "无响应"],
        "successful_fix": "简化查询词，减少 max_results",
        "timestamp": "2026-02-21T10:45:30Z",
    }
    found = read_files([file("anti_pattern.json", pattern), file("knowledge.jsonl", json.dumps(fix))])
    assert not found.problems
    one, other = found.items
    assert (one.kind, one.name, one.category) == (EntryKind.ANTI_PATTERN, "共识点识别不足", "3.3.1")
    assert one.details == {"symptoms": pattern["symptoms"], "prevention": pattern["prevention"]}
    assert (other.kind, other.category) == (EntryKind.FIX_PAIR, "external_service_exception")
    assert other.details["fix"] == "简化查询词，减少 max_results"
    assert other.details["symptoms"] == "Timeout\n无响应"
    wrong = [pattern | {"pattern_name": " "}, pattern | {"symptoms": "one"}, fix | {"successful_fix": ["x"]}]
    problems = read_files([file("wrong.json", wrong)]).problems
    assert [problem.message for problem in problems] == [
        "pattern_name is missing",
        "symptoms is not a list",
        "successful_fix is not a text",
    ]


@pytest.mark.parametrize(
    "words", ["1. First\n- then\n# and\n+ more", "\\- kept\n\\\\# so", "*bold* is no list", "plain"]
)
def test_what_a_markdown_file_says_is_the_same_after_another_round(words: str) -> None:
    details = {"symptoms": ["- a", "# b"], "prevention": words}
    row = Entry(project_id=uuid4(), kind="anti_pattern", name="A", description=words, details=details)
    row.created_at = row.updated_at = timezone.now()
    entry = row
    written = written_markdown(entry)
    [item] = read_files([file("a.md", written)]).items
    assert (item.description, item.details["prevention"]) == (words, words)
    assert item.details["symptoms"] == ["- a", "# b"]


def test_json_lines_are_read_line_by_line_and_a_wrong_one_stops_no_other() -> None:
    lines = [
        json.dumps({"kind": "rule", "name": "Use kebab-case", "content": "Always.", "tags": ["style"]}),
        "{",
        json.dumps({"kind": "wish", "name": "x"}),
        json.dumps({"kind": "lesson", "name": "x", "details": {"colour": "red"}}),
        json.dumps([1]),
        "",
        json.dumps({"kind": "preference", "name": "Short answers"}),
    ]
    found = read_files([file("entries.jsonl", "\n".join(lines))])
    assert [item.name for item in found.items] == ["Use kebab-case", "Short answers"]
    assert [problem.where for problem in found.problems] == ["line 2", "line 3", "line 4", "line 5 1"]
    assert "kind must be one of" in found.problems[1].message
    assert "colour" in found.problems[2].message


@pytest.mark.parametrize(
    "name", ["../x.md", "/etc/passwd.md", "a/../../b.md", "C:\\x.md", "..\\..\\x.md", "\x1b[2J.md"]
)
def test_a_files_name_is_a_name_and_no_path(name: str) -> None:
    [item] = read_files([file(name, MARKDOWN)]).items
    assert item.file == name
    found = read_files([zipped({name: MARKDOWN})])
    assert [one.name for one in found.items] == ["Stopping the search too early"]


@pytest.mark.parametrize(
    ("handed_in", "said"),
    [
        (HandedIn("a.json", b"\xff\xfe\x00"), "is no text in UTF-8"),
        (HandedIn("a.md", b"# a\x00"), "holds a NUL character"),
        (HandedIn("a.exe", b"MZ"), "is none of .json, .jsonl, .md and .zip"),
        (HandedIn("a.json", b"[" * 100_000), "is not JSON"),
        (HandedIn("a.json", b"x" * (LARGEST_FILE + 1)), "is larger than"),
        (HandedIn("a.zip", b"PK\x03\x04garbage"), "is no archive that can be read"),
        (file("a.md", "no heading here"), "there is no heading"),
        (file("a.json", NOTE | {"cause": 7}), "cause is not a text"),
        (file("a.json", '{"description": "a\\u0000b", "cause": ""}'), "NUL"),
        (file("a.json", '{"description": "a\\ud800b", "cause": ""}'), "unicode"),
        (file("a.json", {"reflection_id": "r", "error_analysis": {}}), "neither an anti-pattern nor learning notes"),
        (file("a.json", "7"), "a line is a JSON object"),
    ],
)
def test_what_cannot_be_read_is_told_and_kept_out(handed_in: HandedIn, said: str) -> None:
    problem = only_problem(read_files([handed_in]))
    assert said in problem.message
    assert problem.file == handed_in.name


def test_an_archive_that_unpacks_to_far_more_than_it_is_is_not_unpacked_whole() -> None:
    bomb = zipped({f"{number}.json": b" " * 9_000_000 for number in range(20)})
    assert len(bomb.content) < 1_000_000
    found = read_files([bomb])
    assert found.problems[-1].message == "unpacks to more than is read"
    assert len(found.problems) <= 7


def test_only_so_many_entries_are_read_at_once_and_the_rest_is_told() -> None:
    lines = "\n".join(json.dumps({"kind": "rule", "name": f"rule {number}"}) for number in range(MOST_ITEMS + 5))
    found = read_files([file("many.jsonl", lines)])
    assert len(found.items) == MOST_ITEMS
    assert "only the first 5,000 entries" in found.problems[0].message


@pytest.mark.parametrize(("before", "is_read"), [(MOST_LOOKED_AT - 1, True), (MOST_LOOKED_AT, False)])
@pytest.mark.parametrize("form", ["many.json", "many.jsonl"])
def test_behind_very_many_that_are_none_nothing_is_looked_at(form: str, before: int, is_read: bool) -> None:
    parts = [*["1"] * before, json.dumps(NOTE)]
    content = "\n".join(parts) if form.endswith("l") else f"[{','.join(parts)}]"
    found = read_files([HandedIn(form, content.encode())])
    assert bool(found.items) is is_read
    assert len(found.problems) == MOST_PROBLEMS


def test_an_entry_with_very_many_unknown_keys_is_one_short_problem() -> None:
    entry = {"kind": "note", "name": "x", "details": {}} | {f"k{number}": 1 for number in range(50_000)}
    [problem] = read_files([HandedIn("x.json", json.dumps(entry).encode())]).problems
    assert len(problem.message) <= 500
