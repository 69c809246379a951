"""The review policy: read it, try another one on the last 30 days, put it in force."""

from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent
from reflection_app.api.permissions import needs
from reflection_app.api.reading import Answer, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import OwnWork, Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.task_spec import ReviewPolicy
from reflection_app.reviews.agreement import FEWEST_IN_COMMON, PairAgreement, agreement_of
from reflection_app.reviews.own_work import change_own_work
from reflection_app.reviews.policy import (
    Counted,
    Example,
    PolicyInput,
    PolicyTrial,
    change_policy,
    digest_of,
    read_rules,
    try_policy,
)

TRUSTED = {
    "rules": [
        {"name": "Rejections", "verdicts": ["REJECT"]},
        {"name": "Dear refunds", "kinds": ["refunds"], "cost_from_usd": "0.50", "reviewers": 2},
        {"name": "Trusted agent", "action": "stand", "agents": ["billing"], "verdicts": ["PASS"], "score_from": 80},
        {"name": "Unsure", "confidence_below": 0.6},
    ],
    "audit_share": 0.1,
}
EXAMPLES = {
    "Four rules": TRUSTED,
    "Only if nobody changed it meanwhile": TRUSTED | {"digest": "0f3a6c1d2b4e5f60"},
    "Everything waits": {"rules": [{}], "audit_share": 0},
}


class PolicyAnswer(ReviewPolicy):
    digest: str = Field(description="changes with the policy; sent along with a new one, it guards what was not seen")
    own_work: OwnWork = Field(description="who may decide on what they, or a key that they made, handed in")


class Tried(BaseModel):
    """What one policy would have done. `by_rule` are the verdicts that each of its rules decided about."""

    waiting: int
    standing: int
    by_rule: list[int]
    opinions: int = Field(description="decisions asked of people: a verdict that waits for two counts twice")
    audits: float = Field(description="how many of those that stand the audit is expected to draw")


class TriedVerdict(BaseModel):
    verdict_id: UUID
    run_id: UUID
    attempt: int
    verdict: str
    score: float
    confidence: float | None
    agent: str
    kind: str


class TrialAnswer(BaseModel):
    """A random share follows from the verdict's id here, so that trying again gives the same figures."""

    since: datetime
    verdicts: int
    left_out: int = Field(description="older verdicts of those days that were not looked at")
    tried: Tried
    saved: Tried
    newly_waiting: int
    no_longer_waiting: int
    newly_waiting_examples: list[TriedVerdict]
    no_longer_waiting_examples: list[TriedVerdict]


class ReviewPolicyDetail(DeskView):
    http_method_names: ClassVar[list[str]] = ["get", "put", "head"]  # type: ignore[misc]
    permissions = needs(get=Permission.READ, put=Permission.CHANGE_SETTINGS)

    @described_get("get_review_policy", summary="Which verdicts wait for a person", answer=PolicyAnswer)
    def get(self, request: Request) -> Response:
        read_query(request, NoParameters)
        return Response(policy_answer(self.project))

    @described_post(
        "put_review_policy",
        summary="Put another review policy in force; of what is left out but the rules, the usual",
        body=PolicyInput,
        answers={200: PolicyAnswer},
        problems=(409,),
        examples=EXAMPLES,
    )
    @idempotent
    def put(self, request: Request) -> Response:
        """The first rule that fits a verdict decides. Runs under way keep the policy that they began with.

        A policy with a rule that lets verdicts stand must audit some: `audit_share` 0 is refused with it. Another
        `own_work` than the one that holds is refused to every key: that is said by people, at the desk.
        """
        given = read_input(request, PolicyInput, what="review policy")
        with transaction.atomic():
            changed = change_policy(self.project, given.policy, actor=self.actor, digest=given.digest)
            if given.own_work is not None:
                changed = change_own_work(changed, given.own_work, actor=self.actor)
        return Response(policy_answer(changed))


