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
    "Only if nobody changed it meanwhile": TRUSTED | {"digest": "0f3a6c1d2b4e5f60"},
    "Everything waits": {"rules": [{}], "audit_share": 0},
}


class ReviewRuleAnswer(ReviewRule):
    """A rule as it is answered: what it costs is text there, and may be a number where it is sent."""


class PolicyAnswer(ReviewPolicy):
    rules: tuple[ReviewRuleAnswer, ...]
    digest: str = Field(description="changes with the policy; sent along with a new one, it guards what was not seen")
    own_work: OwnWork = Field(description="who may decide on what they, or a key that they made, handed in")


class Tried(Answer):
    """What one policy is expected to do with these verdicts. `by_rule` are those that each rule decides about."""

    waiting: int
    standing: int
    by_rule: list[int]
    opinions: int = Field(description="decisions asked of people: a verdict that waits for two counts twice")
    audits: float = Field(description="how many of those that stand the audit is expected to draw")


class TrialAnswer(Answer):
    """Of a random share, as many count as are expected."""

    since: datetime
    verdicts: int
    left_out: int = Field(description="older verdicts of those days that were not looked at")
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
        "Which verdicts wait for a person",
        may=Permission.READ,
        tagged=True,
    )
    def retrieve(self) -> PolicyAnswer:
        return policy_answer(self.project)

    @change(
        "put_review_policy",
        "Put another review policy in force; of what is left out but the rules, the usual",
        may=Permission.CHANGE_SETTINGS,
        what="review policy",
        problems=(409,),
        examples=EXAMPLES,
        guarded=True,
    )
    def update(self, body: PolicyInput) -> PolicyAnswer:
        """The first rule that fits a verdict decides. Runs under way keep the policy that they began with.

        A policy with a rule that lets verdicts stand must audit some: `audit_share` 0 is refused with it. Another
        `own_work` than the one that holds is refused to every key: that is said by people, at the desk.
        """
        with transaction.atomic():
            changed = change_policy(self.project, body.policy, actor=self.actor, digest=body.digest)
            if body.own_work is not None:
                changed = change_own_work(changed, body.own_work, actor=self.actor)
        return policy_answer(changed)

    @change(
        "try_review_policy",
        "What a policy would have asked people on the last 30 days; nothing is changed",
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
