"""Measuring the judgement of repeated mistakes: what is said of each pair is counted, by language too."""

import json
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from reflection_app.metrics.judged.same_mistake import measure

ROWS = (
    ("same", "en", "Only 3 papers were collected", "Only 4 papers were collected"),
    ("different", "en", "Paper 2 has no DOI", "The prices are quoted in the wrong currency."),
    (
        "same",
        "cross",
        "Reported as migrated; two tables were untouched.",
        "声称迁移完成，其实两张表没动。",
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"label": label, "lang": lang, "a": a, "b": b} for label, lang, a, b in ROWS]
    (tmp_path / "same_mistake.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_by_meaning_all_are_told_apart(folder: Path) -> None:
    measured = measure(folder)
    assert (measured.figures["precision"], measured.figures["recall"], measured.figures["rows"]) == (1, 1, 3)
    assert measured.by_language.keys() == {"en", "cross"}
    assert measured.wrong == ()


def test_by_words_what_is_missed_is_named_with_its_row(folder: Path, settings: Settings) -> None:
    settings.EMBEDDING_MODEL = "none"
    measured = measure(folder)
    assert (measured.figures["precision"], measured.figures["recall"]) == (1, 0.5)
    [wrong] = measured.wrong
    assert (wrong["lang"], wrong["said"]) == ("cross", "different")
