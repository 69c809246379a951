"""What the demo has besides its runs: imported labels, a bulk decision."""

from datetime import datetime
from random import Random

from django.contrib.auth.models import User

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import Decision, ReviewReason
from reflection_app.metrics.judgements import LabelRow, import_labels
from reflection_app.reviews.models import BulkDecision, BulkItem, BulkItemState, BulkState, Review, ReviewState

JUDGED = 48
AGREES = 0.83
OTHERS = ("PASS", "REVISE", "REJECT")
QUESTIONS = (
    "How do I change the address of my invoice?",
    "The app logs me out every morning.",
    "Can I have the course certificate in English?",
    "My order shows “delivered”, and it is not here.",
    "Which plan do I need for three shops?",
    "怎样把订单导出为 Excel？",
)
BULK_REASON = "Read together on Friday: all of them follow the style guide."
BULK_ITEMS = 4


def tell_besides(project: Project, *, reviewer: User, now: datetime, chance: Random) -> None:
    _judged_elsewhere(project, chance=chance)
    _decided_together(project, reviewer=reviewer)


def _judged_elsewhere(project: Project, *, chance: Random) -> None:
    """What two critics said of answers in another tool, and what two people said."""
    rows = []
    for number in range(JUDGED):
        right = chance.choices(OTHERS, (6, 3, 1))[0]
        people = {"lena": right}
        if number % 3 == 0:
            people["oskar"] = right if chance.random() < AGREES else chance.choice(OTHERS)
        for model in ("openai/gpt-5", "anthropic/claude-haiku-4-5"):
            critic = {
                "item": f"reply-{number + 1:03}",
                "text": f"{QUESTIONS[number % len(QUESTIONS)]} (reply {number + 1})",
                "model": model,
                "critic_verdict": right if chance.random() < AGREES else chance.choice(OTHERS),
                "confidence": round(chance.uniform(0.5, 0.98), 2),
            }
            rows += [
                LabelRow.model_validate(critic | {"person": person, "person_verdict": verdict})
                for person, verdict in people.items()
            ]
    import_labels(project, rows, name="replies-september.csv", actor=Actor())


def _decided_together(project: Project, *, reviewer: User) -> None:
    """Some of what the reviewer approved was approved at one go."""
    approved = Review.objects.filter(
        project=project,
        state=ReviewState.DECIDED,
        reason=ReviewReason.AUDIT,
        decision=Decision.APPROVE,
        decided_by=reviewer,
        panel=None,
    ).order_by("-decided_at")[:BULK_ITEMS]
    items = list(approved)
    if not items:
        return
    last = items[0].decided_at
    bulk = BulkDecision.objects.create(
        project=project,
        user=reviewer,
        user_label=reviewer.get_username(),
        decision={"decision": Decision.APPROVE.value, "verdict": None, "reason": BULK_REASON},
        state=BulkState.DONE,
        finished_at=last,
    )
    BulkDecision.objects.filter(pk=bulk.pk).update(created_at=last)
    BulkItem.objects.bulk_create(
        BulkItem(bulk=bulk, review=review, position=place, state=BulkItemState.DONE)
        for place, review in enumerate(items, 1)
    )
    Review.objects.filter(pk__in=[review.pk for review in items]).update(decision_reason=BULK_REASON, decided_at=last)
