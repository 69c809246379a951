"""Keeping the files of attempts: each once in a project, by what it is; and letting go of those that none has."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.attachments.models import LONGEST_NAME, Attachment, AttemptAttachment, ProducedFile, RenderedPage
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import wrong
from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.core.recognizing import INLINE, recognize
from reflection_app.loops.content_parts import MediaPart
from reflection_app.runs.models import Attempt

MEGABYTE = 1_000_000
MOST_FILES = 20
# An upload is kept this long for an attempt that is to hold it.
KEPT_UNUSED = timedelta(days=1)
SWEPT_AT_ONCE = 100
# How much of a name's end is looked at: the name in a part may be as long as the part.
LOOKED_AT = 20 * LONGEST_NAME


def cleaned_name(name: str, *, media_type: str = "") -> str:
    """The last part of the name, without what is not seen or turns writing around, with an ending of what it is."""
    kept = PurePosixPath(_seen(name[-LOOKED_AT:]).strip()).name.strip(" .")
    endings = INLINE.get(media_type, ())
    if not kept or not endings or kept.lower().endswith(endings):
        return kept[-LONGEST_NAME:]
    return kept[: LONGEST_NAME - len(endings[0])] + endings[0]


def claimed_name(name: str) -> str:
    """The name with its folders and its own ending, without what is not seen or turns writing around.

    What the bytes are is told apart from this, so that a wrong ending can be.
    """
    parts = [part for part in _seen(name).split("/") if part.strip(" .")]
    return "/".join(part.strip() for part in parts)[-LONGEST_NAME:]


def _seen(name: str) -> str:
    """The name with slashes between folders and single spaces, without what is not seen or turns writing around."""
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    seen = (sign for sign in name if sign.isspace() or unicodedata.category(sign) not in unseen)
    return re.sub(r"\s+", " ", "".join(seen)).replace("\\", "/")


def facts_of(content: bytes, *, name: str) -> dict[str, Any]:
    """What a row tells of these bytes besides them, all of it found in them but the name."""
    found = recognize(content)
    named = cleaned_name(name, media_type=found.media_type)
    return {
        "sha256": _digest(content),
        "size": len(content),
        "name": named,
        "claimed": claimed_name(name),
    } | asdict(found)


def upload(project: Project, content: bytes, *, name: str, actor: Actor) -> Attachment:
    """The file, kept for an attempt that is to name it; the same bytes are kept once. Raises InvalidInput."""
    with transaction.atomic():
        kept = keep(project.pk, content, name=name, field="file")
        audit(project.pk, actor, "attachment.uploaded", target=kept, after={"size": kept.size, "sha256": kept.sha256})
    return kept


def attach(attempt: Attempt, media: Sequence[MediaPart], *, project_id: UUID) -> None:
    """The attempt holds the files and links, in the caller's transaction. Raises InvalidInput, naming the part."""
    rows = []
    files = iter(files_of([one for one in media if not one.url], project_id=project_id, field="content"))
    for place, one in enumerate(media, start=1):
        kept = None if one.url else next(files)
        name = cleaned_name(one.name, media_type=kept.media_type if kept else "") or (kept.name if kept else "")
        rows.append(
            AttemptAttachment(
                attempt=attempt,
                place=place,
                attachment=kept,
                name=name,
                claimed=claimed_name(one.name),
                word=one.word,
                url=one.url,
            )
        )
    AttemptAttachment.objects.bulk_create(rows)


def files_of(media: Sequence[MediaPart], *, project_id: UUID, field: str) -> list[Attachment]:
    """The rows of parts that are no links, in their order, in the caller's transaction.

    Raises InvalidInput, which names the part in `field`.
    """
    uploaded = _uploaded(media, project_id=project_id, field=field)
    return [
        keep(project_id, one.content, name=one.name, field=f"{field}.{one.number}")
        if one.content
        else uploaded[one.uploaded]
        for one in media
    ]


def has_same_files(attempt: Attempt, media: Sequence[MediaPart]) -> bool:
    """Whether the attempt holds just these files and links, in this order."""
    rows = AttemptAttachment.objects.filter(attempt=attempt).order_by("place")
    recorded = list(rows.values_list("attachment__sha256", "attachment", "url"))
    return len(recorded) == len(media) and all(
        _is_same(one, digest=digest, kept=kept, url=url)
        for (digest, kept, url), one in zip(recorded, media, strict=True)
    )


