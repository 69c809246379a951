"""Changing a project's review policy, and trying one on what referees really said."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import blake2b, sha256
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, DecimalField, Exists, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import Field

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput, PolicyMovedOn
from reflection_app.core.models import OwnWork, Project
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.task_spec import MOST_RULES, Mode, ReviewPolicy, ReviewRule, RuleAction
from reflection_app.loops.verdicts import Judgement, Referee, Verdict
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Step
from reflection_app.runs.models import Verdict as VerdictRow
from reflection_app.tasks.models import Task

# Changing a project's review policy. Runs under way keep the policy that they began with.
#
# The policy is what an auto-approval would be written into, so one thing is not left to it: a rule that lets verdicts
# stand is only taken together with an audit, of a share that is at least the installation's REVIEW_MIN_AUDIT_SHARE
# and never nothing, however low that is set. The draws of the audit come after all rules, no rule can decide about
# them, and each is kept in its run's journal; so what nobody is asked about stays a sample that people look at.
# Verdicts that merely no rule mentions are not held to it: where nothing is trusted by name, a project may choose to
# audit nothing.


class PolicyInput(ReviewPolicy):
    """A policy as it is handed in. `digest` is that of the policy which was seen, where it must not have changed.

    `own_work` is no part of the policy: it holds at once for every review, and is left as it is where it is not given.
    """

    # Nobody resets all rules by leaving them out.
    rules: tuple[ReviewRule, ...] = Field(max_length=MOST_RULES)
    digest: Annotated[str, Field(max_length=64)] | None = None
    own_work: OwnWork | None = Field(
        default=None,
        description="who may decide on what they, or a key of theirs, handed in; changed by people alone, at the desk",
    )

    @property
    def policy(self) -> ReviewPolicy:
        return ReviewPolicy.model_validate(self.model_dump(exclude={"digest", "own_work"}))


def digest_of(policy: ReviewPolicy) -> str:
    """A name for what the policy says: the same for the same rules, another one after any change."""
    return sha256(policy.model_dump_json().encode()).hexdigest()[:16]


def read_rules(policy: ReviewPolicy) -> list[dict[str, str]]:
    """What is wrong with a policy beyond its single values; nothing where it may be kept."""
    errors = [
        {"field": f"rules.{index}.score_from", "message": _("Must be under the score that it ends below.")}
        for index, rule in enumerate(policy.rules)
        if rule.score_from is not None and rule.score_below is not None and rule.score_from >= rule.score_below
    ]
    lets_stand = any(rule.action is RuleAction.STAND for rule in policy.rules)
    least = settings.REVIEW_MIN_AUDIT_SHARE
    if lets_stand and policy.audit_share <= 0:
        errors.append({"field": "audit_share", "message": _("Above 0: what a rule lets stand must still be audited.")})
    elif lets_stand and policy.audit_share < least:
        message = _("At least %(least)s while a rule lets verdicts stand; this installation asks for it.")
        errors.append({"field": "audit_share", "message": message % {"least": f"{least:g} ({least * 100:g} %)"}})
    return errors


@transaction.atomic
def change_policy(project: Project, policy: ReviewPolicy, *, actor: Actor, digest: str | None = None) -> Project:
    """The project with its new policy; saving what holds already changes nothing and is not recorded.

    Raises InvalidInput where rules make no sense or turn the audit off, and PolicyMovedOn where `digest` is not that
    of the policy which holds.
    """
    if errors := read_rules(policy):
        raise InvalidInput(_("The review policy was not accepted; nothing was saved."), errors=errors)
    locked = Project.objects.select_for_update().get(pk=project.pk)
    holding = locked.get_review_policy()
    if digest is not None and digest != digest_of(holding):
        raise PolicyMovedOn(_("Somebody changed the review policy meanwhile. Nothing was saved."))
    if policy == holding:
        return locked
    before, after = holding.model_dump(mode="json"), policy.model_dump(mode="json")
    locked.review_policy = after
    locked.save(update_fields=["review_policy"])
    audit(locked.pk, actor, "policy.changed", target=locked, before=before, after=after)
    return locked


# What a review policy would do with a recorded verdict.
#
# Pure: what a rule's share depends on is no chance but a hash of the verdict's id.

# Verdicts that are alike to all rules are asked about once; scores with many digits are hardly ever alike.
MOST_REMEMBERED = 20_000


class Facts(NamedTuple):
    """All that rules look at."""

    verdict: str
    score: float
    confidence: float | None
    kind: str
    agent: str
    cost_usd: Decimal = Decimal(0)


def chance_of(verdict_id: UUID, draw: int) -> float:
    """A number in [0, 1) that is always the same for this verdict's draw of that number, from 0."""
    digest = blake2b(verdict_id.bytes, digest_size=8, salt=draw.to_bytes(2)).digest()
    return int.from_bytes(digest) / 2**64


