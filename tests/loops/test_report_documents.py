import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reports import RepairAction, corrected, document_of, markdown_of
from reflection_app.loops.protocol.stages import AntiPattern
from tests.loops.reporting import seed_report

AT = datetime(2025, 2, 20, 14, 30, 22, 123456, tzinfo=UTC)
# "错误溯源报告格式 / Error Trace Report Format" of the seed, but for the zone of its time, which the seed leaves out.
SEED = """{
  "reflection_id": "ref_001",
  "timestamp": "2025-02-20T14:30:22.123456Z",
  "agent": "academic-researcher",
  "trigger": "critic_evaluation",
  "rewind_ticket_id": "rewind_20250220_143022",
  "error_analysis": {
    "surface_issue": "仅收集了 3 篇论文",
    "occurrence_process": [
      "1. 使用了过于狭窄的搜索词",
      "2. 仅搜索了 cs.AI 分类",
      "3. 在收集到 3 篇后过早停止"
    ],
    "root_cause": "搜索策略过于保守，没有充分利用时间预算"
  },
  "error_classification": {
    "type": "3.3.2",
    "description": "决策错误：过早停止搜索",
    "remediation": "修改 system prompt，强调必须满足最小要求"
  },
  "repair_actions": [
    {
      "action": "扩展搜索词",
      "status": "pending",
      "expected_outcome": "获取更多候选论文"
    },
    {
      "action": "增加搜索分类",
      "status": "pending",
      "expected_outcome": "覆盖 cs.LG, cs.CL 等相关领域"
    }
  ],
  "learning_notes": "未来执行时，应在早期检查数量是否达标，避免后期时间不足",
  "anti_pattern": {
    "pattern_name": "过早停止搜索",
    "symptoms": [
      "在未达标时停止",
      "搜索词过窄"
    ],
    "prevention": "在搜索开始时设置明确的数量目标，并在过程中检查"
  }
}"""


def test_the_document_is_the_seeds_example_to_the_letter() -> None:
    written = json.dumps(document_of(seed_report(), timestamp=AT), ensure_ascii=False, indent=2)
    assert written == SEED


def test_times_are_told_in_utc() -> None:
    there = AT.astimezone(timezone(timedelta(hours=8)))
    assert document_of(seed_report(), timestamp=there)["timestamp"] == "2025-02-20T14:30:22.123456Z"


def test_an_anti_pattern_is_optional() -> None:
    assert "anti_pattern" not in document_of(seed_report(anti_pattern=None), timestamp=AT)


def test_a_corrected_class_is_in_the_document_with_the_persons_reason() -> None:
    report = corrected(seed_report(), to=ErrorClass.MODEL_CAPABILITY, reason=" 第四次了 ")
    classed = document_of(report, timestamp=AT)["error_classification"]
    assert (classed["type"], classed["description"]) == ("3.3.1", "Model capability: 第四次了")


def headings(text: str) -> list[tuple[str, str]]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [(token.tag, tokens[at + 1].content) for at, token in enumerate(tokens) if token.type == "heading_open"]


def test_markdown_tells_the_whole_report() -> None:
    text = markdown_of(document_of(seed_report(), timestamp=AT))
    assert [title for _, title in headings(text)] == [
        "仅收集了 3 篇论文",
        "What happened",
        "Root cause",
        "Classification",
        "Remediation",
        "Repair actions",
        "What was learned",
        "Anti-pattern: 过早停止搜索",
    ]
    assert "1. 使用了过于狭窄的搜索词\n2. 仅搜索了 cs.AI 分类\n" in text
    assert "- pending: 扩展搜索词 (expected: 获取更多候选论文)" in text
    assert "- Error type: 3.3.2 Decision error" in text
    assert "Prevention: 在搜索开始时设置明确的数量目标，并在过程中检查" in text


HOSTILE = (
    "# A heading\n\n## Another",
    "</li></ul><script>alert(1)</script>",
    "![x](javascript:alert(1)) [y](http://evil.example)",
    "```\ncode\n```",
    "~~~\ncode",
    "- a\n- b\n\n1. c\n2) d",
    "| a | b |\n|---|---|\n| c | d |",
    "text\n===\nmore\n---",
    "> quote\n\n    code",
    "***\n___\n- - -",
    "<!-- a comment",
    "&lt;b&gt; &#35; heading",
    "line\u2028# separator\x0b# tab\x0c# feed\r# return",
    "[ref]: http://evil.example\n[ref]",
    "\\# \\\\` `a` ``b`` **c** _d_",
    "1986. A year\n2. a list",
    "<http://evil.example>",
    "+ plus\n* star",
    "\t# tab",
)


def hostile_report(text: str) -> dict[str, Any]:
    report = seed_report(
        surface_issue=text,
        agent=text,
        occurrence_process=(text, text),
        root_cause=text,
        description=text,
        remediation=text,
        repair_actions=(RepairAction(action=text, expected_outcome=text),),
        learning_notes=text,
        anti_pattern=AntiPattern(pattern_name=text, symptoms=(text,), prevention=text),
    )
    return document_of(report, timestamp=AT)


def structure(text: str, *, dialect: str) -> list[str]:
    """The blocks and marks of a text, without its words; the hard breaks inside a paragraph count as words."""
    parsed = MarkdownIt(dialect).enable("table").parse(text)
    inline = [child.type for token in parsed for child in token.children or []]
    return [token.type for token in parsed] + [
        kind for kind in inline if kind not in {"text", "hardbreak", "text_special"}
    ]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("dialect", ["commonmark", "js-default"])
def test_nothing_in_a_report_can_change_the_structure_of_its_markdown(text: str, dialect: str) -> None:
    plain = structure(markdown_of(hostile_report("plain words")), dialect=dialect)
    assert structure(markdown_of(hostile_report(text)), dialect=dialect) == plain


@given(st.text(alphabet="#-*_`~<>[]()!|\\+=1.) \n\t&;:a论", min_size=1, max_size=30))
def test_no_text_at_all_can_change_it(text: str) -> None:
    plain = structure(markdown_of(hostile_report("plain words")), dialect="commonmark")
    if text.strip() and text.lstrip("1.) \n\t"):
        assert structure(markdown_of(hostile_report(f"a{text}")), dialect="commonmark") == plain
        assert structure(markdown_of(hostile_report(f"{text}a")), dialect="commonmark") == plain


def test_the_words_of_hostile_text_are_still_there() -> None:
    html = MarkdownIt("commonmark").render(markdown_of(hostile_report("a *b* <c> & `d` # e")))
    assert "a *b* &lt;c&gt; &amp; `d` # e" in html
