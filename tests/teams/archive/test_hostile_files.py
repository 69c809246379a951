"""A file that is no project, or means ill, is refused with the place where it goes wrong, and leaves nothing behind."""

import zipfile
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from notebook_app.public import propose
from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from reflection_app.teams.archive import reading
from reflection_app.teams.archive.importing import Wishes, import_project
from reflection_app.teams.archive.reading import Identities, cycle_in
from tests import given
from tests.teams.archive.archives import Rows, manifest_of, rows_of, saved, written

pytestmark = pytest.mark.django_db
Files = tuple[dict[str, Any], dict[str, Rows]]


class Made:
    """The file of a small project: making it runs a loop, and there are many tests."""

    content: bytes | None = None


@pytest.fixture
def files() -> Files:
    """What a small project's file holds; changed by each test."""
    if Made.content is None:
        project = given.unsure_project("honest")
        given.advanced_run(project)
        for number in (1, 2):
            propose(project.pk, kind="lesson", name=f"L{number}", content=f"Lesson {number}.", source=f"s{number}")
        Made.content = written(project)
    return manifest_of(Made.content), rows_of(Made.content)


def refused(path: Path, **wishes: Any) -> str:
    """Why the file is refused; nothing is left of it."""
    before = (Project.objects.count(), Run.objects.count(), Task.objects.count())
    with pytest.raises(InvalidInput) as found:
        import_project(path, Wishes(**{"slug": "copy", **wishes}), actor=Actor())
    assert (Project.objects.count(), Run.objects.count(), Task.objects.count()) == before
    return str(found.value)


ELSEWHERE = "attempts.jsonl, line 1, run_id: it refers to a row that is not in the file"
CANNOT = "before line 2: a row cannot be stored"


@pytest.mark.parametrize(
    ("table", "columns", "said"),
    [
        ("attempts", lambda _: {"run_id": str(uuid4())}, ELSEWHERE),
        ("attempts", lambda _: {"run_id": str(given.advanced_run(given.unsure_project("victim")).pk)}, ELSEWHERE),
        ("attempts", lambda rows: {"run_id": rows["tasks"][0]["id"]}, ELSEWHERE),
        ("runs", lambda rows: {"parent_id": rows["runs"][0]["id"]}, "parent_id: rows lead back to themselves"),
        ("tasks", {"project_id": "x"}, "tasks.jsonl, line 1: there is no column 'project_id'"),
        ("runs", {"state": "<script>"}, "runs.jsonl, line 1, state: '<script>' is none of the things that it can be"),
        ("runs", {"state": "finished", "outcome": None}, f"runs.jsonl, {CANNOT}"),
        ("runs", {"loop_version": "many"}, f"runs.jsonl, {CANNOT}"),
        ("tasks", {"objective": 7}, "tasks.jsonl, line 1, objective: it is no text"),
        ("tasks", {"objective": "a\0b"}, "tasks.jsonl, line 1, objective: there is a NUL in it"),
        ("tasks", {"metadata": {"a": "\0"}}, f"tasks.jsonl, {CANNOT}"),
        ("tasks", {"agent": "a" * 200}, f"tasks.jsonl, {CANNOT}"),
        ("tasks", {"id": "1; DROP TABLE"}, "tasks.jsonl, line 1, id: it is no id"),
        ("tasks", {'id"); DROP TABLE x; --': 1}, "tasks.jsonl, line 1: there is no column"),
        ("runs", {"spec": {"mode": "none"}}, "runs.jsonl, spec: of run"),
    ],
)
def test_rows_that_do_not_fit(files: Files, tmp_path: Path, table: str, columns: Any, said: str) -> None:
    manifest, rows = files
    rows[table][0] |= columns(rows) if callable(columns) else columns
    assert said in refused(saved(tmp_path / "a.zip", manifest=manifest, rows=rows))


def test_rows_that_do_not_fit_together(files: Files, tmp_path: Path) -> None:
    manifest, rows = files
    one, two = rows["notebook_entries"]
    ring = [one | {"merged_into_id": two["id"]}, two | {"merged_into_id": one["id"]}]
    for change, said in (
        ({"runs": rows["runs"] * 2}, "runs.jsonl, line 2, id: another row of the file has the same"),
        ({"notebook_entries": ring}, "notebook_entries.jsonl, merged_into_id: rows lead back to themselves"),
        ({"steps": []}, "it refers to a row that is not in the file"),
    ):
        assert said in refused(saved(tmp_path / "a.zip", manifest=manifest, rows=rows | change))


