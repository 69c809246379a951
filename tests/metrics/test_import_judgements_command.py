"""The command shows what a file would do, and does it only where it is told to."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from reflection_app.core.models import Project
from reflection_app.metrics.models import CriticJudgement, JudgementImport
from tests.factories import make_project
from tests.metrics.judgements import lines, row


def run(file: Path, project: Project, *flags: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("import_judgements", str(file), "--project", project.slug, *flags, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_it_imports_only_with_apply(db: None, tmp_path: Path) -> None:
    project, file = make_project(), tmp_path / "labels.jsonl"
    file.write_bytes(lines([row("a"), row("b", people={"ann": "PASS", "bob": "REVISE"}), row("c", verdict="garbage")]))
    told, refused = run(file, project)
    assert "new: 2, same: 0, changed: 0, refused: 1" in told
    assert "no figure: 1 items" in told
    assert "Nothing was imported" in told
    assert refused.startswith("line 3: critic.verdict")
    assert (CriticJudgement.objects.count(), JudgementImport.objects.count()) == (0, 0)
    told, _refused = run(file, project, "--apply")
    assert f"Imported into {project.slug}." in told
    assert CriticJudgement.objects.filter(item__project=project).count() == 2


@pytest.mark.parametrize(("content", "why"), [(None, "cannot be read"), (b"\n", "no row")])
def test_a_file_that_is_none_is_told(db: None, tmp_path: Path, content: bytes | None, why: str) -> None:
    file = tmp_path / "labels.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError, match=why):
        run(file, make_project())
