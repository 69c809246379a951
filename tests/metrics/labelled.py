"""Labels as rows, so that figures and files have something to tell."""

from itertools import count
from typing import Any
from uuid import UUID

from reflection_app.core.models import Project
from reflection_app.metrics.models import Label, LabelKind

_numbers = count(1)


def label(project: Project, kind: LabelKind, claimed: str, said: str, **fields: Any) -> Label:
    """A label about something of its own."""
    texts = fields.pop("input", {})
    return Label.objects.create(
        project=project,
        kind=kind,
        about="thing",
        about_id=UUID(int=next(_numbers)),
        claimed=claimed,
        corrected=said,
        is_corrected=fields.pop("is_corrected", claimed != said),
        input=texts,
        by_label="ann",
        **fields,
    )