def test_the_same_file_unspoilt_is_taken(files: Files, tmp_path: Path) -> None:
    manifest, rows = files
    path = saved(tmp_path / "a.zip", manifest=manifest, rows=rows)
    assert import_project(path, Wishes(slug="copy"), actor=Actor()).rows["runs"] == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "tar"}, "no project of a Reflection Desk"),
        ({"version": 99}, "its version is 99; this desk reads 1"),
        ({"migrations": ["reflection_app.9999_later"]}, "of a newer desk: reflection_app.9999_later"),
        ({"migrations": None}, "it is no list of names"),
        ({"project": []}, "manifest.json, project: it is no object"),
        ({"project": {"name": " "}}, "a name has 1 to 120 characters"),
        ({"project": {"name": "N", "limits": {"max_iterations": "∞"}}}, "its settings cannot be used"),
        ({"project": {"name": "N", "review_policy": 3}}, "its settings cannot be used"),
        ({"project": {"name": "N", "id": "x"}}, "project.id: it is no id"),
    ],
)
def test_manifests_that_do_not_fit(files: Files, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    manifest, rows = files
    assert said in refused(saved(tmp_path / "a.zip", manifest=manifest | change, rows=rows))


@pytest.mark.parametrize("name", ["../../etc/cron.d/x", "/etc/passwd", "runs.jsonl/../x", "extra.txt"])
def test_names_that_no_project_has(files: Files, tmp_path: Path, name: str) -> None:
    manifest, rows = files
    path = saved(tmp_path / "a.zip", manifest=manifest, rows=rows, extra={name: b"x"})
    assert "something in it that no project has" in refused(path)


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_name_that_is_there_twice(files: Files, tmp_path: Path) -> None:
    manifest, rows = files
    assert "twice" in refused(saved(tmp_path / "a.zip", manifest=manifest, rows=rows, extra={"runs.jsonl": b"{}"}))


def test_a_file_that_unpacks_to_too_much(files: Files, tmp_path: Path) -> None:
    manifest, rows = files
    rows["task_files"] = [{"id": str(uuid4()), "content": "0" * 3_000_000}]
    path = saved(tmp_path / "bomb.zip", manifest=manifest, rows=rows)
    assert path.stat().st_size < 200_000
    assert "it holds more than 1,000,000 bytes" in refused(path, most_bytes=1_000_000)


def test_a_line_that_is_too_long(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST_LINE", 2_000)
    manifest, rows = files
    rows["task_files"] = [{"id": str(uuid4()), "content": "0" * 5_000}]
    assert "it is longer than 2,000 bytes" in refused(saved(tmp_path / "a.zip", manifest=manifest, rows=rows))


@pytest.mark.parametrize("line", [b"[]", b"{", b"[" * 100_000, b'{"id": NaN}', b"\xff\xfe", b"null"])
def test_lines_that_are_no_rows(files: Files, tmp_path: Path, line: bytes) -> None:
    manifest, rows = files
    del rows["bulk_items"]
    path = saved(tmp_path / "a.zip", manifest=manifest, rows=rows, extra={"bulk_items.jsonl": line})
    assert "bulk_items.jsonl, line 1: it is no JSON" in refused(path)


def test_what_is_no_zip_and_what_is_cut_off(files: Files, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04 nothing of the kind")
    assert "cannot be read" in refused(path)
    manifest, rows = files
    saved(path, manifest=manifest, rows=rows)
    content = bytearray(path.read_bytes())
    content[60:70] = b"\0" * 10
    path.write_bytes(content)
    refused(path)
    assert "cannot be read" in refused(tmp_path / "missing.zip")


def test_a_file_without_a_manifest(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("runs.jsonl", "")
    assert "there is no manifest.json in it" in refused(tmp_path / "a.zip")


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"slug": "two words"}, "slug: a short name has letters"),
        ({"slug": "a" * 61}, "slug: a short name has at most 60"),
        ({"slug": "honest"}, "slug: there is a project of this short name already"),
        ({"admin": "nobody"}, "admin: there is no user of this name"),
    ],
)
def test_wishes_that_cannot_be_met(files: Files, tmp_path: Path, wishes: dict[str, str], said: str) -> None:
    manifest, rows = files
    if not Project.objects.exists():
        given.project("honest")
    assert said in refused(saved(tmp_path / "a.zip", manifest=manifest, rows=rows), **wishes)


@hypothesis.given(st.dictionaries(st.integers(0, 12), st.integers(0, 12)))
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
def test_a_cycle_is_found_just_where_there_is_one(links: dict[int, int]) -> None:
    ids = [UUID(int=number) for number in range(13)]

    def returns(start: int) -> bool:
        at, steps = links.get(start), 0
        while at is not None and steps < 20:
            if at == start:
                return True
            at, steps = links.get(at), steps + 1
        return False

    found = cycle_in({ids[child]: ids[parent] for child, parent in links.items()})
    assert (found is not None) == any(returns(start) for start in links)
    assert found is None or returns(ids.index(found))


@hypothesis.given(st.lists(st.uuids(), min_size=2, max_size=20, unique=True), st.uuids())
def test_new_ids_are_others_each_its_own_and_in_the_same_order(olds: list[Any], salt: Any) -> None:
    identities = Identities(salt)
    news = [identities.new(old) for old in olds]
    assert len(set(news)) == len(olds)
    assert not set(news) & set(olds)
    assert all(new.bytes[:8] == old.bytes[:8] for new, old in zip(news, olds, strict=True))
    assert Identities(uuid4()).new(olds[0]) != news[0]


def test_words_that_mention_an_id_stay_and_whatever_else_is_one_of_the_files_is_renewed() -> None:
    old, other = uuid4(), uuid4()
    identities = Identities(uuid4())
    identities.add("runs", old)
    new = str(identities.new(old))
    given_value = {"run": str(old), "said": f"see {old}", str(old): [str(other), None, 1.5]}
    assert identities.in_json(given_value) == {"run": new, "said": f"see {old}", new: [str(other), None, 1.5]}
    assert identities.in_text(f"run:{old}:{other}") == f"run:{new}:{other}"
