"""Taking an agent's or a person's word on how a fix went, once for each failure."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import OutcomeKnown
from reflection_app.repairs.fix_pairs import keep_outcome
from reflection_app.repairs.models.tool_failure import ToolFailure
from reflection_app.repairs.tool_failure_submission import FixOutcomeSubmission


@transaction.atomic
def report_fix_outcome(failure: ToolFailure, given: FixOutcomeSubmission, *, actor: Actor) -> ToolFailure:
    """The failure with its outcome, counted for the fix; the same outcome told again changes nothing.

    Raises OutcomeKnown where another one was told before.
    """
    locked = ToolFailure.objects.select_for_update(of=("self",)).select_related("fix_pair").get(pk=failure.pk)
    told: dict[str, Any] = given.model_dump(mode="json")
    if locked.worked is not None:
        if _same(locked.outcome, told):
            return locked
        raise OutcomeKnown(
            _("It is known already that the fix worked; that stays, and nothing was counted.")
            if locked.worked
            else _("It is known already that the fix did not work; that stays, and nothing was counted.")
        )
    pair = keep_outcome(
        locked,
        worked=given.worked,
        tool=given.tool or "",
        params=given.params,
        fix=given.fix,
        delay_s=given.delay_seconds,
    )
    locked.worked, locked.outcome_at = given.worked, timezone.now()
    locked.outcome = told | {"by": actor.label}
    locked.fix_pair = locked.fix_pair or pair
    locked.save(update_fields=["worked", "outcome", "outcome_at", "fix_pair"])
    audit(locked.project_id, actor, "tool_failure.outcome", target=locked, after={"worked": given.worked})
    return locked


def _same(kept: Any, told: dict[str, Any]) -> bool:
    return isinstance(kept, dict) and {name: kept.get(name) for name in told} == told