def _is_same(one: MediaPart, *, digest: str | None, kept: UUID | None, url: str) -> bool:
    if one.content:
        return digest == _digest(one.content)
    return url == one.url if one.url else str(kept) == one.uploaded.lower()


def copy_attachments(attempts: dict[UUID, Attempt]) -> None:
    """The attempts, by the id of the one that each is a copy of, hold what that one holds."""
    rows = AttemptAttachment.objects.filter(attempt__in=attempts)
    for row in rows:
        row.pk, row.attempt = new_id(), attempts[row.attempt_id]
    AttemptAttachment.objects.bulk_create(rows)


def sweep_unused(now: datetime) -> int:
    """How many files that nothing of a run holds were let go. Whoever is just handing one in again keeps it."""
    held = Exists(AttemptAttachment.objects.filter(attachment=OuterRef("pk")))
    produced = Exists(ProducedFile.objects.filter(attachment=OuterRef("pk")))
    unused = Attachment.objects.filter(~held, ~produced, handed_in_at__lt=now - KEPT_UNUSED)
    swept: Counter[str] = Counter()
    while True:
        with transaction.atomic():
            locked = unused.select_for_update(skip_locked=True, of=("self",)).order_by("handed_in_at")
            some = list(locked.values_list("pk", flat=True)[:SWEPT_AT_ONCE])
            # Looked at again: an attempt may have come to hold one before it was locked.
            gone, _by_model = unused.filter(pk__in=some).delete()
            left = Attachment.objects.filter(pk__in=some)
            RenderedPage.objects.filter(attachment__in=some).exclude(attachment__in=left).delete()
        swept["gone"] += gone
        if len(some) < SWEPT_AT_ONCE or not gone:
            return swept["gone"]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def keep(project_id: UUID, content: bytes, *, name: str, field: str) -> Attachment:
    """The one row of these bytes, which stays at least until the caller's transaction ends. Raises InvalidInput."""
    if not content:
        raise wrong(field, _("The file is empty. Nothing was saved."))
    if len(content) > settings.ATTACHMENT_MAX_MB * MEGABYTE:
        raise wrong(
            field,
            _("The file is larger than %(most)s MB. Nothing was saved.") % {"most": f"{settings.ATTACHMENT_MAX_MB:,}"},
        )
    _lock_files(project_id)
    mine, digest = Attachment.objects.filter(project=project_id), _digest(content)
    known = mine.select_for_update(no_key=True).filter(sha256=digest).first()
    if known is not None:
        known.handed_in_at = timezone.now()
        known.save(update_fields=["handed_in_at"])
        return known
    most, kept = settings.ATTACHMENTS_PROJECT_MB, mine.aggregate(all=Sum("size"))["all"] or 0
    if kept + len(content) > most * MEGABYTE:
        raise wrong(
            field,
            _("The project's file limit of %(most)s MB is reached. Nothing was saved.") % {"most": f"{most:,}"},
        )
    return Attachment.objects.create(project_id=project_id, content=content, **facts_of(content, name=name))


def _uploaded(media: Sequence[MediaPart], *, project_id: UUID, field: str) -> dict[str, Attachment]:
    """What was uploaded before, by its id as the part names it; it stays at least until the transaction ends."""
    named = {one.uploaded: one for one in media if not one.content and not one.url}
    if not named:
        return {}
    _lock_files(project_id)
    ids = {given: UUID(given) for given in named if _is_id(given)}
    rows = Attachment.objects.select_for_update(no_key=True).filter(project=project_id, pk__in=ids.values())
    found = {row.pk: row for row in rows}
    for given, one in named.items():
        if ids.get(given) not in found:
            raise wrong(
                f"{field}.{one.number}",
                _("Attachment %(id)s not found; unused uploads expire after one day. Nothing was submitted.")
                % {"id": repr(given[:60])},
            )
    return {given: found[ids[given]] for given in named}


def _lock_files(project_id: UUID) -> None:
    """Until the transaction ends nobody else adds to the project's files.

    Two attempts with the same files in another order would else wait for each other.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"files of {project_id}"])


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
