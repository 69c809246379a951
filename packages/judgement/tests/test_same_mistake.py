"""The classifier of repeated mistakes, with vectors made up here: what holds whatever was learned, and the learning."""

import json
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgement.linear import Numbers
from judgement.same_mistake import Stated, likeliest, log_odds, needed, wording
from judgement.training.same_mistake import train

SIZE = 384


def vector(text: str) -> Numbers:
    made = np.random.default_rng(zlib.crc32(text.encode())).normal(size=SIZE)
    return np.asarray(made / np.linalg.norm(made), float)


def embed(texts: Sequence[str], as_query: bool) -> Numbers:
    assert as_query
    # Texts of one root begin with the same letter, and lie together.
    return np.array([vector(text) + 2 * vector(text[:1]) for text in texts])


def stated(text: str) -> Stated:
    return Stated(text, vector(text))


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_it_is_the_same_from_both_sides_and_every_number_is_finite(a: str, b: str) -> None:
    assert wording(a, b) == wording(b, a)
    there, back = log_odds([(stated(a), stated(b)), (stated(b), stated(a))])
    assert np.isfinite(there)
    assert there == pytest.approx(back)


def test_no_pairs_have_no_odds() -> None:
    assert log_odds([]).shape == (0,)


def test_among_more_issues_more_is_asked_for_up_to_a_bound() -> None:
    asked_for = [needed(many) for many in (1, 2, 5, 50, 400)]
    assert asked_for == sorted(asked_for)
    assert asked_for[0] < asked_for[2] < asked_for[3] == asked_for[4]


def test_the_nearest_are_looked_at_closely_and_no_more_than_asked_for() -> None:
    others = [f"issue {number}" for number in range(300)]
    places = likeliest(vector("issue 217"), np.array([vector(other) for other in others]), most=16)
    assert 217 in places
    assert 8 <= len(places) <= 16


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows: list[dict[str, object]] = []
    for place, letter in enumerate("abcdefghijklmnop"):
        other = "abcdefghijklmnop"[place - 1]
        rows += [
            {"root": letter, "a": f"{letter} one {turn}", "b": f"{letter} two {turn}", "label": "same", "lang": "en"}
            for turn in range(3)
        ]
        rows += [
            {"root": letter, "a": f"{letter} it {turn}", "b": f"{other} it {turn}", "label": "different", "lang": "en"}
            for turn in range(3)
        ]
        texts = [f"{letter} text {number}" for number in range(4)]
        contrast = [{"text": f"{other} text 0!", "of": 0, "root": other}]
        rows.append({"root": f"{letter}*", "texts": texts, "near": [f"{other}*"], "contrast": contrast})
    write(tmp_path / "data", rows)
    return tmp_path / "data"


def write(folder: Path, rows: list[dict[str, object]]) -> None:
    folder.mkdir()
    (folder / "same_mistake.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_what_can_be_learned_is_learned_and_twice_the_same(data: Path) -> None:
    figures = train(embed, data=data, labels=None, judged=None, write=False)
    assert figures["f1"] > 0.9
    assert train(embed, data=data, labels=None, judged=None, write=False) == figures


@pytest.mark.parametrize("other", ["一二" * 500, "二一" * 500])
def test_texts_of_few_words_are_compared_as_fast_as_others(other: str) -> None:
    began = time.thread_time()
    assert np.isfinite(wording("一" * 1_000, other)).all()
    assert time.thread_time() - began < 2


def test_what_people_corrected_is_learned_from_as_well(data: Path, tmp_path: Path) -> None:
    before = train(embed, data=data, labels=None, judged=None, write=False)
    # Corrections without a root, and against all the rest.
    rows: list[dict[str, object]] = [
        {"a": f"{letter} one 0", "b": f"{letter} two 0", "label": "different"} for letter in "abcdefghijklmnop"
    ]
    write(tmp_path / "labels", rows)
    after = train(embed, data=data, labels=tmp_path / "labels", judged=None, write=False)
    assert after["f1"] < before["f1"]
