from random import Random
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notebook_app import meaning
from notebook_app.curation import edit
from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import DESK, EntryKind
from notebook_app.meaning import active_space, nearest, opening, vector_of
from notebook_app.models import Embedding
from tests.notebook.embedding_rows import active, kept

pytestmark = pytest.mark.django_db


def test_without_vectors_nothing_is_near_and_no_entry_has_one() -> None:
    project = uuid4()
    entry = kept(project, "sums")
    assert active_space() is None
    assert nearest(project, [1.0, 0.0, 0.0], among=EntryFilter(), limit=5) == []
    assert vector_of(entry.pk) is None


def test_the_likest_come_first_with_the_cosine_and_only_those_of_the_project_that_are_meant() -> None:
    project, other = uuid4(), uuid4()
    near, far = kept(project, "near", category="tool_misuse"), kept(project, "far")
    kept(project, "proposed", approved=False)
    kept(other, "elsewhere")
    active({"near": [1, 0, 0], "far": [1, 1, 0], "proposed": [1, 0, 0], "elsewhere": [1, 0, 0]})

    found = nearest(project, [2.0, 0.0, 0.0], among=EntryFilter(), limit=5)
    assert [one.entry_id for one in found] == [near.pk, far.pk]
    assert found[0].likeness == pytest.approx(1, abs=1e-3)
    assert found[1].likeness == pytest.approx(2**-0.5, abs=1e-3)

    assert [one.entry_id for one in nearest(project, [1.0, 1, 0], among=EntryFilter(), limit=1)] == [far.pk]
    chosen = EntryFilter(category="tool_misuse", kinds=(EntryKind.LESSON,))
    assert [one.entry_id for one in nearest(project, [0.0, 1, 0], among=chosen, limit=5)] == [near.pk]


def test_a_vector_of_another_model_finds_nothing() -> None:
    project = uuid4()
    kept(project, "sums")
    active({"sums": [1, 0, 0]})
    assert nearest(project, [1.0, 0.0], among=EntryFilter(), limit=5) == []


def test_a_text_that_no_vector_could_be_had_for_is_never_near_and_crowds_nobody_out() -> None:
    project = uuid4()
    refused, good = kept(project, "refused"), kept(project, "good")
    active({"refused": None, "good": [-1, 0, 0]})
    assert [one.entry_id for one in nearest(project, [1.0, 0, 0], among=EntryFilter(), limit=1)] == [good.pk]
    assert vector_of(refused.pk) is None
    assert vector_of(good.pk) == [-1, 0, 0]


def test_a_vector_of_words_that_were_edited_is_nobodys() -> None:
    project = uuid4()
    entry = kept(project, "sums")
    active({"sums": [1, 0, 0]})
    edit(project, entry.pk, by=DESK, content="other words")
    assert vector_of(entry.pk) is None


@pytest.mark.exhaustive("many at once, or many rows")
def test_the_index_finds_what_comparing_all_finds_also_where_the_filter_leaves_out_nearly_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(meaning, "FEW", 5)
    project, chance = uuid4(), Random(6)
    vectors = {f"lesson {number}": [chance.gauss(0, 1) for _ in range(24)] for number in range(300)}
    for number, name in enumerate(vectors):
        kept(project, name, tags=("rare",) if number % 30 == 0 else ())
    active(vectors, dimensions=24)
    rare = EntryFilter(tags=("rare",))
    with CaptureQueriesContext(
        connection,
    ) as asked:
        by_index = nearest(project, vectors["lesson 7"], among=EntryFilter(), limit=10)
        few = nearest(project, vectors["lesson 7"], among=rare, limit=10)
    assert sum("iterative_scan" in query["sql"] for query in asked) == 2
    with connection.cursor() as cursor:
        cursor.execute("SHOW enable_sort")
        assert cursor.fetchone() == ("on",)

    monkeypatch.setattr(meaning, "FEW", 1_000)
    assert by_index == nearest(project, vectors["lesson 7"], among=EntryFilter(), limit=10)
    assert few == nearest(project, vectors["lesson 7"], among=rare, limit=10)
    assert len(few) == 10


def test_the_index_is_what_the_search_of_many_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    project, chance = uuid4(), Random(1)
    vectors = {f"lesson {number}": [chance.gauss(0, 1) for _ in range(8)] for number in range(200)}
    for name in vectors:
        kept(project, name)
    space = active(vectors, dimensions=8)
    monkeypatch.setattr(meaning, "FEW", 5)
    with CaptureQueriesContext(connection) as asked:
        nearest(project, vectors["lesson 7"], among=EntryFilter(), limit=3)
    [search] = [query["sql"] for query in asked if "<=>" in query["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE notebook_app_embedding")
        cursor.execute("SET enable_sort = off")
        cursor.execute("EXPLAIN " + search)
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("RESET enable_sort")
    assert f"Index Scan using {space.index_name}" in plan


def test_vectors_too_long_for_an_index_are_compared() -> None:
    project = uuid4()
    entry = kept(project, "sums")
    space = active({"sums": [1.0] + [0.0] * 4_095}, dimensions=4_096)
    assert not space.has_index
    assert len(Embedding.objects.get().vector) == 4_096
    found = nearest(project, [1.0] + [0.0] * 4_095, among=EntryFilter(), limit=3)
    assert [one.entry_id for one in found] == [entry.pk]


def test_an_opening_holds_four_times_as_many_english_letters_as_chinese_characters() -> None:
    assert opening("a" * 1_000, most_tokens=10) == "a" * 40
    assert opening("评" * 1_000, most_tokens=10) == "评" * 10
    assert opening("short", most_tokens=10) == "short"
