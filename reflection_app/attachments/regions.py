"""Issues that are about a part of a file: checked against the attempt that holds it, and as a form's row has them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from reflection_app.attachments.models import Attachment, AttemptAttachment, ProducedFile
from reflection_app.core.errors import wrong
from reflection_app.loops.regions import box_in, page_in, time_in
from reflection_app.loops.verdicts import Issue
from reflection_app.runs.models import Attempt

REGION_FIELDS = ("region_file", "region_part")


def check_regions(issues: Sequence[Issue], *, of: Iterable[Attempt]) -> None:
    """Raises InvalidInput where an issue is about a file that the attempts do not hold, or a part that it has not."""
    if not any(issue.region for issue in issues):
        return
    rows = AttemptAttachment.objects.filter(attempt__in=of, attachment__isnull=False).prefetch_related("attachment")
    held = {row.attachment_id: row.attachment for row in rows}
    # What was produced beside an attempt's answer is no part of it, and is looked at as its own.
    beside = ProducedFile.objects.filter(attempt__in=of, attachment__isnull=False).prefetch_related("attachment")
    held |= {row.attachment_id: row.attachment for row in beside}
    for number, issue in enumerate(issues):
        if issue.region is None:
            continue
        attachment = held.get(issue.region.attachment)
        if attachment is None:
            message = _("Issue %(number)s: the attempt has no such file.")
            raise wrong(f"issues.{number}.region.attachment", message % {"number": number + 1})
        if not _has_part(attachment, issue.region.fragment):
            message = _("Issue %(number)s: invalid region. Images take boxes, PDFs take pages and audio takes seconds.")
            raise wrong(f"issues.{number}.region.fragment", message % {"number": number + 1})


def _has_part(attachment: Attachment, fragment: str) -> bool:
    if not fragment:
        return True
    page = page_in(fragment)
    return (
        (attachment.is_picture and box_in(fragment) is not None)
        or (attachment.is_sound and time_in(fragment) is not None)
        or (attachment.is_pdf and page is not None and page <= (attachment.pages or page))
    )


def row_of_region(issue: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a form's row about the region of an issue, empty where it has none."""
    region = issue.get("region") or {}
    return dict(zip(REGION_FIELDS, (str(region.get("attachment", "")), str(region.get("fragment", ""))), strict=True))


def with_region(row: Mapping[str, str]) -> dict[str, Any]:
    """The row as an issue is read: without a file that is chosen, there is no region."""
    issue: dict[str, Any] = {name: value for name, value in row.items() if name not in REGION_FIELDS}
    if file := row.get("region_file"):
        issue["region"] = {"attachment": file, "fragment": row.get("region_part", "")}
    return issue
