"""The memory of fixes: which of them worked on which errors, how often, and which is best for a failed call.

A pair keeps of parameters, which may hold secrets, only the ones that were changed when the fix worked, and how.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from notebook_app.public import EntryKind, Proposal, keep, lock_notebook, take_back_proposal
from reflection_app.loops.diagnosis.diagnoses import (
    CorrectiveAction,
    ErrorType,
    FixOutcome,
    KnownFix,
    ParamChange,
    Remedy,
    changed_params,
    without_values,
)
from reflection_app.loops.diagnosis.fallback_tools import is_reading
from reflection_app.loops.diagnosis.param_changes import changes_between, done_again
from reflection_app.loops.task_spec import Execution
from reflection_app.metrics.statistics import wilson
from reflection_app.repairs.models import FixPair, ToolFailure

# Fixes that worked are offered to the notebook, where a person may approve them to be told to every agent.
#
# What is kept of a pair is cleaned of the values of its call already; each time it works is one occurrence.

KIND = EntryKind.FIX_PAIR
LONGEST_NAME = 200
LONGEST_FIELD = 4_000


def offer_fix(pair: FixPair, failure: ToolFailure) -> None:
    """Proposes the pair, or counts it once more, on the evidence of the failure that it put right.

    Call it inside the transaction that counted the pair, with the notebook locked.
    """
    keep(pair.project_id, _proposal(pair, failure))


def withdraw_fix(pair: FixPair, failure: ToolFailure) -> None:
    """Takes back that the pair put this failure right, as far as nobody has decided on its entry."""
    take_back_proposal(pair.project_id, _proposal(pair, failure))


def _proposal(pair: FixPair, failure: ToolFailure) -> Proposal:
    named = json.dumps([pair.tool, pair.signature, pair.error_type, pair.digest])
    of_run = {"run": str(failure.run_id)} if failure.run_id else {}
    return Proposal(
        kind=KIND,
        name=f"{pair.tool}: {' '.join(pair.fix.split())}"[:LONGEST_NAME],
        description="\n".join(pair.symptoms),
        category=pair.error_type,
        details={
            "tool": pair.tool,
            "error_type": pair.error_type,
            "symptoms": "\n".join(pair.symptoms)[:LONGEST_FIELD],
            "fix": pair.fix[:LONGEST_FIELD],
        },
        # The same for a pair that went and came again, which has another id then.
        source=f"{KIND}:{hashlib.sha256(named.encode()).hexdigest()[:40]}",
        evidence={"tool_failure": str(failure.pk)} | of_run,
    )


MOST_PAIRS_LOOKED_AT = 200
LONGEST_TOOL = 200
LONGEST_SIGNATURE = 300
LONGEST_FIX = 2_000
MOST_LEARNED = 5
LARGEST_LEARNED = 20_000


def best_fix(
    project_id: UUID,
    *,
    tool: str,
    signature: str,
    params: Mapping[str, Any] | None = None,
    without: Sequence[str] = (),
    asked_by: str = "",
) -> KnownFix | None:
    """Return the fix that has worked most reliably; None if all failed more often than they worked.

    Parameters that worked come with it only where the very same `params` were put right by them before; for other calls
    there is what the fix changed. A run of ours takes both only from runs that chose their calls themselves. An agent
    that asks (`asked_by`) takes its own, too, and any agent's if the tool only reads: nobody else's word changes
    something.
    """
    pairs = FixPair.objects.filter(
        project_id=project_id, tool=tool, signature=signature, successes__gt=0, successes__gte=F("failures")
    )
    found = [pair for pair in pairs.order_by("-successes", "id")[:MOST_PAIRS_LOOKED_AT] if str(pair.pk) not in without]
    if not found:
        return None
    best = max(found, key=reliability)
    trusted = {"", asked_by} if asked_by else {""}
    learned = [
        (one.get("call"), changes)
        for one in best.learned
        if one.get("by") in trusted or (asked_by and is_reading(tool))
        if (changes := _read_changes(one))
    ]
    of_this_call = _digest(params) if params is not None else None
    exact = next((changes for call, changes in learned if call and call == of_this_call), None)
    worked = done_again(exact, params) if exact is not None and params is not None else {}
    # What was left out cannot be told by a patch.
    patch = worked if params is not None and params.keys() <= worked.keys() else None
    return KnownFix(
        fix_pair=str(best.pk),
        error_type=ErrorType(best.error_type),
        fix=best.fix,
        action=CorrectiveAction.model_validate(best.action | {"modified_params": patch or None}),
        successes=best.successes,
        failures=best.failures,
        learned=tuple(changes for _, changes in learned),
    )


def _read_changes(kept: Mapping[str, Any]) -> tuple[ParamChange, ...]:
    try:
        return tuple(ParamChange.model_validate(one) for one in kept["changes"])
    except (KeyError, TypeError, ValueError):
        # Of another version's archive.
        return ()


def _digest(params: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(params), sort_keys=True).encode()).hexdigest()


def reliability(pair: FixPair) -> float:
    """The lower bound of the share that worked: one success of one says less than nine of ten."""
    interval = wilson(pair.successes, pair.tried)
    return interval.low if interval is not None else 0.0


def keep_outcome(failure: ToolFailure, outcome: FixOutcome, *, by: str = "") -> FixPair | None:
    """Count how a fix went: for the pair that was remembered if its advice was followed, else for what was done.

    Call it inside a transaction, with the failure's row locked; the caller saves the outcome itself. Only what worked
    becomes a new pair, and is offered to the notebook. `by` names who reported it, if somebody did.
    """
    if not failure.error_type:
        return None
    if outcome.worked:
        # Before any pair is: who takes outcomes back has several pairs in hand, one after the other.
        lock_notebook(failure.project_id)
    advised = (failure.action or {}).get("modified_params")
    if failure.fix_pair_id is not None and _was_followed(failure, outcome):
        pair = _count(FixPair.objects.get(pk=failure.fix_pair_id), worked=outcome.worked)
    else:
        action = _done(failure, outcome)
        name = _name(failure, action)
        if not outcome.worked:
            known = FixPair.objects.filter(**name).first()
            return _count(known, worked=False) if known else None
        # A pair is shown beside other calls, whose parameters do not tell what in its words is a value.
        texts = [action["action"], *failure.symptoms]
        fix, *symptoms = without_values(texts, failure.params, outcome.params, advised)
        action["action"] = fix or action["remedy"].replace("_", " ")
        values = {"fix": action["action"], "action": action, "symptoms": symptoms}
        pair, _ = FixPair.objects.get_or_create(**name, defaults=values)
        _count(pair, worked=True, action=action)
    if outcome.worked:
        _learn(pair, failure, params=advised if outcome.params is None else outcome.params, by=by)
        offer_fix(pair, failure)
    return pair


def _learn(pair: FixPair, failure: ToolFailure, *, params: Mapping[str, Any] | None, by: str) -> None:
    """Keeps with the pair what it changed this time. Call it with the notebook locked."""
    changes = changes_between(failure.params, params) if params is not None else ()
    if not changes or len(json.dumps(dumped := [one.model_dump(mode="json") for one in changes])) > LARGEST_LEARNED:
        return
    run = failure.run
    is_seen = not by and not failure.reported_by_label and run is not None
    is_ours = is_seen and run is not None and run.task.execution == Execution.MANAGED.value
    told_by = "" if is_ours else by or None
    kept = {"failure": str(failure.pk), "by": told_by, "call": _digest(failure.params), "changes": dumped}
    pair.learned = [kept, *FixPair.objects.values_list("learned", flat=True).get(pk=pair.pk)][:MOST_LEARNED]
    pair.save(update_fields=["learned"])


def uncount_outcome(failure: ToolFailure) -> None:
    """Takes a kept outcome out of the count of its pair again, as if it had not been told; the caller forgets it.

    A pair that nothing worked for any more goes. Call it inside a transaction, with the failure's row locked.
    """
    lock_notebook(failure.project_id)
    pair = _counted_for(failure)
    if pair is None:
        return
    if failure.worked:
        withdraw_fix(pair, failure)
    rows = FixPair.objects.filter(pk=pair.pk)
    if not failure.worked:
        rows.update(failures=Greatest(F("failures") - 1, 0))
        return
    left = [kept for kept in pair.learned if kept.get("failure") != str(failure.pk)]
    rows.update(successes=Greatest(F("successes") - 1, 0), learned=left)
    rows.filter(successes=0).delete()


def _counted_for(failure: ToolFailure) -> FixPair | None:
    """The pair that the failure's outcome was counted for."""
    told = {
        name: value for name, value in failure.told.items() if name in {"tool", "params", "fix"} and value is not None
    }
    outcome = FixOutcome.model_validate({"worked": bool(failure.worked), **told})
    if failure.fix_pair is not None and _was_followed(failure, outcome):
        return failure.fix_pair
    return FixPair.objects.filter(**_name(failure, _done(failure, outcome))).first()


