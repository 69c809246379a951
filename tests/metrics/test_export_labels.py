"""Labels as files that training reads: their shape, whose they are, and what is left out and counted."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from reflection_app.core.models import Project
from reflection_app.metrics.models import LabelKind
from tests.factories import make_project
from tests.metrics.labelled import label

pytestmark = pytest.mark.django_db
A, B = {"title": "one", "text": "Always."}, {"title": "two", "text": "Never."}
PAIR = {"a": A, "b": B}
CALL = {"tool": "search", "params": {"q": "x"}, "error": "403", "status": 403}


def exported(folder: Path, *slugs: str) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """What the files say, by name, and what was printed."""
    out = StringIO()
    named = [part for slug in slugs for part in ("--project", slug)]
    call_command("export_labels", str(folder), *named, stdout=out)
    files = {
        file.stem: [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for file in sorted(folder.glob("*.jsonl"))
    }
    return files, out.getvalue()


def some_labels(project: Project) -> None:
    knowing = {"task": "T", "text": "我不知道", "quote": ""}
    label(project, LabelKind.DOES_NOT_KNOW, "knows", "does_not_know", input=knowing)
    label(project, LabelKind.SAME_MISTAKE, "same", "different", input={"a": "x", "b": "y"})
    label(project, LabelKind.ENTRY_PAIR, "duplicate", "merged", input=PAIR)
    label(project, LabelKind.ENTRY_PAIR, "contradiction", "superseded", input=PAIR)
    label(project, LabelKind.TOOL_ERROR, "wrong_tool/skip", "permission_denied/ask_person", input=CALL)
    label(project, LabelKind.SCREENING, "hostile", "ordinary", input=A)


def test_each_kind_is_a_file_in_the_shape_of_the_training_data(tmp_path: Path) -> None:
    some_labels(make_project())
    files, _printed = exported(tmp_path / "new")
    assert files == {
        "does_not_know": [{"task": "T", "text": "我不知道", "label": "does_not_know"}],
        "same_mistake": [{"a": "x", "b": "y", "label": "different"}],
        "entry_pairs": [PAIR | {"label": "duplicate"}, PAIR | {"label": "contradict"}],
        "tool_errors": [CALL | {"types": ["permission_error"], "actions": ["ask_person"]}],
        "lesson_screening": [A | {"label": "ordinary"}],
    }


def test_what_the_act_does_not_tell_is_left_out_and_counted(tmp_path: Path) -> None:
    project = make_project()
    some_labels(project)
    for claimed, said in (
        ("duplicate", "kept_both"),
        ("contradiction", "kept_both"),
        ("duplicate", "superseded"),
        ("contradiction", "merged"),
    ):
        label(project, LabelKind.ENTRY_PAIR, claimed, said, input=PAIR)
    label(project, LabelKind.SAME_MISTAKE, "different", "same", input={})
    label(project, LabelKind.DOES_NOT_KNOW, "knows", "does_not_know", input={"task": "T", "text": " ", "quote": ""})
    files, printed = exported(tmp_path)
    assert "entry_pairs.jsonl: 2 written, 4 left out." in printed
    assert "same_mistake.jsonl: 1 written, 1 left out." in printed
    assert "does_not_know.jsonl: 1 written, 1 left out." in printed
    assert "does_not_know: 2 judged, 1 corrected." in printed
    assert len(files["entry_pairs"]) == 2


def test_only_the_projects_that_are_named_are_written(tmp_path: Path) -> None:
    one, other, third = make_project(), make_project(), make_project()
    for project, text in ((one, "one"), (other, "other"), (third, "third")):
        label(project, LabelKind.SCREENING, "hostile", "hostile", input={"title": text, "text": ""})
    files, _printed = exported(tmp_path, one.slug, third.slug)
    assert [row["title"] for row in files["lesson_screening"]] == ["one", "third"]
    # Written again, the files hold this export alone.
    files, _printed = exported(tmp_path, other.slug)
    assert [row["title"] for row in files["lesson_screening"]] == ["other"]
    assert len(exported(tmp_path)[0]["lesson_screening"]) == 3


def test_a_project_or_a_folder_that_there_is_not_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no project"):
        exported(tmp_path, "nobodys")
    (tmp_path / "file").write_text("x")
    with pytest.raises(CommandError, match="cannot be written"):
        exported(tmp_path / "file")
