"""The same mistake again, or another one: by words, and by meaning with the vectors of the wheel."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.protocol.similarity import MOST_FOUND, SIMILAR_FROM, similar_issues, similarity
from reflection_app.loops.verdicts import Issue, IssueCategory
from tests.pace import within

AGAIN = (
    ("The search was stopped too early", "Stopped the search too early, before the target was met"),
    ("Key papers are missing: 2 of 3", "One key paper is missing"),
    ("The JSON is not valid: trailing comma in line 12", "Invalid JSON: trailing comma in line 3"),
    ("The reply does not mention the refund deadline", "The deadline of the refund is not mentioned in the reply"),
    (
        "Consensus points were not extracted from the posts",
        "No consensus points are extracted from the collected posts",
    ),
    ("The tone is too informal for a customer", "Tone too informal for the customer"),
    ("Two sources are cited without links", "Sources cited without a link"),
    ("仅收集了 3 篇论文，需要至少 5 篇", "收集的论文仅有四篇，少于五篇"),
    ("只收集讨论，不提炼共识", "收集了讨论，但没有提炼共识点"),
    ("搜索词过于狭窄", "使用的搜索词过于狭窄"),
    ("发表日期与来源不一致", "论文的发表日期和来源不一致"),
    ("摘要中编造了原文没有的数据", "摘要编造数据，原文中没有"),
    ("语气太随意，不适合客户邮件", "客户邮件语气太随意"),
    ("表格缺少单位", "表格中的数字缺少单位"),
    (
        "The agent stopped collecting after 3 papers although the time budget was not used up",
        "Collection of papers stopped after 2 although much of the time budget was left",
    ),
    ("Wrong year for reference 3: 2019 instead of 2021", "Reference 5 has the wrong year: 2018 instead of 2020"),
    ("The plan has no milestones", "Milestones are missing from the plan"),
    ("计划中没有里程碑", "计划缺少里程碑"),
    ("时间预算没有用完就停止收集", "没有用完时间预算，过早停止收集"),
    ("第 3 条引用的年份错误", "引用 5 的年份写错"),
)
ANOTHER = (
    ("Only 3 papers were collected, at least 5 are needed", "At least 5 are needed: only 3 test cases are there"),
    ("Key papers are missing", "The conclusion is missing"),
    ("The JSON is not valid: trailing comma in line 12", "A required field is missing: title"),
    ("The reply does not mention the refund deadline", "The reply does not greet the customer"),
    ("Units are missing in the table", "The table has no header"),
    ("Two sources are cited without links", "Two paragraphs repeat each other"),
    ("Consensus points were not extracted from the posts", "The posts are not sorted by date"),
    ("仅收集了 3 篇论文，需要至少 5 篇", "发表日期与来源不一致"),
    ("在未达标时停止搜索", "搜索结果没有按日期排序"),
    ("搜索词过于狭窄", "搜索耗时过长"),
    ("缺少关键论文 2 篇", "缺少结论部分"),
    ("语气太随意，不适合客户邮件", "客户姓名写错"),
    ("表格缺少单位", "表格没有表头"),
    ("回复没有说明退款期限", "回复没有问候语"),
    ("发表日期与来源不一致", "作者姓名拼写错误"),
    ("The plan has no milestones", "The plan has no budget"),
    ("Prices are quoted without tax", "Prices are quoted in the wrong currency"),
    ("The report lacks a section on risks", "The report lacks a section on costs"),
    ("报价未包含税费", "报价使用了错误的币种"),
)


def test_by_words_hardly_anything_is_called_the_same_that_is_not() -> None:
    hits = sum(similarity(*pair) >= SIMILAR_FROM for pair in AGAIN)
    false = sum(similarity(*pair) >= SIMILAR_FROM for pair in ANOTHER)
    assert hits >= 5
    assert hits / (hits + false) > 0.7


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_are_between_nothing_and_all_alike(a: str, b: str) -> None:
    assert 0 <= similarity(a, b) == similarity(b, a) <= 1
    assert similarity(a, a) in {0, 1}


def test_a_number_alone_is_no_likeness() -> None:
    assert similarity("3", "5") == 0
    assert similarity("三篇", "5 个") == 0


def issue(description: str, category: IssueCategory = IssueCategory.COMPLETENESS) -> Issue:
    return Issue(category=category, description=description)


def test_the_most_alike_of_the_same_category_is_found_with_its_report() -> None:
    now = [issue("仅收集了 3 篇论文，需要至少 5 篇")]
    earlier = [
        ("ref_3", issue("收集的论文仅有四篇，少于五篇")),
        ("ref_2", issue("只收集了 2 篇论文，至少需要 5 篇")),
        ("ref_1", issue("表格缺少单位")),
    ]
    found = similar_issues(now, earlier)
    assert found.looked_at == 3
    (one,) = found.found
    assert (one.reflection_id, one.now) == ("ref_2", now[0].description)
    assert one.similarity >= SIMILAR_FROM


def test_the_same_words_in_another_category_are_another_mistake() -> None:
    same = "The publication dates do not match the source"
    assert similar_issues([issue(same)], [("ref_1", issue(same, IssueCategory.FORMAT))]).found == ()


def test_what_is_found_and_the_time_it_takes_are_bounded() -> None:
    words = " ".join(f"word{number} 重复" for number in range(5_000))
    earlier = [(f"ref_{number}", issue(words[:10_000])) for number in range(1_000)]
    with within(paces=500):
        found = similar_issues([issue(words[:10_000])] * 50, earlier)
    assert len(found.found) == MOST_FOUND


@pytest.mark.exhaustive("the largest of everything, for the bounds")
def test_issues_without_number_or_end_are_compared_within_a_second_or_two() -> None:
    def long(number: int) -> Issue:
        return Issue(description="".join(chr(0x4E00 + (number * 7919 + at * 104729) % 20_000) for at in range(3_000)))

    now = [long(number) for number in range(150)]
    earlier = [(f"r{number % 20}", long(number + 1_000)) for number in range(3_000)]
    began = time.thread_time()
    assert similar_issues(now, earlier).looked_at == 20
    assert time.thread_time() - began < 3
