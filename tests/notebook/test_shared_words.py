"""Which entries are like a text, and by which words."""

from notebook_app.shared_words import most_alike

ENTRIES = [
    "Harbours left out: a summary of customs tariffs forgot some harbours",
    "Count the syllables of a haiku",
    "论文搜索策略太窄：只用一个关键词，没有扩展同义词",
    "Customs forms",
]


def test_the_likest_comes_first_with_the_words_that_it_shares_as_they_were_written() -> None:
    [first, *rest] = most_alike("Summarise the customs tariff of each harbour.", ENTRIES, limit=3)
    assert first.place == 0
    assert set(first.words) == {"customs", "tariff", "harbour"}
    assert [one.place for one in rest] == []


def test_chinese_is_compared_by_pairs_of_characters() -> None:
    [only] = most_alike("收集论文时搜索的关键词要扩展", ENTRIES, limit=3)
    assert only.place == 2
    assert {"论文", "搜索", "关键", "键词"} <= set(only.words)


def test_one_word_in_common_or_none_is_no_likeness() -> None:
    assert most_alike("customs", ENTRIES, limit=3) == []
    assert most_alike("", ENTRIES, limit=3) == []
    assert most_alike("the and of a for with", ENTRIES, limit=3) == []
    assert most_alike("anything at all", [], limit=3) == []


def test_no_more_are_told_than_were_asked_for() -> None:
    many = [f"tariffs of harbours {number}" for number in range(20)]
    assert len(most_alike("tariffs harbours", many, limit=5)) == 5
