"""Judgements from elsewhere: what each critic said of an item beside what most people said of it."""

from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from reflection_app.metrics.calibration import Judged
from reflection_app.metrics.compared import Compared, Critic, JudgementSource, majority
from reflection_app.metrics.models.judged_item import CriticJudgement, JudgedItem, PersonsJudgement

MOST_COMPARED = 20_000


@dataclass(frozen=True)
class Undecided:
    """Items that a critic judged and that are in no figure: people were split, or nobody said anything."""

    split: int
    unjudged: int


def compared_items(project_id: UUID) -> tuple[list[Compared], Undecided]:
    """The newest judgements of critics on items where people have a majority, and how many items have none.

    All weigh the same: nothing is known of how they were chosen. What several critics say of one item are figures of
    their own, so that no item counts twice in any.
    """
    said: dict[UUID, list[str]] = defaultdict(list)
    people = PersonsJudgement.objects.filter(item__project=project_id)
    for item_id, verdict in people.values_list("item", "verdict").iterator():
        said[item_id].append(verdict)
    agreed = {item_id: majority(verdicts) for item_id, verdicts in said.items()}
    found: list[Compared] = []
    left_out: set[UUID] = set()
    columns = ("item", "model", "prompt_version", "verdict", "confidence")
    newest = CriticJudgement.objects.filter(item__project=project_id).order_by("-created_at", "-id")
    for item_id, model, version, verdict, confidence in newest.values_list(*columns)[:MOST_COMPARED]:
        right = agreed.get(item_id)
        if right is None:
            left_out.add(item_id)
        else:
            critic = Critic(JudgementSource.IMPORTED, model=model, version=version)
            found.append(Compared(critic, Judged(verdict, right, confidence=confidence), behind=item_id))
    split = sum(item_id in agreed for item_id in left_out)
    return found, Undecided(split=split, unjudged=len(left_out) - split)


def judged_items(project_id: UUID) -> QuerySet[JudgedItem]:
    """The project's items with all that was said of them, newest first."""
    items = JudgedItem.objects.filter(project=project_id).prefetch_related("critic_judgements", "persons_judgements")
    return items.order_by("-created_at", "-id")
