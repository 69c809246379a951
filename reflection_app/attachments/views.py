"""What an attempt holds besides its text, as its card shows it, with the issues that are about parts of it.

And the files that were opened, with what was found in them and a look at how they begin.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import ValidationError

from reflection_app.attachments.models import Attachment, AttemptAttachment, ProducedFile, RenderedPage
from reflection_app.loops.completeness.files import FileFacts, FileKind
from reflection_app.loops.completeness.looked import Look
from reflection_app.loops.regions import Region, box_in, page_in, time_in

# Within this many pixels a picture is shown on its card, so that room for it is there before it is.
WIDEST, HIGHEST = 340, 260
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

    @property
    def display_size(self) -> tuple[int, int]:
        """How large a picture is shown."""
        assert self.attachment is not None
        return _display_size(self.attachment)


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
    if not attachment.is_picture:
        return RegionShown(number, description, where_in_words(fragment))
    return _region_within(_display_size(attachment), fragment, description, number=number)


def _region_within(size: tuple[int, int], fragment: str, description: str, *, number: int) -> RegionShown:
    """The issue on a picture that is shown in this size."""
    box = box_in(fragment)
    if box is None:
        return RegionShown(number, description, where_in_words(fragment))
    width, height = size
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
        return _("%(first)s to %(last)s s") % {"first": f"{time[0]:g}", "last": f"{time[1]:g}"}
    return _("marked on the picture") if box_in(fragment) else ""


def _display_size(attachment: Attachment) -> tuple[int, int]:
    return _fitted(attachment.width or 1, attachment.height or 1)


def _fitted(width: int, height: int) -> tuple[int, int]:
    scale = min(1.0, WIDEST / width, HIGHEST / height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _kind_of(attachment: Attachment | None) -> str:
    if attachment is None:
        return _("Link %(number)s")
    if attachment.is_picture:
        return _("Picture %(number)s")
    if attachment.is_sound:
        return _("Sound %(number)s")
    return _("File %(number)s")


# The files that were opened.

TABLES = frozenset({FileKind.CSV, FileKind.TSV, FileKind.XLSX, FileKind.PARQUET})
# Their beginning is kept with tabs between the cells, whatever stands in the file.
WRITTEN_WITH_TABS = frozenset({FileKind.XLSX, FileKind.PARQUET})
MOST_ROWS, MOST_COLUMNS = 8, 12
LONGEST_CELL = 80


@dataclass(frozen=True)
class FileShown:
    """A file that was opened, with how it begins: as rows, as text, or as a picture of it."""

    place: int
    facts: FileFacts
    attachment: Attachment | None

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def is_seen(self) -> bool:
        """Return True if the file was opened."""
        return self.facts.could_look

    @property
    def is_picture(self) -> bool:
        return self.attachment is not None and self.attachment.is_picture

    @property
    def has_page(self) -> bool:
        """Whether its first page can be drawn."""
        return self.attachment is not None and self.attachment.is_pdf and bool(self.facts.pages)

    @property
    def rows(self) -> list[list[str]]:
        """The first rows of a table, its columns' names first; empty where it is none."""
        if self.facts.kind not in TABLES or not self.facts.begins:
            return []
        return _first_rows(self.facts)

    @property
    def text(self) -> str:
        """How it begins, where that is no table and no picture."""
        return "" if self.rows or self.is_picture or self.has_page else self.facts.begins

    @property
    def size_shown(self) -> tuple[int, int]:
        """How large a picture of it is shown."""
        assert self.attachment is not None
        return _display_size(self.attachment)


def _first_rows(facts: FileFacts) -> list[list[str]]:
    begins = facts.begins.removeprefix("\ufeff")
    # The last line may be cut, unless it is the only one.
    lines = begins.splitlines()
    if len(lines) > 1 and facts.rows is not None and len(lines) <= facts.rows:
        lines = lines[:-1]
    sign = "\t" if facts.kind in WRITTEN_WITH_TABS else max("\t,;|", key=lines[0].count)
    read = csv.reader(io.StringIO("\n".join(lines[: MOST_ROWS + 1])), delimiter=sign)
    try:
        return [[cell[:LONGEST_CELL] for cell in row[:MOST_COLUMNS]] for row in read if row]
    except csv.Error:
        return []


def files_shown(rows: Iterable[ProducedFile]) -> list[FileShown]:
    """The files that were opened, in their order; of rows fetched with attachments no query is made."""
    return [
        FileShown(place=row.place, facts=FileFacts.model_validate(row.facts), attachment=row.attachment)
        for row in rows
        if row.facts is not None
    ]


# What a model saw of files, with the pages as they were shown to it.


@dataclass(frozen=True)
class SeenPageShown:
    """A page that a model looked at, with what it found on it. Without `is_kept` there is no picture of it any more."""

    file: str
    attachment: UUID | None
    page: int
    display_size: tuple[int, int]
    regions: tuple[RegionShown, ...]
    is_kept: bool


@dataclass(frozen=True)
class SeenFindingShown:
    """A finding by the number that its box has."""

    number: int
    what: str
    severity: str
    page: int
    confidence: float | None


@dataclass(frozen=True)
class LookShown:
    """One file and what it must show."""

    look: Look
    pages: tuple[SeenPageShown, ...]
    findings: tuple[SeenFindingShown, ...]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.look, name)


def looks_shown(looks: Iterable[Look], *, project_id: UUID) -> tuple[LookShown, ...]:
    """The looks in their order; one query for all of them."""
    looks = tuple(looks)
    files = {one.attachment for one in looks if one.attachment}
    kept: set[tuple[UUID, int]] = set()
    if files:
        rows = RenderedPage.objects.filter(attachment__project=project_id, attachment__in=files)
        kept = set(rows.values_list("attachment_id", "page"))
    return tuple(_look_shown(one, kept) for one in looks)


def _look_shown(look: Look, kept: set[tuple[UUID, int]]) -> LookShown:
    numbered = list(enumerate(look.findings, start=1))
    pages = []
    for one in look.pages:
        size = _fitted(one.width, one.height)
        on_it = [(number, finding) for number, finding in numbered if finding.page == one.page]
        pages.append(
            SeenPageShown(
                file=look.file,
                attachment=look.attachment,
                page=one.page,
                display_size=size,
                regions=tuple(
                    _region_within(size, finding.fragment, finding.what, number=number) for number, finding in on_it
                ),
                is_kept=look.attachment is not None and (look.attachment, one.page) in kept,
            )
        )
    findings = tuple(
        SeenFindingShown(number, one.what, one.severity.value, one.page, one.confidence) for number, one in numbered
    )
    return LookShown(look, tuple(pages), findings)
