"""Texts as PostgreSQL can keep them."""

from collections.abc import Callable

import pytest

from notebook_app.kinds import storable as storable_in_notebook
from reflection_app.loops.storable import storable, storable_value


@pytest.mark.parametrize("make", [storable, storable_in_notebook])
def test_both_halves_of_a_character_are_joined_before_lone_ones_are_replaced(make: Callable[[str], str]) -> None:
    assert make("a \ud83d\ude00 b \ud83d c \ude00 \0") == "a \U0001f600 b \ufffd c \ufffd \ufffd"
    assert make("\ud83d\ud83d\ude00\ude00") == "\ufffd\U0001f600\ufffd"


def test_so_they_are_inside_of_a_value() -> None:
    assert storable_value({"\ud83d\ude00": ["\ud83d\ude00", 1]}) == {"\U0001f600": ["\U0001f600", 1]}
