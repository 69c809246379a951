"""Which lessons concern a task: what is judged alike, what decides without vectors, and that learning learns."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from judgement.recall import Candidate, Way, judge, least_sure
from judgement.training.recall import train

OVERLAP = Candidate("Billing reports FEE-608", "The old bill has no end: set it before the new one.")
NO_RATE = Candidate("Billing reports FEE-680", "No tax rate was chosen for the item.")


def test_nothing_is_judged_of_nothing() -> None:
    assert judge("a task", []) == ([], Way.WORDS)


def test_a_name_that_is_asked_for_is_found_and_not_its_neighbour() -> None:
    for question in ("FEE-608", "billing reports FEE-608, what now"):
        (right, wrong), way = judge(question, [OVERLAP, NO_RATE])
        assert way is Way.WORDS
        assert right.fits
        assert right.sure > wrong.sure
    assert not judge("FEE-608", [NO_RATE])[0][0].fits


def test_entries_that_say_the_same_are_judged_alike() -> None:
    same, _ = judge("billing reports FEE-608, what now", [OVERLAP] * 5)
    assert len({one.sure for one in same}) == 1
    assert all(one.fits for one in same)


def test_an_entry_without_a_vector_yet_is_judged_by_its_words_beside_those_with_one() -> None:
    chance = np.random.default_rng(1)
    far = [Candidate(f"Lesson {number}", "", chance.normal(size=384) / 20) for number in range(3)]
    judged, way = judge("billing reports FEE-608, what now", [*far, OVERLAP], vector=chance.normal(size=384) / 20)
    assert way is Way.MEANING
    assert [one.likeness is None for one in judged] == [False, False, False, True]
    assert judged[-1].fits
    assert judged[-1].sure > least_sure(Way.WORDS)


@pytest.mark.parametrize("are_near", [True, False])
def test_what_is_learned_tells_what_is_near_and_nothing_where_vectors_say_nothing(
    tmp_path: Path, *, are_near: bool
) -> None:
    rows = []
    for notebook in range(12):
        for number in range(4):
            rows.append({"notebook": notebook, "id": f"e{number}", "title": f"t{notebook}{number}", "text": ""})
            rows.append(
                {"notebook": notebook, "query": f"q{notebook} {number}", "relevant": [f"e{number}"], "minor": []}
            )
            rows.append({"notebook": notebook, "query": f"n{notebook} {number}", "relevant": [], "minor": []})
    (tmp_path / "recall.jsonl").write_text("\n".join(map(json.dumps, rows)))
    chance = np.random.default_rng(3)
    places = {f"{notebook}{number}": chance.normal(size=12) for notebook in range(12) for number in range(4)}

    def embed(texts: Sequence[str], _as_query: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        made = []
        for text in texts:
            known = text[0] in "tq" and are_near
            vector = (places[text[1:].replace(" ", "").strip()] if known else 0) + chance.normal(size=12) * 0.3
            made.append(vector / np.linalg.norm(vector))
        return np.array(made)

    figures = train(embed, data=tmp_path)
    assert (figures["meaning_told_recall_at_5"] > 0.8) is are_near
    assert figures["meaning_none_told"] <= 0.06
