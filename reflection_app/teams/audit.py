"""Reading the audit trail: filters that pages, exports and REST share, and what a reader is not told yet."""

from typing import Annotated, Any
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast, Coalesce
from pydantic import BaseModel, ConfigDict, Field

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import ApiKey, Project
from reflection_app.loops.storable import Moment, Text
from reflection_app.reviews.models import hidden_entries

# Words are looked for in JSON without an index: only in so many of the newest entries that the other filters leave.
MOST_SEARCHED = 20_000


class AuditFilter(BaseModel):
    """Which entries are wanted; what is empty or None is no filter."""

    model_config = ConfigDict(frozen=True)

    who: Annotated[Text, Field(max_length=200)] = Field(
        default="", description="who acted: a user name, `key <name>` or `system`"
    )
    action: Annotated[Text, Field(max_length=60)] = Field(default="", description="action, such as `review.decided`")
    target: Annotated[Text, Field(max_length=60)] = Field(default="", description="type of object, such as `run`")
    target_id: UUID | None = Field(default=None, description="id of the object")
    since: Moment | None = Field(default=None, description="at or after this time")
    until: Moment | None = Field(default=None, description="before this time")
    q: Annotated[Text, Field(max_length=200)] = Field(
        default="",
        description="text in the values before or after; searches the newest 20,000 entries that match "
        "the other filters",
    )


def entries_for(project: Project, data: AuditFilter, *, reader: Actor) -> QuerySet[AuditEntry]:
    """The entries, newest first, each with `is_hidden` and, of keys, `made_by`: the name of who made the key.

    What is hidden is not found by its words either.
    """
    hidden = hidden_entries(project.pk, reader=reader)
    exact = {"actor_label": data.who, "action": data.action, "target": data.target, "target_id": data.target_id}
    rows = AuditEntry.objects.filter(project=project, **{name: value for name, value in exact.items() if value})
    if data.since is not None:
        rows = rows.filter(created_at__gte=data.since)
    if data.until is not None:
        rows = rows.filter(created_at__lt=data.until)
    rows = rows.order_by("-created_at", "-id")
    if data.q:
        newest = rows.values("pk")[:MOST_SEARCHED]
        said = rows.filter(pk__in=newest).annotate(
            before_text=Cast("before", TextField()), after_text=Cast("after", TextField())
        )
        rows = said.filter(Q(before_text__icontains=data.q) | Q(after_text__icontains=data.q)).exclude(hidden)
    maker = ApiKey.objects.filter(pk=OuterRef("api_key_id")).order_by().values("created_by_label")
    told: dict[str, Any] = {
        "is_hidden": ExpressionWrapper(hidden, output_field=BooleanField()),
        "made_by": Coalesce(Subquery(maker), Value("")),
    }
    return rows.annotate(**told)
