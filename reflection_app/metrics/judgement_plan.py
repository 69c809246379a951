"""What rows of judgements would do to those that a project has."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from reflection_app.core.models import Project
from reflection_app.metrics.compared import majority
from reflection_app.metrics.judgement_rows import JudgementRow, NumberedRow
from reflection_app.metrics.models.judged_item import CriticJudgement, JudgedItem, PersonsJudgement

CHUNK = 5_000


class RowStep(StrEnum):
    """NEW: the critic's judgement is not there. CHANGED: it is, and the row says something else or something more."""

    NEW = "new"
    SAME = "same"
    CHANGED = "changed"


@dataclass(frozen=True)
class PlannedRow:
    """`changes` are the fields that would become other ones: verdict, confidence, people, content."""

    line: int
    row: JudgementRow
    step: RowStep
    changes: tuple[str, ...] = ()


@dataclass
class Held:
    """What a project has of one item."""

    id: UUID | None = None
    content: str = ""
    critics: dict[tuple[str, str], tuple[str, float | None]] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)


def held_items(project: Project, external_ids: Iterable[str]) -> dict[str, Held]:
    """What the project has of these items, by their names elsewhere."""
    wanted = sorted(set(external_ids))
    found: dict[str, Held] = {}
    for start in range(0, len(wanted), CHUNK):
        items = JudgedItem.objects.filter(project=project, external_id__in=wanted[start : start + CHUNK])
        by_id = {
            pk: (name, Held(pk, content)) for pk, name, content in items.values_list("pk", "external_id", "content")
        }
        found.update(by_id.values())
        of_items = {"item__in": list(by_id)}
        critics = CriticJudgement.objects.filter(**of_items)
        for item, model, version, verdict, confidence in critics.values_list(
            "item", "model", "prompt_version", "verdict", "confidence"
        ):
            by_id[item][1].critics[model, version] = (verdict, confidence)
        people = PersonsJudgement.objects.filter(**of_items)
        for item, name, verdict in people.values_list("item", "name", "verdict"):
            by_id[item][1].people[name] = verdict
    return found


def plan(project: Project, rows: Sequence[NumberedRow]) -> list[PlannedRow]:
    """What each row would do, given what the project has and the rows before it."""
    held = held_items(project, (one.row.external_id for one in rows))
    planned = []
    for one in rows:
        item = held.setdefault(one.row.external_id, Held())
        planned.append(_planned(one, item))
        _take(item, one.row)
    return planned


def split_items(project: Project, rows: Sequence[NumberedRow]) -> int:
    """Of how many of the rows' items people would have said something and have no majority."""
    held = held_items(project, (one.row.external_id for one in rows))
    for one in rows:
        _take(held.setdefault(one.row.external_id, Held()), one.row)
    return sum(bool(item.people) and majority(item.people.values()) is None for item in held.values())


def counted(planned: Iterable[PlannedRow]) -> Counter[RowStep]:
    """How many rows of each step there are."""
    return Counter(one.step for one in planned)


def _planned(one: NumberedRow, item: Held) -> PlannedRow:
    critic = one.row.critic
    known = item.critics.get((critic.model, critic.prompt_version))
    if known is None:
        return PlannedRow(one.line, one.row, RowStep.NEW)
    changes = [
        name
        for name, is_other in (
            ("verdict", known[0] != critic.verdict),
            ("confidence", known[1] != critic.confidence),
            ("people", any(item.people.get(person.name) != person.verdict for person in one.row.people)),
            ("content", one.row.content not in {"", item.content}),
        )
        if is_other
    ]
    return PlannedRow(one.line, one.row, RowStep.CHANGED if changes else RowStep.SAME, tuple(changes))


def _take(item: Held, row: JudgementRow) -> None:
    item.critics[row.critic.model, row.critic.prompt_version] = (row.critic.verdict.value, row.critic.confidence)
    item.people.update((person.name, person.verdict.value) for person in row.people)
    item.content = row.content or item.content
