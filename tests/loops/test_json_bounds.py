import json
import random

import pytest

from reflection_app.loops.json_paths import MOST_VALUES, has_more_values


def values_in(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(values_in, value.values()))
    return 1 + sum(map(values_in, value)) if isinstance(value, list) else 1


def some_value(draw: random.Random, depth: int) -> object:
    kind = draw.randrange(6 if depth else 3)
    if kind < 3:
        return [draw.random(), 'a, [b] {c} "d" \\', None][kind]
    if kind < 5:
        return [some_value(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {f'k,{{[{number}"\\': some_value(draw, depth - 1) for number in range(draw.randrange(4))}


@pytest.mark.parametrize("seed", range(10))
def test_what_stands_in_strings_counts_for_nothing_and_all_else_is_counted(seed: int) -> None:
    value = [some_value(random.Random(seed), depth=5)]
    text = json.dumps(value).encode()
    many = values_in(value)
    # An empty list or object has a mark of its own, so that no more than twice as many are seen.
    assert not has_more_values(text, 2 * many)
    assert has_more_values(text, many // 3 - 1) or many < 3


@pytest.mark.parametrize(
    ("text", "is_too_much"),
    [
        (json.dumps(["a, b, [c], {d}" * 100_000] * 7).encode(), False),
        (b'"' + b'\\"' * 5_000_000, False),
        (b'"' * 5_000_000, False),
        (b"\\" * 5_000_000, False),
        (b"[" * (MOST_VALUES + 1), True),
        (b"[" + b'"",' * (MOST_VALUES + 1), True),
        (json.dumps({f"k{number}": 1 for number in range(MOST_VALUES + 1)}).encode(), True),
        (json.dumps({f"k{number}": 1 for number in range(MOST_VALUES - 1)}).encode(), False),
    ],
    ids=["text", "a string without end", "quotes", "backslashes", "lists", "empty strings", "keys", "just as many"],
)
def test_large_texts_are_told_apart(text: bytes, is_too_much: bool) -> None:
    assert has_more_values(text) is is_too_much
