"""What an import would do, does, and does once only; and that what is written is read again without loss."""

import io
import json
import zipfile
from collections import Counter
from uuid import UUID, uuid4

import pytest

from notebook_app.curation import approve, reject
from notebook_app.interchange import importing
from notebook_app.interchange.exporting import archive, json_lines
from notebook_app.interchange.importing import ImportStep, begin_import, import_of, import_some, planned, preview
from notebook_app.interchange.reading import HandedIn
from notebook_app.kinds import By, EntryKind, NoSuchEntry
from notebook_app.models import Entry, EntryVersion, ImportBatch, ImportState
from notebook_app.proposing import Proposal, keep
from tests.notebook.interchange.test_reading import MARKDOWN, NOTE, REPORT, file

pytestmark = pytest.mark.django_db
ANNA = By("anna")


@pytest.fixture
def project_id() -> UUID:
    return uuid4()


def carried_out(project_id: UUID, *files: HandedIn) -> ImportBatch:
    shown_first = preview(project_id, files, by=ANNA)
    assert begin_import(project_id, shown_first.id)
    while import_some(shown_first.id):
        pass
    return import_of(project_id, shown_first.id)


def would(batch: ImportBatch) -> dict[str, int]:
    return dict(Counter(one.step.value for one in planned(batch)))


def lines(project_id: UUID) -> HandedIn:
    entries = list(Entry.objects.filter(project_id=project_id).order_by("created_at", "id"))
    return HandedIn("entries.jsonl", "".join(json_lines(entries)).encode())


def told(project_id: UUID) -> list[dict[str, object]]:
    names = ("kind", "name", "description", "content", "details", "agent", "category", "tags", "occurrences")
    return list(Entry.objects.filter(project_id=project_id).order_by("kind", "name").values(*names))


def test_an_import_shows_what_it_would_do_and_is_begun_once(project_id: UUID) -> None:
    first = preview(project_id, [file("nb.json", NOTE), file("r.json", REPORT), file("p.md", MARKDOWN)], by=ANNA)
    assert would(first) == {"add": 4}
    assert (first.state, first.total) == (ImportState.PREVIEWED, 4)
    assert not Entry.objects.exists()
    assert (begin_import(project_id, first.id), begin_import(project_id, first.id)) == (True, False)


def test_what_is_imported_is_proposed_by_whoever_did_it_and_imported_again_changes_nothing(project_id: UUID) -> None:
    files = [file("nb.json", NOTE), file("r.json", REPORT), file("p.md", MARKDOWN)]
    done = carried_out(project_id, *files)
    assert (done.state, done.counts) == (ImportState.APPLIED, {"add": 4, "done": 4})
    assert set(Entry.objects.values_list("state", flat=True)) == {"proposed"}
    assert set(EntryVersion.objects.values_list("change", "by_label")) == {("imported", "anna")}
    again = carried_out(project_id, *files)
    assert again.counts == {"same": 4, "done": 4}
    assert Entry.objects.count() == 4


def test_what_differs_is_changed_and_told_field_by_field_before(project_id: UUID) -> None:
    carried_out(project_id, file("nb.json", NOTE))
    changed = file("nb.json", NOTE | {"suggestion": "Name the kind of file."})
    [one] = planned(preview(project_id, [changed], by=ANNA))
    assert (one.step, one.changes) == (ImportStep.CHANGE, ("details",))
    carried_out(project_id, changed)
    entry = Entry.objects.get()
    assert entry.details["suggestion"] == "Name the kind of file."
    assert (entry.version, entry.versions.get(number=2).reason) == (2, "as in nb.json")


def test_what_a_person_decided_against_is_left_alone(project_id: UUID) -> None:
    carried_out(project_id, file("nb.json", NOTE))
    reject(project_id, Entry.objects.get().pk, by=ANNA, reason="noise")
    done = carried_out(project_id, file("nb.json", NOTE | {"cause": "another"}))
    assert done.counts == {"decided": 1, "done": 1}
    assert Entry.objects.get().state == "rejected"


def test_an_item_named_like_a_duplicate_is_stored(project_id: UUID) -> None:
    said = [("", "Pass at >= 50"), ("pass", "Pass at >= 50"), ("pass", "Pass at <= 50")]
    lines = (json.dumps({"kind": "rule", "name": "Pass", "content": words, "source": source}) for source, words in said)
    carried_out(project_id, HandedIn("entries.jsonl", "\n".join(lines).encode()))
    assert set(Entry.objects.values_list("content", flat=True)) == {"Pass at >= 50", "Pass at <= 50"}


def test_two_notes_whose_ids_are_those_of_no_desk_are_two(project_id: UUID) -> None:
    other = NOTE | {"id": "nb_xxx002", "description": "Another mistake altogether.", "category": "wrong_answer"}
    found = preview(project_id, [file("nb_xxx001.json", NOTE), file("nb_xxx002.json", other)], by=ANNA)
    assert [one.step for one in planned(found)] == [ImportStep.ADD, ImportStep.ADD]


