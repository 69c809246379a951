"""The same mistake again, or another one: by words, and by meaning with the vectors of the wheel."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.protocol.similarity import MOST_FOUND, SIMILAR_FROM, similar_issues, similarity
from reflection_app.loops.verdicts import Issue, IssueCategory
from tests.pace import within

AGAIN = (
    ("Only 3 papers were collected, at least 5 are needed", "Only 2 papers collected; at least 5 papers are needed"),
    ("Only 3 papers were collected, at least 5 are needed", "Four papers were collected where five are needed"),
    ("The search was stopped too early", "Stopped the search too early, before the target was met"),
    ("Key papers are missing: 2 of 3", "One key paper is missing"),
    ("The publication dates do not match the source", "Publication date does not match its source"),
    (
        "The summary invents figures that are not in the source",
        "Figures in the summary are invented and not in the source",
    ),
    ("The JSON is not valid: trailing comma in line 12", "Invalid JSON: trailing comma in line 3"),
    ("Does not handle an empty list", "Empty lists are not handled"),
    ("The reply does not mention the refund deadline", "The deadline of the refund is not mentioned in the reply"),
    (
        "Consensus points were not extracted from the posts",
        "No consensus points are extracted from the collected posts",
    ),
    ("The function fails for negative numbers", "Function fails with negative number input"),
    ("Units are missing in the table", "The table gives figures without units; units are missing"),
    ("The tone is too informal for a customer", "Tone too informal for the customer"),
    ("Two sources are cited without links", "Sources cited without a link"),
    ("The answer exceeds 200 words", "It has 254 words and exceeds 200 words"),
    ("仅收集了 3 篇论文，需要至少 5 篇", "只收集了 2 篇论文，至少需要 5 篇"),
    ("仅收集了 3 篇论文，需要至少 5 篇", "收集的论文仅有四篇，少于五篇"),
    ("在未达标时停止搜索", "搜索过早停止，数量未达标"),
    ("只收集讨论，不提炼共识", "收集了讨论，但没有提炼共识点"),
    ("多次未能识别共识点", "未能识别社区的共识点"),
    ("搜索词过于狭窄", "使用的搜索词过于狭窄"),
    ("发表日期与来源不一致", "论文的发表日期和来源不一致"),
    ("JSON 格式错误：缺少右括号", "输出的 JSON 格式错误，缺少逗号"),
    ("缺少关键论文 2 篇", "关键论文缺少 1 篇"),
    ("摘要中编造了原文没有的数据", "摘要编造数据，原文中没有"),
    ("语气太随意，不适合客户邮件", "客户邮件语气太随意"),
    ("没有处理空列表", "空列表的情况没有处理"),
    ("表格缺少单位", "表格中的数字缺少单位"),
    ("引用没有给出链接", "两处引用没有链接"),
    ("回复没有说明退款期限", "没有说明退款的期限"),
    (
        "The agent stopped collecting after 3 papers although the time budget was not used up",
        "Collection of papers stopped after 2 although much of the time budget was left",
    ),
    ("Paper 2 has no DOI", "Papers 1 and 4 have no DOI"),
    ("Wrong year for reference 3: 2019 instead of 2021", "Reference 5 has the wrong year: 2018 instead of 2020"),
    ("The plan has no milestones", "Milestones are missing from the plan"),
    ("Prices are quoted without tax", "The quoted prices leave out the tax"),
    ("第 2 篇论文缺少 DOI", "第 1、4 篇论文缺少 DOI"),
    ("计划中没有里程碑", "计划缺少里程碑"),
    ("报价未包含税费", "报价没有包含税费"),
    ("时间预算没有用完就停止收集", "没有用完时间预算，过早停止收集"),
    ("第 3 条引用的年份错误", "引用 5 的年份写错"),
)
ANOTHER = (
    ("Only 3 papers were collected, at least 5 are needed", "The publication dates do not match the source"),
    ("Only 3 papers were collected, at least 5 are needed", "At least 5 are needed: only 3 test cases are there"),
    ("The search was stopped too early", "The summary is too long"),
    ("Key papers are missing", "The conclusion is missing"),
    ("The publication dates do not match the source", "The totals do not add up"),
    ("The JSON is not valid: trailing comma in line 12", "A required field is missing: title"),
    ("Does not handle an empty list", "Does not handle negative numbers"),
    ("The reply does not mention the refund deadline", "The reply does not greet the customer"),
    ("The function fails for negative numbers", "The function is too slow for large inputs"),
    ("Units are missing in the table", "The table has no header"),
    ("The tone is too informal for a customer", "The customer's name is misspelt"),
    ("Two sources are cited without links", "Two paragraphs repeat each other"),
    ("The answer exceeds 200 words", "The answer is in the wrong language"),
    ("Consensus points were not extracted from the posts", "The posts are not sorted by date"),
    ("The summary invents figures that are not in the source", "The summary leaves out the method"),
    ("仅收集了 3 篇论文，需要至少 5 篇", "发表日期与来源不一致"),
    ("仅收集了 3 篇论文，需要至少 5 篇", "仅给出了 3 个测试用例，需要至少 5 个"),
    ("在未达标时停止搜索", "搜索结果没有按日期排序"),
    ("只收集讨论，不提炼共识", "引用没有给出链接"),
    ("搜索词过于狭窄", "搜索耗时过长"),
    ("JSON 格式错误：缺少右括号", "缺少必填字段 title"),
    ("缺少关键论文 2 篇", "缺少结论部分"),
    ("摘要中编造了原文没有的数据", "摘要太长，超过 200 字"),
    ("语气太随意，不适合客户邮件", "客户姓名写错"),
    ("没有处理空列表", "没有处理负数"),
    ("表格缺少单位", "表格没有表头"),
    ("引用没有给出链接", "两段内容重复"),
    ("回复没有说明退款期限", "回复没有问候语"),
    ("多次未能识别共识点", "多次超时"),
    ("发表日期与来源不一致", "作者姓名拼写错误"),
    ("The function fails for negative numbers", "The function fails for empty lists"),
    ("Wrong year for reference 3", "Wrong author for reference 3"),
    ("The plan has no milestones", "The plan has no budget"),
    ("Paper 2 has no DOI", "Paper 2 has no abstract"),
    ("Prices are quoted without tax", "Prices are quoted in the wrong currency"),
    ("The report lacks a section on risks", "The report lacks a section on costs"),
    ("计划中没有里程碑", "计划中没有预算"),
    ("第 2 篇论文缺少 DOI", "第 2 篇论文缺少摘要"),
    ("报价未包含税费", "报价使用了错误的币种"),
    ("报告缺少风险一节", "报告缺少成本一节"),
)


def test_by_words_hardly_anything_is_called_the_same_that_is_not() -> None:
    hits = sum(similarity(*pair) >= SIMILAR_FROM for pair in AGAIN)
    false = sum(similarity(*pair) >= SIMILAR_FROM for pair in ANOTHER)
    assert hits >= 10
    assert hits / (hits + false) > 0.7


@pytest.mark.parametrize(("a", "b"), [*AGAIN, *ANOTHER])
def test_it_is_the_same_from_both_sides(a: str, b: str) -> None:
    assert similarity(a, b) == similarity(b, a)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_are_between_nothing_and_all_alike(a: str, b: str) -> None:
    assert 0 <= similarity(a, b) <= 1
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


def test_without_earlier_reports_nothing_is_alike() -> None:
    found = similar_issues([issue("Only 3 papers were collected")], [], looked_at=0)
    assert (found.looked_at, found.found) == (0, ())


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
