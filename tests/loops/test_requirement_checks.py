import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.requirement_checks import check_requirements, judge_requirements, requirement_issues
from reflection_app.loops.requirements import Requirements, RequirementsReport
from reflection_app.loops.storable import is_storable
from reflection_app.loops.verdicts import IssueCategory, Referee, Severity, Verdict
from tests.pace import within

THREE_PAPERS = """收集结果如下：
```json
{"papers": [
  {"title": "多智能体编排综述", "关键": true},
  {"title": "反思机制研究", "关键": true},
  {"title": "工具调用失败分析", "关键": false}
]}
```"""
WANTED = Requirements.model_validate(
    {
        "schema": {"type": "object", "required": ["papers"]},
        "required_fields": ["papers[].title"],
        "counts": [
            {"name": "论文数量", "path": "papers", "min": 5},
            {"name": "关键论文", "path": "papers", "where": {"关键": True}, "min": 3},
        ],
    }
)


def check(answer: Any, *, chain_of_thought: bool = False, **wanted: Any) -> RequirementsReport:
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return check_requirements(Requirements.model_validate(wanted), text, chain_of_thought=chain_of_thought)


def one(answer: Any, **wanted: Any) -> tuple[bool, str, str]:
    [result] = check(answer, **wanted).results
    return result.met, result.expected, result.actual


def test_three_papers_with_two_key_papers_fall_short_of_five_with_three() -> None:
    report = check_requirements(WANTED, THREE_PAPERS)
    assert [(result.name, result.met) for result in report.results] == [
        ("schema", True),
        ("papers[].title", True),
        ("论文数量", False),
        ("关键论文", False),
    ]
    assert [(result.expected, result.actual) for result in report.unmet] == [
        ("at least 5 items in papers", "3"),
        ("at least 3 items in papers with 关键 = true", "2"),
    ]
    assert (report.all_met, report.share_met) == (False, 0.5)


def test_what_is_not_met_becomes_an_issue_that_says_what_to_do() -> None:
    papers, key_papers = requirement_issues(check_requirements(WANTED, THREE_PAPERS))
    assert (papers.category, papers.severity, papers.path) == (
        IssueCategory.COMPLETENESS,
        Severity.HIGH,
        "$.papers",
    )
    assert papers.description == "Minimum requirement not met: 论文数量: at least 5 items in papers. Found: 3."
    assert papers.suggested_fix.endswith("at least 5 items in papers")
    assert "关键论文" in key_papers.description
    [form] = requirement_issues(check("[]", schema={"type": "object"}))
    assert form.category is IssueCategory.FORMAT


def test_the_verdict_is_drawn_from_the_share_that_is_met() -> None:
    short = judge_requirements(check_requirements(WANTED, THREE_PAPERS), attempt=2)
    assert (short.attempt, short.referee, short.verdict, short.score) == (2, Referee.TESTS, Verdict.REVISE, 50)
    assert len(short.issues) == 2
    enough = {"papers": [{"title": f"论文 {number}", "关键": number < 3} for number in range(5)]}
    full = judge_requirements(check_requirements(WANTED, json.dumps(enough)), attempt=1)
    assert (full.verdict, full.score, full.confidence, full.issues) == (Verdict.PASS, 100, 1.0, ())
    assert full.requirements is not None
    assert full.requirements.all_met


@pytest.mark.parametrize("answer", ["", "我不知道。", '{"papers": [1}', "1" * 250_000])
def test_an_answer_without_data_meets_nothing_that_needs_data_and_says_why(answer: str) -> None:
    report = check_requirements(WANTED, answer)
    assert len(report.unmet) == len(report.results) == 4
    assert all(result.actual.startswith("no data: ") for result in report.results)


@pytest.mark.parametrize(
    ("path", "data", "actual"),
    [
        ("papers", {"papers": [1]}, "it is there"),
        ("papers", {}, "$.papers is missing"),
        ("papers", {"papers": []}, "$.papers is empty"),
        ("a", {"a": " \u3000\n"}, "$.a is empty"),
        ("a", {"a": "\u200b"}, "$.a is empty"),
        ("a", {"a": 0}, "it is there"),
        ("papers[].title", {"papers": [{"title": "x"}, {"title": "y"}]}, "it is there"),
        ("papers[].title", {"papers": []}, "$.papers is an empty list"),
        ("papers[].title", {"papers": {"title": "x"}}, "$.papers is not a list"),
        (
            "papers[].title",
            {"papers": [{"title": "x"}, {"title": ""}, {}]},
            "$.papers[2].title is missing, $.papers[1].title is empty (2 of 3)",
        ),
        ("$.a.b[0]", {"a": {"b": ["x"]}}, "it is there"),
        ("$.a.b[1]", {"a": {"b": ["x"]}}, "$.a.b[1] is missing"),
        ("论文[].标题", {"论文": [{"标题": "综述"}, {}]}, "$['论文'][1]['标题'] is missing (1 of 2)"),
        ("$['a b'].c", {"a b": {"c": 1}}, "it is there"),
        ("$", {}, "$ is empty"),
    ],
)
def test_a_required_field_is_there_and_not_empty(path: str, data: Any, actual: str) -> None:
    met, expected, found = one(data, required_fields=[path])
    assert found == actual
    assert met is (actual == "it is there")
    assert expected == f"{path} is there and not empty"


