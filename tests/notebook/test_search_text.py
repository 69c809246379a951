"""By what texts are found."""

import pytest

from notebook_app.search import plain, tokens_of


def found_by(text: str) -> set[str]:
    return {token.text for token in tokens_of(plain(text))}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("call search_flights now", {"search_flights", "search", "flights"}),
        ("in src/app.py", {"src/app.py", "app.py", "src", "app", "py"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("HTTP 404", {"http 404"}),
        ("航班日期", {"航班", "班日", "日期", "航"}),
        ("用search_flights查", {"search_flights", "flights", "用"}),
    ],
)
def test_a_text_is_found_whole_and_by_its_parts(text: str, parts: set[str]) -> None:
    assert parts <= found_by(text)


def test_two_words_are_no_pair_and_a_sentence_ends_its_last_word() -> None:
    assert found_by("Too late. Then") == {"too", "late", "then"}
    assert not any(" " in token for token in found_by("HTTP, 404"))


def test_each_token_tells_its_place() -> None:
    text = "a src/app.py 航班"
    assert {text[token.start : token.end].casefold() == token.text for token in tokens_of(text)} == {True}


def test_chinese_is_only_a_pair_where_it_stands_together() -> None:
    assert "班，" not in found_by("航班，日期")
    assert "班日" not in found_by("航班，日期")


def test_nothing_is_found_in_nothing_and_no_word_is_longer_than_the_index_takes() -> None:
    assert found_by(" \n—!?") == set()
    assert max(map(len, found_by("x" * 5_000))) == 80