def fitting(policy: ReviewPolicy) -> Callable[[Facts], tuple[int, ...]]:
    """A function to the indexes of those rules that fit, in order."""
    remembered: dict[Facts, tuple[int, ...]] = {}

    def find(facts: Facts) -> tuple[int, ...]:
        known = remembered.get(facts)
        if known is None:
            judgement = Judgement.model_construct(
                attempt=1,
                referee=Referee.CRITIC,
                verdict=Verdict(facts.verdict),
                score=facts.score,
                confidence=facts.confidence,
            )
            known = tuple(
                index
                for index, rule in enumerate(policy.rules)
                if rule.fits(judgement, kind=facts.kind, agent=facts.agent, cost_usd=facts.cost_usd)
            )
            if len(remembered) < MOST_REMEMBERED:
                remembered[facts] = known
        return known

    return find


@dataclass
class Counted:
    """What one policy would have done with the verdicts so far. `by_rule` are those that each rule decided about.

    `opinions` are the decisions asked of people; `audits` is how many of the others the audit is expected to draw.
    """

    policy: ReviewPolicy
    waiting: int = 0
    standing: int = 0
    opinions: int = 0
    by_rule: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_rule = [0] * len(self.policy.rules)
        self._fitting = fitting(self.policy)

    @property
    def audits(self) -> float:
        return self.standing * self.policy.audit_share

    def count(self, verdict_id: UUID, facts: Facts) -> bool:
        """Whether this verdict would have waited for a person."""
        for drawn, index in enumerate(self._fitting(facts)):
            rule = self.policy.rules[index]
            # Of those that fit the first decides that is not kept from it by its share.
            if rule.share == 1 or chance_of(verdict_id, drawn) < rule.share:
                self.by_rule[index] += 1
                if rule.action is RuleAction.WAIT:
                    self.waiting += 1
                    self.opinions += rule.reviewers
                    return True
                break
        self.standing += 1
        return False


# A review policy tried on what referees really said: how many verdicts would have waited for a person.
#
# It differs from what a changed policy would bring about in three ways, and pages say so: a verdict that waits can be
# overruled, and then no later attempt is judged; a random share is not drawn anew but follows from the verdict's id, so
# that trying the same rules again gives the same figures; and a checkpoint of the six steps waits whatever the policy.

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
    | (_BY_REQUIREMENTS & (Q(verdict=Verdict.PASS.value) | Q(attempt__number=1)))
)


@dataclass(frozen=True)
class Example:
    """A verdict about which the two policies differ."""

    verdict: VerdictRow

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
    # What rules look at, of the newest verdicts.
    columns: list[Any] = ["verdict", "score", "confidence", "attempt__run__task__kind", "attempt__run__task__agent"]
    with_costs = rows
    if any(rule.cost_from_usd is not None for rule in (*typed.rules, *saved.rules)):
        with_costs = rows.annotate(cost_then=cost_then())
        columns.append("cost_then")
    newest = with_costs.order_by("-created_at", "-id").values_list("pk", *columns)[:MOST_VERDICTS]
    for verdict_id, *values in newest.iterator(chunk_size=CHUNK):
        seen += 1
        facts = Facts(*values)
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


def recorded_verdicts(project_id: UUID, *, since: datetime) -> QuerySet[VerdictRow]:
    """The verdicts that a policy decides about: said by a referee in a run of its own, not by a script or in a copy."""
    checkpoints = Review.objects.filter(verdict=OuterRef("pk"), reason=ReviewReason.CHECKPOINT.value)
    return VerdictRow.objects.filter(
        JUDGED_BY_POLICY,
        ~Exists(checkpoints),
        attempt__run__project=project_id,
        attempt__run__is_scripted=False,
        step__is_inherited=False,
        created_at__gte=since,
    ).order_by()


def cost_then(verdict: str = "") -> Coalesce:
    """What the run had cost when the verdict was given, as its loop counted it; `verdict` leads to it: `verdict__`."""
    until = OuterRef(f"{verdict}step__seq")
    steps = Step.objects.filter(run=OuterRef(f"{verdict}attempt__run"), seq__lte=until).order_by()
    spent = steps.values("run").annotate(spent=Sum("cost_usd")).values("spent")
    return Coalesce(Subquery(spent), Value(Decimal(0)), output_field=DecimalField(max_digits=16, decimal_places=8))


def _examples(ids: list[UUID]) -> tuple[Example, ...]:
    """The first of them, in that order."""
    rows = VerdictRow.objects.select_related("attempt__run__task").defer("attempt__run__spec", "attempt__content")
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
