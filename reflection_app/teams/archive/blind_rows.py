"""What is left out of a file that people read, as long as several judge the same verdict blindly."""

from dataclasses import dataclass
from uuid import UUID

from notebook_app.public import Row
from reflection_app.reviews.models import BulkItem, PanelState, ReviewState, seats_of_open_panels

UNDECIDED = {
    "state": ReviewState.WAITING.value,
    "opinion": None,
    "decision": None,
    "decided_verdict_id": None,
    "decision_reason": "",
    "decided_by_username": None,
    "decided_by_label": "",
    "decided_at": None,
    "decided_seq": None,
}


@dataclass(frozen=True)
class Blindness:
    """The seats of open panels, and the bulk decisions that would tell what is said there."""

    seats: frozenset[UUID] = frozenset()
    bulks: frozenset[UUID] = frozenset()

    @classmethod
    def of(cls, project_id: UUID) -> "Blindness":
        bulks = BulkItem.objects.filter(bulk__project=project_id, review__panel__state=PanelState.OPEN)
        return cls(
            seats=frozenset(seats_of_open_panels(project_id).values_list("pk", flat=True)),
            bulks=frozenset(bulks.values_list("bulk_id", flat=True)),
        )

    def told(self, table: str, row: Row) -> Row | None:
        """The row as it may be told, or None where it may not be told at all."""
        if table == "reviews" and row["id"] in self.seats and row["state"] == ReviewState.DECIDED:
            return row | UNDECIDED
        if table == "audit" and row["target_id"] in self.seats | self.bulks:
            return row | {"before": {}, "after": {}}
        about = {"bulk_decisions": "id", "bulk_items": "bulk_id", "comments": "about_id"}.get(table)
        return None if about and row[about] in self.seats | self.bulks else row