class TryReviewPolicy(DeskView):
    permissions = needs(post=Permission.READ)

    @described_post(
        "try_review_policy",
        summary="What a policy would have asked people on the last 30 days; nothing is changed",
        body=PolicyInput,
        answers={200: TrialAnswer},
        examples={"Four rules": TRUSTED},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        policy = read_input(request, PolicyInput, what="review policy").policy
        if errors := read_rules(policy):
            raise InvalidInput("The review policy would not be accepted.", errors=errors)
        trial = try_policy(self.project.pk, policy, saved=self.project.get_review_policy())
        return Response(trial_answer(trial).model_dump(mode="json"))


def policy_answer(project: Project) -> dict[str, object]:
    policy = project.get_review_policy()
    return policy.model_dump(mode="json") | {"digest": digest_of(policy), "own_work": project.own_work}


def trial_answer(trial: PolicyTrial) -> TrialAnswer:
    return TrialAnswer(
        since=trial.since,
        verdicts=trial.verdicts,
        left_out=trial.left_out,
        tried=_tried(trial.typed),
        saved=_tried(trial.saved),
        newly_waiting=trial.newly,
        no_longer_waiting=trial.no_longer,
        newly_waiting_examples=[_example(one) for one in trial.newly_waiting],
        no_longer_waiting_examples=[_example(one) for one in trial.no_longer_waiting],
    )


def _tried(counted: Counted) -> Tried:
    return Tried(
        waiting=counted.waiting,
        standing=counted.standing,
        by_rule=counted.by_rule,
        opinions=counted.opinions,
        audits=round(counted.audits, 2),
    )


def _example(example: Example) -> TriedVerdict:
    verdict = example.verdict
    task = verdict.attempt.run.task
    return TriedVerdict(
        verdict_id=verdict.pk,
        run_id=verdict.attempt.run_id,
        attempt=verdict.attempt.number,
        verdict=verdict.verdict,
        score=verdict.score,
        confidence=verdict.confidence,
        agent=task.agent,
        kind=task.kind,
    )


# How far blind reviewers agree.

ENOUGH = f"null where they judged fewer than {FEWEST_IN_COMMON} in common, or always gave one and the same verdict"


class AgreementQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    days: int = Field(default=90, ge=1, le=3650, description="of how many days, up to now")


class PairAnswer(Answer):
    """Two reviewers over the panels that both sat on."""

    reviewers: list[str]
    panels: int
    agreed: float = Field(description="the share on which they gave the same verdict")
    kappa: float | None = Field(description=f"Cohen's κ; {ENOUGH}")


class AgreementAnswer(Answer):
    """Over the panels whose last opinion came in during the period, by what people said there: two of them or more."""

    days: int
    panels: int
    unanimous: int = Field(description="of how many panels all gave the same verdict")
    agreed: float | None = Field(description="the share of equal pairs of verdicts")
    alpha: float | None = Field(description="Krippendorff's α, nominal; null where nothing varies")
    alpha_ordinal: float | None = Field(description="the same with REJECT < REVISE < PASS in order")
    pairs: list[PairAnswer]
    with_keys: int = Field(description="panels on which a key sat; what keys said is in no figure")


class Agreement(DeskView):
    permissions = needs(get=Permission.READ_METRICS)

    @described_get(
        "get_agreement",
        summary="How far blind reviewers agree, beyond chance",
        query=AgreementQuery,
        answer=AgreementAnswer,
    )
    def get(self, request: Request) -> Response:
        days = read_query(request, AgreementQuery).days
        now = timezone.now()
        found = agreement_of(self.project.pk, since=now - timedelta(days=days), until=now)
        answer = AgreementAnswer(
            days=days,
            panels=found.panels,
            unanimous=found.unanimous,
            agreed=found.agreed,
            alpha=found.alpha,
            alpha_ordinal=found.alpha_ordinal,
            pairs=[_pair_answer(pair) for pair in found.pairs],
            with_keys=found.with_keys,
        )
        return Response(answer.model_dump(mode="json"))


def _pair_answer(pair: PairAgreement) -> PairAnswer:
    return PairAnswer(reviewers=[pair.first, pair.second], panels=pair.panels, agreed=pair.agreed, kappa=pair.kappa)