@pytest.mark.exhaustive("kills after every commit")
def test_a_worker_that_was_killed_loses_and_doubles_nothing(project_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    many = "\n".join(json.dumps({"kind": "rule", "name": f"Rule number {number}"}) for number in range(250))
    first = preview(project_id, [file("many.jsonl", many)], by=ANNA)
    begin_import(project_id, first.id)
    assert import_some(first.id)
    with monkeypatch.context() as patched:
        killed_at(importing.IMPORTED_AT_ONCE // 2, patched)
        with pytest.raises(KeyboardInterrupt):
            import_some(first.id)
    assert (Entry.objects.count(), import_of(project_id, first.id).done) == (
        importing.IMPORTED_AT_ONCE,
        importing.IMPORTED_AT_ONCE,
    )
    while import_some(first.id):
        pass
    assert (Entry.objects.count(), import_of(project_id, first.id).counts["add"]) == (250, 250)


def killed_at(count: int, patched: pytest.MonkeyPatch) -> None:
    """Lets the worker die while it adds the entry of this number."""
    made = 0

    def dying(*given: object, **more: object) -> object:
        nonlocal made
        made += 1
        if made > count:
            raise KeyboardInterrupt
        return keep(*given, **more)  # type: ignore[arg-type]

    patched.setattr(importing, "keep", dying)


def test_what_one_notebook_writes_another_reads_without_loss(project_id: UUID) -> None:
    carried_out(project_id, file("nb.json", NOTE), file("r.json", REPORT), file("p.md", MARKDOWN))
    for number in range(3):
        evidence = {"run": str(number)}
        keep(
            project_id,
            Proposal(EntryKind.RULE, "Kebab", content="总是使用", tags=("风格",), evidence=evidence),
            by=ANNA,
        )
    other = uuid4()
    assert carried_out(other, lines(project_id)).counts == {"add": 5, "done": 5}
    assert told(other) == told(project_id)
    assert carried_out(project_id, lines(project_id)).counts == {"same": 5, "done": 5}


def test_an_archive_is_read_again_by_the_notebook_that_wrote_it_and_by_another(project_id: UUID) -> None:
    carried_out(project_id, file("nb.json", NOTE), file("r.json", REPORT), file("p.md", MARKDOWN))
    approve(project_id, Entry.objects.filter(kind="error_note").get().pk, by=ANNA)
    packed = archive(list(Entry.objects.all()), sessions={}, documents=[])
    assert carried_out(project_id, HandedIn("n.zip", packed)).counts["same"] == 4
    assert Entry.objects.count() == 4
    other = uuid4()
    done = carried_out(other, HandedIn("n.zip", packed))
    assert (done.counts["add"], done.problems) == (4, [])
    assert told(other) == told(project_id)


def test_hostile_names_make_plain_names_in_an_archive(project_id: UUID) -> None:
    for name in ("../../escaped", "/etc/passwd", "a\nb", "..", "con", "名字", "x" * 200):
        keep(project_id, Proposal(EntryKind.ANTI_PATTERN, name), by=ANNA)
    packed = archive(list(Entry.objects.all()), sessions={})
    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert len(set(names)) == len(names) == 9
    assert all(".." not in name and "\\" not in name and not name.startswith("/") for name in names)


def test_anothers_project_has_no_such_import(project_id: UUID) -> None:
    first = preview(project_id, [file("a.json", NOTE)], by=ANNA)
    with pytest.raises(NoSuchEntry):
        import_of(uuid4(), first.id)
    with pytest.raises(NoSuchEntry):
        begin_import(uuid4(), first.id)


def test_an_id_of_another_projects_entry_is_none_of_this_ones(project_id: UUID) -> None:
    theirs = keep(uuid4(), Proposal(EntryKind.RULE, "theirs"), by=ANNA).entry
    line = json.dumps({"id": str(theirs.pk), "kind": "rule", "name": "ours"})
    assert carried_out(project_id, file("a.jsonl", line)).counts == {"add": 1, "done": 1}
    theirs.refresh_from_db()
    assert theirs.name == "theirs"


def test_what_stands_in_a_file_twice_is_taken_once_however_small_the_pieces(
    project_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = keep(project_id, Proposal(EntryKind.RULE, "Close the file")).entry
    said = [{"kind": "rule", "id": str(entry.pk), "name": "Close the file", "content": text} for text in ("One", "Two")]
    handed_in = HandedIn("entries.jsonl", "\n".join(map(json.dumps, said)).encode())
    monkeypatch.setattr(importing, "AT_ONCE", 1)
    assert would(preview(project_id, [handed_in], by=ANNA)) == {"change": 1, "twice": 1}
    done = carried_out(project_id, handed_in)
    assert done.counts == {"change": 1, "twice": 1, "done": 2}
    assert Entry.objects.get(pk=entry.pk).content == "One"
