"""The files that a run's work has produced: where they are found, and what opening them told, kept beside the run.

A source is a file that a tool answered with or that came with a history; what came with an attempt is the attempt's.
A look has the facts of one file, as one step found them. Bytes are kept once in a project, as attachments.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from reflection_app.adapters.files import Produced
from reflection_app.attachments.keeping import claimed_name, files_of, keep
from reflection_app.attachments.models import Attachment, AttemptAttachment, ProducedFile
from reflection_app.core.errors import InvalidInput
from reflection_app.core.ids import new_id
from reflection_app.loops.attempt_effects import CallTool, InspectFiles
from reflection_app.loops.completeness.file_checks import files_written_in
from reflection_app.loops.completeness.files import MOST_LISTED, FilesInspected
from reflection_app.loops.content_parts import MediaPart
from reflection_app.loops.tool_calls import ToolResult
from reflection_app.runs.following import StepCommit, follows_from
from reflection_app.runs.models import Attempt, Run, Step

# What is opened at once: the worker has all of it in its memory.
MOST_BYTES = 100_000_000


def produced_by(run_id: UUID, *, attempt: int | None, is_written: bool) -> list[Produced]:
    """The files of the run so far, the attempt's own first; of two with one name the newer alone.

    Those that stand in the attempt's text, or came as texts beside it, are kept as attachments by this.
    """
    project_id = Run.objects.values_list("project_id", flat=True).get(pk=run_id)
    made = Attempt.objects.filter(run=run_id, number=attempt).first() if attempt is not None else None
    texts: dict[str, bytes] = {}
    named: dict[str, UUID] = {}
    if made is not None:
        held = AttemptAttachment.objects.filter(attempt=made, attachment__isnull=False)
        for row in held.prefetch_related("attachment"):
            attachment = row.attachment
            assert attachment is not None
            name = row.claimed or attachment.claimed or row.name or attachment.name
            named[name or f"file {row.place}"] = attachment.pk
        texts = {
            claimed_name(one["name"]) or "file": one["content"].encode()
            for one in made.artifacts
            if one.get("content") is not None
        }
        if is_written:
            texts |= {claimed_name(name) or "file": text.encode() for name, text in files_written_in(made.content)}
    for source in ProducedFile.objects.filter(run=run_id, facts__isnull=True, attachment__isnull=False).order_by("-id"):
        assert source.attachment_id is not None
        name = claimed_name(source.name) or f"file {source.place}"
        if name not in texts:
            named.setdefault(name, source.attachment_id)
    found = [_of_text(name, content, project_id=project_id) for name, content in texts.items()]
    # What stands in the attempt is newest: however many files tools have answered with, it is among those told of.
    return [*found, *_read(named, project_id=project_id, room=MOST_BYTES - sum(one.size for one in found))][
        :MOST_LISTED
    ]


def _of_text(name: str, content: bytes, *, project_id: UUID) -> Produced:
    keep_if_there_is_room(project_id, content, name=name)
    return Produced(name, content, len(content), hashlib.sha256(content).hexdigest())


def _read(named: Mapping[str, UUID], *, project_id: UUID, room: int) -> Iterable[Produced]:
    rows = {row.pk: row for row in Attachment.objects.filter(project=project_id, pk__in=named.values())}
    for name, attachment_id in named.items():
        row = rows.get(attachment_id)
        if row is None:
            continue
        # Fetched one by one, as deferred columns are. One that is too large keeps no smaller one out.
        content = bytes(row.content) if row.size <= room else None
        room -= len(content or b"")
        yield Produced(name, content, row.size, row.sha256)


def keep_if_there_is_room(project_id: UUID, content: bytes, *, name: str) -> Attachment | None:
    """The file, kept until something of a run holds it; None where it is empty, too large, or the project is full."""
    try:
        with transaction.atomic():
            return keep(project_id, content, name=name, field="file")
    except InvalidInput:
        return None


def keep_history_files(run: Run, media: Sequence[MediaPart]) -> None:
    """The files that were handed in with the history that `run` checks. Raises InvalidInput, which names the file."""
    held = files_of(media, project_id=run.project_id, field="files")
    for place, (one, kept) in enumerate(zip(media, held, strict=True), start=1):
        name = claimed_name(one.name) or kept.claimed or kept.name or f"file {place}"
        ProducedFile.objects.create(run=run, place=place, name=name, attachment=kept)


def _kept(commit: StepCommit, hashes: Sequence[str]) -> dict[str, UUID]:
    """The attachments of these bytes, locked: a sweep must not take them before the rows that hold them are there."""
    rows = Attachment.objects.filter(project=commit.run.project_id, sha256__in=hashes).order_by("pk")
    return dict(rows.select_for_update(no_key=True).values_list("sha256", "pk"))


@follows_from(InspectFiles)
def keep_looks(effect: InspectFiles, value: FilesInspected, commit: StepCommit) -> None:
    """A row for each file that was looked at."""
    kept = _kept(commit, [one.sha256 for one in value.files if one.sha256])
    attempt = commit.attempt(effect.attempt) if effect.attempt is not None else None
    for place, facts in enumerate(value.files, start=1):
        row = ProducedFile(
            run=commit.run,
            step=commit.step,
            attempt=attempt,
            place=place,
            name=facts.name,
            attachment_id=kept.get(facts.sha256),
            facts=facts.model_dump(mode="json"),
        )
        commit.batch.insert(row)


@follows_from(CallTool)
def keep_sources(_effect: CallTool, value: ToolResult, commit: StepCommit) -> None:
    """A row for each file that the tool answered with."""
    if not value.files:
        return
    kept = _kept(commit, [one.sha256 for one in value.files])
    for place, file in enumerate(value.files, start=1):
        row = ProducedFile(
            run=commit.run, step=commit.step, place=place, name=file.name, attachment_id=kept.get(file.sha256)
        )
        commit.batch.insert(row)


def looked_at_by_check(run_id: UUID, *, attempt: int) -> QuerySet[ProducedFile]:
    """What the completeness check of this attempt, or of the history that was handed in, was told of the files."""
    keys = [f"{base}/completeness/files" for base in (f"attempt-{attempt}", "history")]
    return ProducedFile.objects.filter(run=run_id, step__key__in=keys, facts__isnull=False).order_by("place")


def copy_produced(run: Run, *, steps: Mapping[UUID, Step], attempts: Mapping[int, Attempt], parent: UUID) -> None:
    """The fork `run` has the parent's rows of the steps that it copied, by the id of each one's original.

    It has what came with the parent's history as well.
    """
    rows = []
    for row in ProducedFile.objects.filter(run=parent).select_related("attempt").order_by("id"):
        if row.step_id is not None and row.step_id not in steps:
            continue
        number = row.attempt.number if row.attempt else None
        if number is not None and number not in attempts:
            continue
        row.attempt = attempts[number] if number is not None else None
        row.pk, row.run, row.step = new_id(), run, steps[row.step_id] if row.step_id is not None else None
        rows.append(row)
    ProducedFile.objects.bulk_create(rows)


def keep_tool_files(result: ToolResult, *, project_id: UUID) -> ToolResult:
    """The result without the bytes of its files, which are kept; what there is no room for is left out, and told."""
    if not result.files:
        return result
    kept, lost = [], 0
    for file, content in zip(result.files, result.contents, strict=True):
        if keep_if_there_is_room(project_id, content, name=file.name) is not None:
            kept.append(file)
        else:
            lost += 1
    told = result.model_dump()
    told["files"] = [file.model_dump() for file in kept]
    if lost:
        told["content"] += f"\n({lost} files were not kept: there is no room for them.)"
    return ToolResult.model_validate(told)