def _name(failure: ToolFailure, action: Mapping[str, Any]) -> dict[str, Any]:
    """What tells the pair of this failure and this fix from all others."""
    # Tells fixes of the same error apart: by what is done, the other tool, and the names of the changed parameters.
    # Their values, the words and the delay differ from call to call of the same fix.
    told = [action.get("remedy"), action.get("fallback_tool"), sorted(action.get("modified_params") or {})]
    digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()
    return {
        "project_id": failure.project_id,
        "tool": failure.tool[:LONGEST_TOOL],
        "signature": failure.signature[:LONGEST_SIGNATURE],
        "error_type": failure.error_type,
        "digest": digest,
    }


def _was_followed(failure: ToolFailure, outcome: FixOutcome) -> bool:
    advised = failure.action or {}
    advised_tool = advised.get("fallback_tool") or failure.tool
    advised_params = advised.get("modified_params")
    is_same_call = outcome.params is None or advised_params is None or outcome.params == advised_params
    return (outcome.tool or advised_tool) == advised_tool and is_same_call


def _done(failure: ToolFailure, outcome: FixOutcome) -> dict[str, Any]:
    """What was done, as the corrective action that does it again."""
    advised = failure.action or {}
    tool = outcome.tool or advised.get("fallback_tool") or failure.tool
    params = advised.get("modified_params") if outcome.params is None else outcome.params
    delay_s = advised.get("retry_delay_seconds") if outcome.delay_s is None else outcome.delay_s
    changes = changed_params(failure.params, params)
    changed = {one.name: one.after for one in changes if one.is_there}
    # What was left out cannot be told by parameters alone.
    is_expressible = all(one.is_there for one in changes)
    if tool != failure.tool:
        remedy = Remedy.SWITCH_TOOL
    elif changed or not is_expressible:
        remedy = Remedy.FIX_AND_RETRY
    else:
        remedy = Remedy.ASK_PERSON if advised.get("remedy") == Remedy.ASK_PERSON else Remedy.RETRY_LATER
    return CorrectiveAction(
        remedy=remedy,
        action=(outcome.fix.strip() or advised.get("action") or remedy.value.replace("_", " "))[:LONGEST_FIX],
        modified_params=changed if remedy is Remedy.FIX_AND_RETRY and changed and is_expressible else None,
        fallback_tool=tool if remedy is Remedy.SWITCH_TOOL else None,
        retry_delay_seconds=delay_s or None,
        alternative=advised.get("alternative") or "",
    ).model_dump(mode="json")


def _count(pair: FixPair, *, worked: bool, action: dict[str, Any] | None = None) -> FixPair:
    """Counts by one statement, so that nothing is lost where many count at once. What worked last is what is kept."""
    rows = FixPair.objects.filter(pk=pair.pk)
    if not worked:
        rows.update(failures=F("failures") + 1)
    else:
        rows.update(successes=F("successes") + 1, last_worked_at=timezone.now(), action=action or pair.action)
    return pair
