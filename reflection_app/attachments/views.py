"""What an attempt holds besides its text, as its card shows it."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from reflection_app.attachments.models import Attachment, AttemptAttachment

# Within this many pixels a picture is shown on its card, so that room for it is there before it is.
WIDEST, HIGHEST = 340, 260


@dataclass(frozen=True)
class AttachedShown:
    """One of them: `label` counts them, and is told where it has no name."""

    place: int
    label: str
    name: str
    url: str
    attachment: Attachment | None

    @property
    def display_size(self) -> tuple[int, int]:
        """How large a picture is shown: as it is, or as much smaller as it has to be."""
        assert self.attachment is not None
        width, height = self.attachment.width or 1, self.attachment.height or 1
        scale = min(1.0, WIDEST / width, HIGHEST / height)
        return max(1, round(width * scale)), max(1, round(height * scale))

    @property
    def title(self) -> str:
        return self.name or self.label


def shown(rows: Iterable[AttemptAttachment]) -> list[AttachedShown]:
    """They in their order; of rows whose attachments were fetched with them no query is made."""
    return [
        AttachedShown(
            place=row.place,
            label=_kind_of(row.attachment) % {"number": row.place},
            name=row.name,
            url=row.url,
            attachment=row.attachment,
        )
        for row in rows
    ]


def _kind_of(attachment: Attachment | None) -> str:
    if attachment is None:
        return _("Link %(number)s")
    if attachment.is_picture:
        return _("Picture %(number)s")
    if attachment.is_sound:
        return _("Sound %(number)s")
    return _("File %(number)s")
