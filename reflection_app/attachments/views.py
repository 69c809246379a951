"""What an attempt holds besides its text, as its card shows it, with the issues that are about parts of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from pydantic import ValidationError

from reflection_app.attachments.models import Attachment, AttemptAttachment
from reflection_app.loops.regions import Region, box_in, page_in, time_in

# The number of a box stands in a square of this size.
NUMBER_SIZE = 16


@dataclass(frozen=True)
class RegionShown:
    """An issue about a part of a file. Lengths are in pixels of the picture as it is shown, as SVG writes them."""

    number: int
    description: str
    where: str
    x: str = ""
    y: str = ""
    width: str = ""
    height: str = ""
    number_x: str = ""
    number_y: str = ""

    @property
    def is_box(self) -> bool:
        return bool(self.width)


@dataclass(frozen=True)
class AttachedShown:
    """One of them: `label` counts them, and is told where it has no name."""

    place: int
    label: str
    name: str
    url: str
    attachment: Attachment | None
    regions: tuple[RegionShown, ...] = ()

    @property
    def title(self) -> str:
        return self.name or self.label


def shown(rows: Iterable[AttemptAttachment], *, issues: Iterable[Mapping[str, Any]] = ()) -> list[AttachedShown]:
    """They in their order, with the issues as verdicts keep them; of rows fetched with attachments no query is made."""
    about = _by_file(issues)
    return [
        AttachedShown(
            place=row.place,
            label=_kind_of(row.attachment) % {"number": row.place},
            name=row.name,
            url=row.url,
            attachment=row.attachment,
            regions=tuple(
                _region(row.attachment, fragment, description, number=number)
                for number, (fragment, description) in enumerate(about[str(row.attachment_id)], start=1)
            )
            if row.attachment
            else (),
        )
        for row in rows
    ]


def _by_file(issues: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """Fragment and description of each issue about a file, by the file's id; the same is told once."""
    found: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for issue in issues:
        try:
            region = Region.model_validate(issue.get("region"))
        except ValidationError:  # there is none
            continue
        found[str(region.attachment)][region.fragment, str(issue.get("description", ""))] = None
    return defaultdict(list, {file: list(told) for file, told in found.items()})


def _region(attachment: Attachment, fragment: str, description: str, *, number: int) -> RegionShown:
    box = box_in(fragment) if attachment.is_picture else None
    if box is None:
        return RegionShown(number, description, where_in_words(fragment))
    width, height = attachment.display_size
    x, y = box.x * width / 100, box.y * height / 100
    # The number stands within the picture, however close to its edge the box is.
    at_x, at_y = min(x, width - NUMBER_SIZE), min(y, height - NUMBER_SIZE)
    lengths = (x, y, box.width * width / 100, box.height * height / 100, max(0.0, at_x), max(0.0, at_y))
    return RegionShown(number, description, where_in_words(fragment), *(f"{length:.1f}" for length in lengths))


def where_in_words(fragment: str) -> str:
    """The part of a file, as people say it; nothing where it is all of it."""
    if page := page_in(fragment):
        return _("page %(number)s") % {"number": page}
    if time := time_in(fragment):
        return _("%(first)s–%(last)s s") % {"first": f"{time[0]:g}", "last": f"{time[1]:g}"}
    return _("marked on the image") if box_in(fragment) else ""


def _kind_of(attachment: Attachment | None) -> str:
    if attachment is None:
        return _("Link %(number)s")
    if attachment.is_picture:
        return _("Image %(number)s")
    if attachment.is_sound:
        return _("Audio %(number)s")
    return _("File %(number)s")