def test_of_very_many_missing_places_the_first_are_told() -> None:
    _, _, actual = one({"papers": [{}] * 5_000}, required_fields=["papers[].title"])
    assert actual.endswith("$.papers[2].title is missing, and 4,997 more (5,000 of 5,000)")


PAPERS = {"papers": [{"n": 1, "key": True}, {"n": 1.0, "key": 1}, {"n": 2, "key": True}, "x"]}


@pytest.mark.parametrize(
    ("count", "data", "met", "expected", "actual"),
    [
        ({"path": "papers", "min": 4}, PAPERS, True, "at least 4 items in papers", "4"),
        ({"path": "papers", "max": 3}, PAPERS, False, "at most 3 items in papers", "4"),
        ({"path": "papers", "min": 1, "max": 1}, PAPERS, False, "exactly 1 item in papers", "4"),
        ({"path": "papers", "min": 2, "max": 9}, PAPERS, True, "2 to 9 items in papers", "4"),
        ({"path": "papers", "where": {"key": True}, "min": 3}, PAPERS, False, None, "2"),
        ({"path": "papers", "where": {"key": 1}, "min": 1}, PAPERS, True, None, "1"),
        ({"path": "papers", "where": {"n": 1}, "min": 2}, PAPERS, True, None, "2"),
        ({"min": 2}, [1, 2], True, "at least 2 items in the list", "2"),
        ({"min": 2}, {"a": [1, 2]}, False, None, "$ is an object, not a list"),
        ({"path": "a", "max": 9}, {}, False, None, "$.a is missing"),
        ({"path": "s[].p", "min": 3}, {"s": [{"p": [1]}, {"p": [2, 3]}]}, True, "at least 3 items in s[].p", "3"),
        ({"path": "s[].p", "min": 1}, {"s": []}, False, None, "0"),
        ({"of": "words", "path": "summary", "min": 4}, {"summary": "反思协议"}, True, None, "4"),
        (
            {"of": "words", "path": "summary", "min": 4},
            {"summary": 4},
            False,
            None,
            "$.summary is a number, not a text",
        ),
        ({"path": "a", "where": {"x": {"y": [1, True]}}, "min": 1}, {"a": [{"x": {"y": [1, 1]}}]}, False, None, "0"),
    ],
)
def test_items_are_counted(count: dict[str, Any], data: Any, met: bool, expected: str | None, actual: str) -> None:
    found = one(data, counts=[count])
    assert (found[0], found[2]) == (met, actual)
    assert expected in {None, found[1]}


@pytest.mark.parametrize(
    ("of", "text", "number"),
    [
        ("words", "Don't count well-known words twice.", 5),
        ("words", "多智能体 multi-agent 综述", 7),
        ("words", "한국어 문장입니다", 2),
        ("characters", "  反思 ab\n", 5),
        ("lines", "one\x0cline\u2028 still\nand another", 2),
        ("lines", "old pond\n\na frog\r\n \nsplash", 3),
    ],
)
def test_the_size_of_a_text_is_counted_in_any_language(of: str, text: str, number: int) -> None:
    assert one(text, counts=[{"of": of, "min": 0}])[2] == f"{number:,}"
    assert one(text, counts=[{"of": of, "min": number + 1}])[0] is False


def test_in_a_chain_of_thought_the_work_is_what_counts() -> None:
    answer = '## Plan\n{"papers": [1, 2, 3]}\n## Execute\n{"papers": [1]}\n## Verify\nall good and much more text'
    report = check(
        answer,
        chain_of_thought=True,
        counts=[{"path": "papers", "min": 2}, {"of": "lines", "max": 1}],
    )
    assert [(result.met, result.actual) for result in report.results] == [(False, "1"), (True, "1")]


@pytest.mark.parametrize(
    "path", ["", "  ", "a..b", ".a", "a.", "a[", "a[x]", "a[-1]", "a[0]b", "$.", "a['b", "a]", "[9999999999]"]
)
def test_a_path_that_cannot_be_read_is_told_and_never_met(path: str) -> None:
    if path:
        met, _, actual = one({"a": 1}, required_fields=[path])
        assert (met, "the path cannot be read" in actual) == (False, True)
    if path.strip():
        assert "the path cannot be read" in one({"a": 1}, counts=[{"path": path, "max": 9}])[2]


HOSTILE = [
    "[" * 100_000,
    "x " + "[" * 3_000 + "]" * 3_000,
    '{"papers":' * 5_000 + "1" + "}" * 5_000,
    json.dumps({"papers": [{}] * 45_000}),
    json.dumps([0] * 60_000),
    "词" * 500_000,
    "a'" * 250_000,
    "\n" * 500_000,
    "```json\n" * 50_000,
    '{"a": "\\u0000\\ud800", "papers": [1e999]}',
    '{"a":[' * 20_000,
]


