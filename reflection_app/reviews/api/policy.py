"""The review policy: read it, try another one on the last 30 days, put it in force."""

from datetime import datetime

from django.db import transaction
from pydantic import Field

from reflection_app.api.actions import change, read
from reflection_app.api.reading import Answer
from reflection_app.api.view import DeskView
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import OwnWork, Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.task_spec import ReviewPolicy, ReviewRule
from reflection_app.reviews.own_work import change_own_work
from reflection_app.reviews.policy import PolicyInput, change_policy, digest_of, read_rules, try_policy

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
    "Only if the policy is unchanged": TRUSTED | {"digest": "0f3a6c1d2b4e5f60"},
    "Review everything": {"rules": [{}], "audit_share": 0},
}


class ReviewRuleAnswer(ReviewRule):
    """A rule as returned: costs are strings. Requests also accept numbers."""


class PolicyAnswer(ReviewPolicy):
    rules: tuple[ReviewRuleAnswer, ...]
    digest: str = Field(
        description="version of the policy; send it with a new policy to avoid overwriting changes you have not seen"
    )
    own_work: OwnWork = Field(description="who may decide on work that they, or an API key they created, submitted")


class Tried(Answer):
    """Expected effect of a policy on these verdicts. `by_rule` counts the verdicts that each rule decides."""

    waiting: int
    standing: int
    by_rule: list[int]
    opinions: int = Field(
        description="number of decisions required from people; a verdict that waits for two reviewers counts twice"
    )
    audits: float = Field(description="expected number of audits among verdicts that need no review")


class TrialAnswer(Answer):
    """Result of a policy trial. Random samples count with their expected number."""

    since: datetime
    verdicts: int
    left_out: int = Field(description="number of older verdicts in this period that were not evaluated")
    tried: Tried = Field(validation_alias="typed")
    saved: Tried
    newly_waiting: int = Field(validation_alias="newly")
    no_longer_waiting: int = Field(validation_alias="no_longer")


class ReviewPolicies(DeskView):
    def get_edited(self) -> list[str]:
        held = Project.objects.get(pk=self.project.pk)
        return [digest_of(held.get_review_policy()), held.own_work]

    @read(
        "get_review_policy",
        "Get the review policy",
        may=Permission.READ,
        tagged=True,
    )
    def retrieve(self) -> PolicyAnswer:
        return policy_answer(self.project)

    @change(
        "put_review_policy",
        "Replace the review policy",
        may=Permission.CHANGE_SETTINGS,
        what="review policy",
        problems=(409,),
        examples=EXAMPLES,
        guarded=True,
    )
    def update(self, body: PolicyInput) -> PolicyAnswer:
        """The first rule that matches a verdict applies. Omitted settings, except the rules, get their defaults. Runs
        in progress use the policy they started with.

        A policy with a rule that skips reviews must audit some verdicts: `audit_share` 0 is rejected with it. A changed
        `own_work` is rejected for every API key: only people can change it, in the web app.
        """
        with transaction.atomic():
            changed = change_policy(self.project, body.policy, actor=self.actor, digest=body.digest)
            if body.own_work is not None:
                changed = change_own_work(changed, body.own_work, actor=self.actor)
        return policy_answer(changed)

    @change(
        "try_review_policy",
        "Simulate a policy on the last 30 days",
        may=Permission.READ,
        what="review policy",
        examples={"Four rules": TRUSTED},
    )
    def try_out(self, body: PolicyInput) -> TrialAnswer:
        if errors := read_rules(body.policy):
            raise InvalidInput("The review policy would not be accepted.", errors=errors)
        return TrialAnswer.from_row(try_policy(self.project.pk, body.policy, saved=self.project.get_review_policy()))


def policy_answer(project: Project) -> PolicyAnswer:
    policy = project.get_review_policy()
    return PolicyAnswer(**policy.model_dump(), digest=digest_of(policy), own_work=OwnWork(project.own_work))
