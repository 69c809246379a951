"""Changing a project's review policy. Runs under way keep the policy that they began with.

The policy is what an auto-approval would be written into, so one thing is not left to it: a rule that lets verdicts
stand is only taken together with an audit, of a share that is at least the installation's REVIEW_MIN_AUDIT_SHARE and
never nothing, however low that is set. The draws of the audit come after all rules, no rule can decide about them, and
each is kept in its run's journal; so what nobody is asked about stays a sample that people look at. Verdicts that
merely no rule mentions are not held to it: where nothing is trusted by name, a project may choose to audit nothing.
"""

from hashlib import sha256
from typing import Annotated

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import Field

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput, PolicyMovedOn
from reflection_app.core.models import OwnWork, Project
from reflection_app.loops.review_rules import MOST_RULES, ReviewPolicy, ReviewRule, RuleAction


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
        if _is_empty_range(rule)
    ]
    lets_stand = any(rule.action is RuleAction.STAND for rule in policy.rules)
    least = settings.REVIEW_MIN_AUDIT_SHARE
    if lets_stand and policy.audit_share <= 0:
        errors.append({"field": "audit_share", "message": _("Above 0: what a rule lets stand must still be audited.")})
    elif lets_stand and policy.audit_share < least:
        message = _("At least %(least)s while a rule lets verdicts stand; this installation asks for it.")
        errors.append({"field": "audit_share", "message": message % {"least": f"{least:g}"}})
    return errors


def _is_empty_range(rule: ReviewRule) -> bool:
    return rule.score_from is not None and rule.score_below is not None and rule.score_from >= rule.score_below


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
