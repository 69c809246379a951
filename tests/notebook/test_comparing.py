"""Near-duplicates and contradictions of entries: found once, kept once, gone and back with the entries."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest
from django.core.cache import cache
from django.utils import timezone

from notebook_app.changing import change
from notebook_app.comparing import compare, due
from notebook_app.conflicts import list_conflicts, settle_conflict
from notebook_app.curation import edit, reject
from notebook_app.kinds import DESK, By, Change, EntryKind
from notebook_app.merging import reopen
from notebook_app.models import Conflict, ConflictKind, ConflictState, Embedding, Entry, Settlement
from notebook_app.proposing import Proposal, keep
from reflection_app.core.turn import Turn
from reflection_app.notebook.background import (
    EMBED_TURN,
    SCREEN_TURN,
    TURN,
    compare_due,
    embed_waiting,
    screen_waiting,
)
from tests.notebook.embedding_rows import active
from tests.notebook.entries import make_entry
from tests.reviews.test_reviews import together

pytestmark = pytest.mark.django_db


SOMEBODY = By("ann")
ALWAYS = "Always force-push to the feature branch after a rebase."
NEVER = "Never force-push to the feature branch after a rebase."


def proposed(
    project: UUID, content: str, *, kind: EntryKind = EntryKind.RULE, name: str = "", **fields: object
) -> Entry:
    proposal = Proposal(kind=kind, name=name or content[:60], content=content, **fields)  # type: ignore[arg-type]
    return keep(project, proposal).entry


def conflicting(project: UUID) -> Conflict:
    """An open contradiction of two screened rules, as the classifier finds it; words alone see near-duplicates."""
    proposed(project, ALWAYS)
    [found] = compare(project, proposed(project, NEVER).pk)
    Conflict.objects.filter(pk=found.pk).update(kind=ConflictKind.CONTRADICTION)
    found.refresh_from_db()
    return found


def state_of(conflict: Conflict) -> str:
    conflict.refresh_from_db()
    return conflict.state


def test_a_near_duplicate_is_found_by_words_alone_and_told_with_the_words() -> None:
    project = uuid4()
    first = proposed(project, "The whole test suite is run before each commit.")
    second = proposed(project, "Run the whole test suite before a commit.")
    proposed(project, "Prices are shown in euros.")
    [row] = compare(project, second.pk)
    assert (row.kind, row.state) == (ConflictKind.DUPLICATE, ConflictState.OPEN)
    assert (row.first_id, row.second_id) == (first.pk, second.pk)
    assert row.meaning_likeness is None
    assert row.text_likeness > 0.5
    [seen] = list_conflicts(project, limit=5)
    assert "suite" in seen.words
    second.refresh_from_db()
    assert second.state == "screened"
    last = second.versions.first()
    assert last is not None
    assert last.by_label == "system"


@pytest.mark.django_db(transaction=True)
def test_two_that_are_compared_at_once_are_found_once() -> None:
    for _ in range(3):
        project = uuid4()
        entries = [proposed(project, text) for text in (ALWAYS, NEVER, "Do not force-push to the feature branch.")]
        together(*[partial(compare, project, entry.pk) for entry in entries * 2])
        pairs = list(Conflict.objects.filter(project_id=project).values_list("first", "second"))
        assert len(pairs) == len(set(pairs)) >= 2
        assert set(Entry.objects.filter(project_id=project).values_list("state", flat=True)) == {"screened"}


def test_what_is_near_in_meaning_is_found_beside_few_shared_words() -> None:
    project = uuid4()
    one = proposed(project, "回答要简短，不要开场白。", kind=EntryKind.PREFERENCE, name="用户喜欢简短的回答")
    other = proposed(project, "不需要开场白。", kind=EntryKind.PREFERENCE, name="用户偏好简短的回答")
    active({one.name: [1, 0.1, 0], other.name: [1, 0, 0]})
    [row] = compare(project, other.pk)
    assert row.kind == ConflictKind.DUPLICATE
    assert row.meaning_likeness == pytest.approx(0.995, abs=0.01)


def test_entries_of_two_agents_projects_or_kinds_that_cannot_clash_are_left_alone() -> None:
    project, elsewhere = uuid4(), uuid4()
    proposed(project, ALWAYS, agent="coder")
    proposed(elsewhere, ALWAYS)
    proposed(project, ALWAYS, kind=EntryKind.SUPPLEMENT)
    assert compare(project, proposed(project, NEVER, agent="reviewer").pk) == []
    assert compare(elsewhere, proposed(project, NEVER).pk) == []
    assert Conflict.objects.filter(project_id=elsewhere).count() == 0


def test_a_conflict_stays_moot_until_both_sides_hold() -> None:
    project = uuid4()
    conflict = conflicting(project)
    reject(project, conflict.first_id, by=SOMEBODY)
    reject(project, conflict.second_id, by=SOMEBODY)
    reopen(project, conflict.second_id, by=SOMEBODY)
    assert state_of(conflict) == ConflictState.MOOT
    reopen(project, conflict.first_id, by=SOMEBODY)
    assert state_of(conflict) == ConflictState.OPEN


@pytest.mark.django_db(transaction=True)
def test_of_one_that_goes_and_one_that_comes_at_once_the_conflict_ends_as_they_do() -> None:
    for _ in range(5):
        project = uuid4()
        conflict = conflicting(project)
        reject(project, conflict.second_id, by=SOMEBODY)
        together(
            lambda project=project, conflict=conflict: reject(project, conflict.first_id, by=SOMEBODY),
            lambda project=project, conflict=conflict: reopen(project, conflict.second_id, by=SOMEBODY),
        )
        assert state_of(conflict) == ConflictState.MOOT


def test_what_was_kept_both_is_asked_again_only_after_other_words() -> None:
    project = uuid4()
    conflict = conflicting(project)
    settle_conflict(project, conflict.pk, Settlement.KEPT_BOTH, reason="two teams", by=SOMEBODY)
    assert compare(project, conflict.second_id) == []
    assert state_of(conflict) == ConflictState.SETTLED
    edit(project, conflict.second_id, by=SOMEBODY, tags=["git"])
    assert compare(project, conflict.second_id) == []
    edit(project, conflict.second_id, by=SOMEBODY, content=f"{NEVER} It loses work.")
    [again] = compare(project, conflict.second_id)
    assert (again.pk, again.state, again.settlement) == (conflict.pk, ConflictState.OPEN, "")


def test_an_edit_that_ends_the_conflict_leaves_nothing_to_settle() -> None:
    project = uuid4()
    conflict = conflicting(project)
    edit(project, conflict.second_id, by=SOMEBODY, name="Currency", content="Prices are shown in euros.")
    assert compare(project, conflict.second_id) == []
    assert state_of(conflict) == ConflictState.MOOT


def test_an_entry_that_changes_while_it_is_compared_is_left_for_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    project = uuid4()
    proposed(project, ALWAYS)
    entry = proposed(project, NEVER)

    def edited_meanwhile(*given: object, **more: object) -> list[object]:
        edit(project, entry.pk, by=SOMEBODY, content="Something else entirely.")
        return []

    monkeypatch.setattr("notebook_app.comparing.nearest", edited_meanwhile)
    monkeypatch.setattr("notebook_app.comparing.vector_of", lambda entry_id: [1.0])
    assert compare(project, entry.pk) == []
    entry.refresh_from_db()
    assert entry.state == "proposed"


def test_proposals_and_other_words_are_due_and_nothing_else() -> None:
    project, now = uuid4(), timezone.now()
    entry = proposed(project, ALWAYS)
    assert due(now, limit=10) == [(project, entry.pk)]
    compare(project, entry.pk)
    assert due(now, limit=10) == []
    change(project, entry.pk, Change.APPROVED, by=SOMEBODY)
    assert due(now, limit=10) == []
    edit(project, entry.pk, by=SOMEBODY, content=NEVER)
    assert due(now, limit=10) == [(project, entry.pk)]
    compare(project, entry.pk)
    assert due(now, limit=10) == []


def test_an_entry_waits_a_minute_for_its_vector() -> None:
    project, now = uuid4(), timezone.now()
    one = proposed(project, ALWAYS)
    active({one.name: [1, 0, 0]})
    other = proposed(project, NEVER)
    assert due(now, limit=10) == [(project, one.pk)]
    assert due(now + timedelta(minutes=10), limit=10) == [(project, one.pk), (project, other.pk)]


def test_any_text_can_be_compared() -> None:
    project = uuid4()
    for text in ("never " * 3_000, "不要" * 5_000, "<script>alert(1)</script> ' OR 1=1 --", "\u202enever\u200b push"):
        proposed(project, text)
        compare(project, proposed(project, f"always {text}").pk)
    assert set(Entry.objects.filter(project_id=project).values_list("state", flat=True)) <= {"proposed", "screened"}
    assert DESK.label == "system"


@pytest.mark.parametrize(
    ("name", "work"), [(TURN, compare_due), (EMBED_TURN, embed_waiting), (SCREEN_TURN, screen_waiting)]
)
def test_while_one_worker_is_at_it_another_goes_on_with_runs(name: str, work: Callable[[], object]) -> None:
    cache.delete(name)
    make_entry(uuid4())
    busy = Turn(name)
    assert busy.take()
    assert not work()
    assert Entry.objects.filter(is_compared=False, read_by_weights=0).exists()
    assert not Embedding.objects.exists()
    busy.give_up()
    work()
    if work is compare_due:
        assert not Entry.objects.filter(is_compared=False).exists()
    assert Turn(name).take()
