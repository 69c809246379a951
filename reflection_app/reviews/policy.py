"""Changing a project's review policy, and trying one on what referees really said."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import DecimalField, Exists, OuterRef, Q, QuerySet, Subquery, Sum, Value
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

# Changing a project's review policy. Runs under way keep the policy that they began with.
#
# The policy is what an auto-approval would be written into, so one thing is not left to it: a rule that lets verdicts
# stand is only taken together with an audit, of a share that is at least the installation's REVIEW_MIN_AUDIT_SHARE
# and never nothing, however low that is set. The draws of the audit come after all rules, no rule can decide about
# them, and each is kept in its run's journal; so what nobody is asked about stays a sample that people look at.
# Verdicts that merely no rule mentions are not held to it: where nothing is trusted by name, a project may choose to
# audit nothing.


class PolicyInput(ReviewPolicy):
    """A review policy. If `digest` is given, it must be that of the current policy.

    `own_work` is not part of the policy: it applies to every review at once and stays unchanged if omitted.
    """

    # Nobody resets all rules by leaving them out.
    rules: tuple[ReviewRule, ...] = Field(max_length=MOST_RULES)
    digest: Annotated[str, Field(max_length=64)] | None = None
    own_work: OwnWork | None = Field(
        default=None,
        description="who may decide on work that they, or an API key they created, submitted; only people can "
        "change it, in the web app",
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
        {"field": f"rules.{index}.score_from", "message": _("Must be lower than the upper score limit.")}
        for index, rule in enumerate(policy.rules)
        if rule.score_from is not None and rule.score_below is not None and rule.score_from >= rule.score_below
    ]
    lets_stand = any(rule.action is RuleAction.STAND for rule in policy.rules)
    least = settings.REVIEW_MIN_AUDIT_SHARE
    if lets_stand and policy.audit_share <= 0:
        errors.append(
            {"field": "audit_share", "message": _("Must be above 0: verdicts that need no review are still audited.")}
        )
    elif lets_stand and policy.audit_share < least:
        message = _("Must be at least %(least)s while a rule skips reviews. This minimum is set for this server.")
        errors.append({"field": "audit_share", "message": message % {"least": f"{least:g} ({least * 100:g} %)"}})
    return errors


@transaction.atomic
def change_policy(project: Project, policy: ReviewPolicy, *, actor: Actor, digest: str | None = None) -> Project:
    """The project with its new policy; saving what holds already changes nothing and is not recorded.

    Raises InvalidInput where rules make no sense or turn the audit off, and PolicyMovedOn where `digest` is not that
    of the policy which holds.
    """
    if errors := read_rules(policy):
        raise InvalidInput(_("The review policy is invalid. Nothing was saved."), errors=errors)
    locked = Project.objects.select_for_update().get(pk=project.pk)
    holding = locked.get_review_policy()
    if digest is not None and digest != digest_of(holding):
        raise PolicyMovedOn(_("The review policy was changed in the meantime. Nothing was saved."))
    if policy == holding:
        return locked
    before, after = holding.model_dump(mode="json"), policy.model_dump(mode="json")
    locked.review_policy = after
    locked.save(update_fields=["review_policy"])
    audit(locked.pk, actor, "policy.changed", target=locked, before=before, after=after)
    return locked


# What a review policy would do with a recorded verdict. Pure.


class Facts(NamedTuple):
    """All that rules look at."""

    verdict: str
    score: float
    confidence: float | None
    kind: str
    agent: str
    cost_usd: Decimal = Decimal(0)


def chances(policy: ReviewPolicy, facts: Facts) -> list[float]:
    """Return for each rule the probability that it decides about such a verdict.

    The first rule that fits and is not kept from it by its share s decides: rule k with s_k · Π_{j<k}(1 − s_j).
    """
    judgement = Judgement.model_construct(
        attempt=1,
        referee=Referee.CRITIC,
        verdict=Verdict(facts.verdict),
        score=facts.score,
        confidence=facts.confidence,
    )
    found, left = [], 1.0
    for rule in policy.rules:
        fits = rule.fits(judgement, kind=facts.kind, agent=facts.agent, cost_usd=facts.cost_usd)
        found.append(left * rule.share if fits else 0.0)
        left -= found[-1]
    return found


@dataclass(frozen=True)
class Counted:
    """How many verdicts a policy is expected to make wait or let stand, and how many each rule decides about.

    `opinions` are the decisions asked of people; `audits` is how many of those that stand the audit draws.
    """

    waiting: int
    standing: int
    by_rule: list[int]
    opinions: int
    audits: float


def counted(policy: ReviewPolicy, facts: Counter[Facts]) -> Counted:
    """What the policy does with verdicts of which there are so many each."""
    by_rule = [0.0] * len(policy.rules)
    for one, many in facts.items():
        for index, chance in enumerate(chances(policy, one)):
            by_rule[index] += chance * many
    asking = [(rule, many) for rule, many in zip(policy.rules, by_rule, strict=True) if rule.action is RuleAction.WAIT]
    waiting = round(sum(many for _rule, many in asking))
    standing = facts.total() - waiting
    return Counted(
        waiting=waiting,
        standing=standing,
        by_rule=[round(many) for many in by_rule],
        opinions=round(sum(rule.reviewers * many for rule, many in asking)),
        audits=round(standing * policy.audit_share, 2),
    )


def chance_to_wait(policy: ReviewPolicy, facts: Facts) -> float:
    """The probability that such a verdict waits for a person."""
    by_rule = zip(policy.rules, chances(policy, facts), strict=True)
    return sum(chance for rule, chance in by_rule if rule.action is RuleAction.WAIT)


# A review policy tried on what referees really said: how many verdicts would have waited for a person.
#
# It differs from what a changed policy would bring about in two ways, and pages say so: a verdict that waits can be
# overruled, and then no later attempt is judged; and a checkpoint of the six steps waits whatever the policy.

TRIED_DAYS = 30
MOST_VERDICTS = 50_000
CHUNK = 2_000

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
class PolicyTrial:
    """`left_out` are verdicts of those days beyond the newest MOST_VERDICTS."""

    since: datetime
    verdicts: int
    left_out: int
    typed: Counted
    saved: Counted
    newly: int
    no_longer: int


def try_policy(project_id: UUID, typed: ReviewPolicy, *, saved: ReviewPolicy) -> PolicyTrial:
    """What both policies would have done with the referees' verdicts of the last TRIED_DAYS days."""
    since = timezone.now() - timedelta(days=TRIED_DAYS)
    rows = recorded_verdicts(project_id, since=since)
    columns: list[Any] = ["verdict", "score", "confidence", "attempt__run__task__kind", "attempt__run__task__agent"]
    with_costs = rows
    if any(rule.cost_from_usd is not None for rule in (*typed.rules, *saved.rules)):
        with_costs = rows.annotate(cost_then=cost_then())
        columns.append("cost_then")
    newest = with_costs.order_by("-created_at", "-id").values_list(*columns)[:MOST_VERDICTS]
    facts = Counter(Facts(*row) for row in newest.iterator(chunk_size=CHUNK))
    more = [(chance_to_wait(typed, one) - chance_to_wait(saved, one), many) for one, many in facts.items()]
    return PolicyTrial(
        since=since,
        verdicts=facts.total(),
        left_out=rows.count() - facts.total() if facts.total() == MOST_VERDICTS else 0,
        typed=counted(typed, facts),
        saved=counted(saved, facts),
        newly=round(sum(change * many for change, many in more if change > 0)),
        no_longer=round(-sum(change * many for change, many in more if change < 0)),
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
