"""What becomes of files: swept where no attempt holds them, gone with their runs, copied into forks, taken along."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from reflection_app.attachments.keeping import sweep_unused, upload
from reflection_app.attachments.models import Attachment, AttemptAttachment
from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, Step
from reflection_app.tasks.models import Task
from reflection_app.teams.retention import delete_project, take_project_away
from tests.api.caller import Caller
from tests.attachments.samples import part, pdf, png
from tests.runs.test_attempts import asked, hand_in
from tests.teams.archive.archives import manifest_of, rows_of, saved, written
from tests.teams.archive.test_round_trip import imported

pytestmark = pytest.mark.django_db
LATER = timedelta(days=1, minutes=1)


def with_picture(caller: Caller, picture: bytes | None = None) -> Run:
    run = asked(caller)
    link = {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}
    assert hand_in(caller, run, ["Look:", part(picture or png()), link]).status == 202  # type: ignore[arg-type]
    return run


def test_what_no_attempt_holds_goes_after_a_day(caller: Caller) -> None:
    with_picture(caller)
    unused = upload(caller.project, pdf(), name="a.pdf", actor=Actor())
    now = timezone.now()
    assert sweep_unused(now) == 0
    assert sweep_unused(now + LATER) == 1
    assert not Attachment.objects.filter(pk=unused.pk).exists()
    assert Attachment.objects.count() == 1


def test_a_file_goes_with_the_last_run_that_had_it(caller: Caller) -> None:
    first, second = with_picture(caller), with_picture(caller)
    later = timezone.now() + LATER
    Task.objects.get(pk=first.task_id).delete()
    assert sweep_unused(later) == 0
    Task.objects.get(pk=second.task_id).delete()
    assert sweep_unused(later) == 1


def test_a_deleted_project_leaves_no_file(caller: Caller) -> None:
    with_picture(caller)
    upload(caller.project, pdf(), name="a.pdf", actor=Actor())
    delete_project(caller.project, typed_name=caller.project.name, actor=Actor())
    take_project_away(caller.project.pk)
    assert not Attachment.objects.exists()
    assert not AttemptAttachment.objects.exists()


def test_a_fork_has_the_files_of_the_attempts_that_it_has(caller: Caller) -> None:
    run = with_picture(caller)
    advance(run.pk)
    answer = Step.objects.get(run=run, key="attempt-1/answer")
    fork = fork_run(run, ForkInput(from_step=answer.seq + 1), actor=Actor())
    held = AttemptAttachment.objects.filter(attempt__run=fork)
    assert [(one.place, bool(one.attachment_id), bool(one.url)) for one in held] == [(1, True, False), (2, False, True)]
    edited = fork_run(run, ForkInput(from_step=answer.seq, result={"content": "Other words."}), actor=Actor())
    assert AttemptAttachment.objects.filter(attempt__run=edited).count() == 2
    assert Attachment.objects.count() == 1


def test_a_project_takes_its_files_along(caller: Caller, tmp_path: Path) -> None:
    with_picture(caller)
    copy = imported(written(caller.project), tmp_path)
    there = Attachment.objects.get(project=copy)
    assert bytes(there.content) == png()
    assert (there.media_type, there.width, there.size) == ("image/png", 3, len(png()))
    held = AttemptAttachment.objects.filter(attempt__run__project=copy)
    assert [one.attachment_id for one in held] == [there.pk, None]


@pytest.mark.parametrize("content", ["\\xzz", 7])
def test_a_projects_file_with_no_bytes_is_refused(caller: Caller, tmp_path: Path, content: Any) -> None:
    with_picture(caller)
    before = written(caller.project)
    rows = rows_of(before)
    rows["attachments"][0]["content"] = content
    with pytest.raises(InvalidInput):
        imported(_with(before, rows, tmp_path), tmp_path)


def test_a_projects_file_says_nothing_that_its_bytes_do_not(caller: Caller, tmp_path: Path) -> None:
    with_picture(caller, picture=b"<script>alert(1)</script>")
    before = written(caller.project)
    rows = rows_of(before)
    rows["attachments"][0] |= {"media_type": "text/html", "name": "../a.html", "width": 3, "sha256": "0" * 64}
    copy = imported(_with(before, rows, tmp_path), tmp_path)
    there = Attachment.objects.get(project=copy)
    assert (there.media_type, there.name, there.width) == ("application/octet-stream", "a.html", None)
    assert there.sha256 != "0" * 64


def _with(before: bytes, rows: dict[str, Any], tmp_path: Path) -> bytes:
    return saved(tmp_path / "changed.zip", manifest=manifest_of(before), rows=rows).read_bytes()
