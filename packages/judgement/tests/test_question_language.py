"""Questions without their language."""

import math

import pytest

from judgement.question_language import Languages, chinese_share, languages, without_language

KNOWN = Languages(english=[1.0, 0.0, 0.0], chinese=[0.0, 1.0, 0.0], direction=[0.6, 0.8, 0.0])


def test_neither_the_place_of_a_language_nor_the_direction_to_another_is_left() -> None:
    vector = without_language([1.5, 0.5, 0.5], "a question", KNOWN)
    assert math.hypot(*vector) == pytest.approx(1)
    assert sum(a * b for a, b in zip(vector, KNOWN.direction, strict=True)) == pytest.approx(0)
    same = without_language([0.5, 1.5, 0.5], "一个问题", KNOWN)
    assert same == pytest.approx(vector)


def test_a_vector_of_nothing_but_its_language_stays_a_vector() -> None:
    assert without_language([1.0, 0.0, 0.0], "a", KNOWN) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("text", "share"), [("", 0), ("404", 0), ("abc", 0), ("问题", 1), ("问题 abcd", 0.5)])
def test_how_much_of_a_text_is_chinese(text: str, share: float) -> None:
    assert chinese_share(text) == pytest.approx(share)


def test_the_languages_are_found_from_sentences_that_say_the_same() -> None:
    def vector(text: str) -> list[float]:
        return [1.0, 0.0] if text.isascii() else [0.0, 1.0]

    known = languages(vector, vector)
    assert (known.english, known.chinese) == ([1.0, 0.0], [0.0, 1.0])
    assert known.direction == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)])