@pytest.mark.parametrize("answer", HOSTILE, ids=lambda answer: answer[:12])
def test_no_answer_keeps_the_check_busy(answer: str) -> None:
    fields = [*(f"papers[].t{number}" for number in range(20)), "[]" * 90 + ".a", "[].a", "a" + "[]" * 95]
    counts: list[dict[str, Any]] = [
        {"path": "papers", "where": {f"k{number}": number}, "min": number} for number in range(20)
    ]
    counts += [{"of": of, "min": number} for of in ("words", "characters", "lines") for number in range(10)]
    schema = {"properties": {"papers": {"items": {"required": ["x"]}}}}
    began = time.thread_time()
    report = check(answer, schema=schema, required_fields=fields, counts=counts)
    assert time.thread_time() - began < 10
    assert len(report.results) == 1 + len(fields) + len(counts)
    assert is_storable(report.model_dump(mode="json"))
    assert len(report.model_dump_json()) < 500_000


LARGE: list[tuple[dict[str, Any], str]] = [
    ({"required_fields": [f"[].a{number}" for number in range(50)]}, json.dumps([0] * 65_000)),
    ({"required_fields": ["[]" * 100] * 50}, "[" * 100 + ",".join(["0"] * 90_000) + "]" * 100),
    ({"required_fields": ["[]" * 90 + ".a"] * 50}, json.dumps([json.loads("[" * 50 + "]" * 50)] * 1_900)),
    (
        {"counts": [{"path": "$", "where": {"a": list(range(900))}, "min": 1}] * 50},
        json.dumps([{"a": [*range(900)]}] * 40),
    ),
    ({"counts": [{"path": "a", "of": "words", "min": 1}] * 50}, json.dumps({"a": "a中" * 50_000}, ensure_ascii=False)),
]


@pytest.mark.exhaustive("the largest of everything, for the bounds")
@pytest.mark.parametrize(("wanted", "answer"), LARGE, ids=["fields", "deep", "deep-and-wide", "where", "words"])
def test_the_largest_answer_with_the_most_requirements_is_checked_within_a_second_or_two(
    wanted: dict[str, Any], answer: str
) -> None:
    # Some 30 paces; 200 are two seconds of a desktop.
    with within(paces=200):
        report = check(answer, **wanted)
    assert len(report.results) == 50
    assert is_storable(report.model_dump(mode="json"))


def test_what_could_not_be_looked_at_is_not_met_and_the_reason_is_told() -> None:
    report = check(json.dumps([0] * 65_000), required_fields=["[]"] * 50)
    assert [result.met for result in report.results[:3]] == [True, True, True]
    assert not report.all_met
    assert report.results[-1].actual == "the requirements lead to more places in it than can be looked at"


def test_as_many_fields_as_fit_into_the_largest_answer_are_all_looked_at() -> None:
    answer = json.dumps([{f"f{number}": 1 for number in range(50)}] * 400)
    assert check(answer, required_fields=[f"[].f{number}" for number in range(50)]).all_met


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "标题", "\x00", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "论文"]), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.one_of(
    st.text(min_size=1, max_size=12),
    st.text(alphabet="$.[]'ab论0\\*", min_size=1, max_size=12),
    st.sampled_from(["a", "论文[].a", "$.a[0]", "a[].b[]", "$"]),
)
COUNTS = st.builds(
    lambda of, path, where, least, more: {
        "of": of,
        "path": path,
        "where": where,
        "min": least,
        "max": None if more is None else least + more,
    },
    st.sampled_from(["items", "words", "characters", "lines"]),
    PATHS,
    st.dictionaries(st.sampled_from(["a", "b"]), JSON_VALUES, max_size=2),
    st.integers(0, 4),
    st.none() | st.integers(0, 3),
)
SCHEMAS = st.none() | JSON_VALUES.filter(lambda value: isinstance(value, dict)) | st.just({"type": "object"})


@given(
    schema=SCHEMAS,
    fields=st.lists(PATHS, max_size=4),
    counts=st.lists(COUNTS, max_size=4),
    answer=JSON_VALUES.map(json.dumps) | st.text(max_size=40),
    chain_of_thought=st.booleans(),
)
def test_whatever_is_asked_of_whatever_answer_each_requirement_gets_its_result(
    schema: Any, fields: list[str], counts: list[Any], answer: str, chain_of_thought: bool
) -> None:
    wanted = {"schema": schema, "required_fields": fields, "counts": [*counts, {"of": "lines", "min": 0}]}
    report = check(answer, chain_of_thought=chain_of_thought, **wanted)
    assert len(report.results) == (schema is not None) + len(fields) + len(counts) + 1
    assert report.results[-1].met
    assert is_storable(report.model_dump(mode="json"))
    judged = judge_requirements(report, attempt=1)
    assert judged.passed is report.all_met
    assert len(judged.issues) == len(report.unmet)
    assert (judged.score == 100) is report.all_met
