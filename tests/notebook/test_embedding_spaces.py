from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models import F

from notebook_app.curation import edit, reject, tag
from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import DESK, EntryKind
from notebook_app.meaning import (
    WrongDimensions,
    activate_space,
    active_space,
    drop_other_spaces,
    embedding_status,
    keep_vectors,
    known_space,
    lacking_vectors,
    nearest,
    vector_of,
    wanted_space,
)
from notebook_app.models import Embedding, EmbeddingSpace, Entry
from notebook_app.proposing import Proposal, keep
from tests.notebook.embedding_rows import active, fill, kept

pytestmark = pytest.mark.django_db
# An index is not made in a transaction that has written vectors before.
SECOND_SPACE = pytest.mark.django_db(transaction=True)


def names(space: EmbeddingSpace, limit: int = 100) -> list[str]:
    return [one.text.splitlines()[0] for one in lacking_vectors(space, limit=limit)]


def indexes() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'embedding_hnsw_%%'")
        return {row[0] for row in cursor.fetchall()}


def asked(project: UUID, vector: list[float]) -> list[UUID]:
    return [one.entry_id for one in nearest(project, vector, among=EntryFilter(), limit=5)]


def test_a_space_has_an_index_of_its_own_and_one_length() -> None:
    space = wanted_space("house/a", 3)
    assert space.index_name in indexes()
    assert wanted_space("house/a", 3) == space == known_space("house/a")
    with pytest.raises(WrongDimensions, match="house/a"):
        wanted_space("house/a", 4)
    assert known_space("house/b") is None


def test_an_entry_lacks_a_vector_until_it_has_one_of_its_words_whatever_else_changes() -> None:
    project = uuid4()
    entry = kept(project, "sums", content="before")
    rejected = kept(project, "rejected", approved=False)
    reject(project, rejected.pk, by=DESK)
    space = wanted_space("house/a", 3)
    assert names(space) == ["sums"]
    fill(space, {}, otherwise=[1, 0, 0])
    assert names(space) == []

    # Counted again and tagged: nothing that it means is another thing, and no model is asked.
    again = Proposal(kind=EntryKind.LESSON, name="sums", content="before", evidence={"run": "another"})
    assert not keep(project, again).is_new
    tag(project, entry.pk, by=DESK, tags=["money"])
    assert names(space) == []
    assert Embedding.objects.get().updated_at == Entry.objects.get(pk=entry.pk).updated_at

    edit(project, entry.pk, by=DESK, content="after")
    assert names(space) == ["sums"]
    [kept_vector] = fill(space, {}, otherwise=[0, 1, 0])
    assert kept_vector.text.endswith("after")
    assert vector_of(entry.pk) is None
    assert activate_space(space)
    assert vector_of(entry.pk) == [0, 1, 0]


def test_a_vector_of_words_that_were_edited_while_it_was_computed_is_not_kept() -> None:
    project = uuid4()
    entry = kept(project, "sums")
    gone = kept(project, "gone")
    space = wanted_space("house/a", 3)
    read = lacking_vectors(space, limit=10)
    edit(project, entry.pk, by=DESK, content="edited meanwhile")
    # The clock of who edits may be behind that of who embeds.
    Entry.objects.filter(pk=entry.pk).update(updated_at=F("updated_at") - timedelta(hours=1))
    Entry.objects.filter(pk=gone.pk).delete()
    assert keep_vectors(space, [(one, [1.0, 0, 0]) for one in read]) == 0
    assert names(space) == ["sums"]


def test_vectors_of_another_length_are_refused_whole() -> None:
    project = uuid4()
    kept(project, "one")
    kept(project, "two")
    space = wanted_space("house/a", 3)
    first, second = lacking_vectors(space, limit=10)
    with pytest.raises(WrongDimensions):
        keep_vectors(space, [(first, [1.0, 0, 0]), (second, [1.0, 0])])
    assert not Embedding.objects.exists()


def test_a_project_with_a_thousand_new_entries_does_not_keep_the_others_waiting() -> None:
    busy, quiet = uuid4(), uuid4()
    for number in range(20):
        kept(busy, f"busy {number}")
    kept(quiet, "quiet")
    space = wanted_space("house/a", 3)
    assert set(names(space, limit=2)) == {"busy 0", "quiet"}


@SECOND_SPACE
def test_the_space_before_answers_until_all_is_filled_and_goes_afterwards_with_its_index() -> None:
    project = uuid4()
    first, second = kept(project, "first"), kept(project, "second")
    old = active({"first": [1, 0, 0], "second": [0, 1, 0]})

    new = wanted_space("house/b", 2)
    [one] = lacking_vectors(new, limit=1)
    keep_vectors(new, [(one, [1.0, 0])])
    assert not activate_space(new)
    assert active_space() == old
    assert asked(project, [1.0, 0, 0]) == [first.pk, second.pk]
    drop_other_spaces("house/b")
    assert Embedding.objects.filter(space=old.id).count() == 2

    # What is new meanwhile is wanted in both.
    third = kept(project, "third")
    assert names(old) == ["third"]
    assert set(names(new)) == {"second", "third"}
    fill(old, {}, otherwise=[0, 0, 1])
    assert asked(project, [0.0, 0, 1])[0] == third.pk

    status = embedding_status()
    assert (status.model, status.filling, status.embedded, status.entries) == ("house/a", "house/b", 1, 3)
    fill(new, {"second": [0, 1], "third": [1, 1]}, otherwise=[0, 0])
    assert activate_space(new)
    assert active_space() == new
    assert asked(project, [0.0, 1]) == [second.pk, third.pk, first.pk]
    assert asked(project, [1.0, 0, 0]) == []
    assert not activate_space(new)

    drop_other_spaces("house/b")
    assert set(Embedding.objects.values_list("space", flat=True)) == {new.id}
    assert EmbeddingSpace.objects.count() == 1
    assert old.index_name not in indexes()
    assert new.index_name in indexes()
    status = embedding_status()
    assert (status.model, status.filling, status.embedded, status.entries) == ("house/b", "", 3, 3)


@SECOND_SPACE
def test_a_model_that_is_given_up_before_it_was_ready_leaves_nothing_behind() -> None:
    project = uuid4()
    kept(project, "first")
    old = active({"first": [1, 0, 0]})
    given_up = wanted_space("house/b", 2)
    fill(given_up, {}, otherwise=[1, 0])
    drop_other_spaces("house/a")
    assert active_space() == old
    assert list(EmbeddingSpace.objects.values_list("model", flat=True)) == ["house/a"]
    assert given_up.index_name not in indexes()


def test_a_refused_text_is_not_asked_for_again_and_holds_no_space_up() -> None:
    project = uuid4()
    entry = kept(project, "refused")
    space = wanted_space("house/a", 3)
    fill(space, {"refused": None}, otherwise=[1, 0, 0])
    assert names(space) == []
    assert activate_space(space)
    edit(project, entry.pk, by=DESK, content="in other words")
    assert names(space) == ["refused"]


def test_an_empty_notebook_answers_at_once_and_says_so() -> None:
    assert embedding_status().model == ""
    assert activate_space(wanted_space("house/a", 3))
    assert embedding_status().model == "house/a"
