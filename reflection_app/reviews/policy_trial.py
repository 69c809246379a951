"""A review policy tried on what referees really said: how many verdicts would have waited for a person.

It differs from what a changed policy would bring about in three ways, and pages say so: a verdict that waits can be
overruled, and then no later attempt is judged; a random share is not drawn anew but follows from the verdict's id, so
that trying the same rules again gives the same figures; and a checkpoint of the six steps waits whatever the policy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, DecimalField, Exists, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from reflection_app.loops.effects import ReviewReason
from reflection_app.loops.review_rules import ReviewPolicy
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.models.review import Review
from reflection_app.reviews.trial_decisions import Counted, Facts
from reflection_app.runs.models import Step, Verdict
from reflection_app.tasks.models import Task

TRIED_DAYS = 30
MOST_VERDICTS = 50_000
MOST_EXAMPLES = 5
CHUNK = 2_000
MOST_SUGGESTED = 100

_PROTOCOL = Q(attempt__run__mode=Mode.REFLECTION_PROTOCOL.value)
_BY_REQUIREMENTS = _PROTOCOL & Q(referee=Referee.TESTS.value, tests__isnull=True, requirements__isnull=False)
# As `settle` is called by the loops: an agent's own check in the six steps is final, and so are requirements that a
# revised output misses.
JUDGED_BY_POLICY = (
    Q(referee=Referee.CRITIC.value)
    | (Q(referee=Referee.SELF.value) & ~_PROTOCOL)
    | (_BY_REQUIREMENTS & (Q(verdict=VerdictName.PASS.value) | Q(attempt__number=1)))
)


@dataclass(frozen=True)
class Example:
    """A verdict about which the two policies differ."""

    verdict: Verdict

    @property
    def title(self) -> str:
        return self.verdict.attempt.run.task.title


@dataclass(frozen=True)
class PolicyTrial:
    """`left_out` are verdicts of those days beyond the newest MOST_VERDICTS."""

    since: datetime
    verdicts: int
    left_out: int
    typed: Counted
    saved: Counted
    newly: int
    no_longer: int
    newly_waiting: tuple[Example, ...]
    no_longer_waiting: tuple[Example, ...]


def try_policy(
    project_id: UUID, typed: ReviewPolicy, *, saved: ReviewPolicy, now: datetime | None = None
) -> PolicyTrial:
    """What both policies would have done with the referees' verdicts of the last TRIED_DAYS days."""
    since = (now or timezone.now()) - timedelta(days=TRIED_DAYS)
    rows = recorded_verdicts(project_id, since=since)
    by_typed, by_saved = Counted(typed), Counted(saved)
    newly: list[UUID] = []
    no_longer: list[UUID] = []
    seen = 0
    for verdict_id, facts in _facts_of(rows, with_costs=_asks_cost(typed) or _asks_cost(saved)):
        seen += 1
        waits, waited = by_typed.count(verdict_id, facts), by_saved.count(verdict_id, facts)
        if waits != waited:
            (newly if waits else no_longer).append(verdict_id)
    return PolicyTrial(
        since=since,
        verdicts=seen,
        left_out=rows.count() - seen if seen == MOST_VERDICTS else 0,
        typed=by_typed,
        saved=by_saved,
        newly=len(newly),
        no_longer=len(no_longer),
        newly_waiting=_examples(newly),
        no_longer_waiting=_examples(no_longer),
    )


def recorded_verdicts(project_id: UUID, *, since: datetime) -> QuerySet[Verdict]:
    """The verdicts that a policy decides about: said by a referee in a run of its own, not by a script or in a copy."""
    checkpoints = Review.objects.filter(verdict=OuterRef("pk"), reason=ReviewReason.CHECKPOINT.value)
    return Verdict.objects.filter(
        JUDGED_BY_POLICY,
        ~Exists(checkpoints),
        attempt__run__project=project_id,
        attempt__run__is_scripted=False,
        step__is_inherited=False,
        created_at__gte=since,
    ).order_by()


def _asks_cost(policy: ReviewPolicy) -> bool:
    return any(rule.cost_from_usd is not None for rule in policy.rules)


def _facts_of(rows: QuerySet[Verdict], *, with_costs: bool) -> Iterator[tuple[UUID, Facts]]:
    """The newest verdicts with what rules look at, newest first."""
    columns: list[Any] = ["verdict", "score", "confidence", "attempt__run__task__kind", "attempt__run__task__agent"]
    if with_costs:
        rows = rows.annotate(cost_then=cost_then())
        columns.append("cost_then")
    newest = rows.order_by("-created_at", "-id").values_list("pk", *columns)[:MOST_VERDICTS]
    for verdict_id, *facts in newest.iterator(chunk_size=CHUNK):
        yield verdict_id, Facts(*facts)


def cost_then(verdict: str = "") -> Coalesce:
    """What the run had cost when the verdict was given, as its loop counted it; `verdict` leads to it: `verdict__`."""
    until = OuterRef(f"{verdict}step__seq")
    steps = Step.objects.filter(run=OuterRef(f"{verdict}attempt__run"), seq__lte=until).order_by()
    spent = steps.values("run").annotate(spent=Sum("cost_usd")).values("spent")
    return Coalesce(Subquery(spent), Value(Decimal(0)), output_field=DecimalField(max_digits=16, decimal_places=8))


def _examples(ids: list[UUID]) -> tuple[Example, ...]:
    """The first of them, in that order."""
    rows = Verdict.objects.select_related("attempt__run__task").defer("attempt__run__spec", "attempt__content")
    found = rows.in_bulk(ids[:MOST_EXAMPLES])
    return tuple(Example(found[pk]) for pk in ids[:MOST_EXAMPLES] if pk in found)


@dataclass(frozen=True)
class Seen:
    """Agents and types of tasks that a project had lately, the names in order."""

    agents: tuple[str, ...]
    kinds: tuple[str, ...]


def seen_lately(project_id: UUID, *, now: datetime | None = None) -> Seen:
    """Those of the last TRIED_DAYS days, the MOST_SUGGESTED most frequent of each."""
    since = (now or timezone.now()) - timedelta(days=TRIED_DAYS)
    tasks = Task.objects.filter(project=project_id, created_at__gte=since).order_by()
    return Seen(agents=_most_frequent(tasks, "agent"), kinds=_most_frequent(tasks, "kind"))


def _most_frequent(tasks: QuerySet[Task], column: str) -> tuple[str, ...]:
    rows = tasks.exclude(**{column: ""}).values_list(column).annotate(many=Count("pk")).order_by("-many", column)
    return tuple(sorted(name for name, _ in rows[:MOST_SUGGESTED]))
