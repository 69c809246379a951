"""The memory of fixes: which of them worked on which errors, how often, and which is best for a failed call.

A pair keeps of parameters, which may hold secrets, only the ones that were changed when the fix worked, and how.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from notebook_app.public import EntryKind, Proposal, keep, lock_notebook, take_back_proposal
from reflection_app.loops.diagnosis.diagnoses import (
    CorrectiveAction,
    ErrorType,
    KnownFix,
    ParamChange,
    Remedy,
    without_values,
)
from reflection_app.loops.diagnosis.fallback_tools import is_reading
from reflection_app.loops.diagnosis.param_changes import changes_between
from reflection_app.loops.task_spec import Execution
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


# The score of 95 % confidence: how bad a fix may be, given how often it was tried.
Z = 1.96
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
    """The fix that has worked most reliably; none that failed more often than it worked.

    Parameters that worked are those of one call: they come with the fix only where the very same failed `params` were
    put right by them before. For other calls there is what the fix changed of them. A run of ours, which would call
    with either at once, takes them only from runs that chose their calls themselves; an agent that asks (`asked_by`)
    takes its own, too, and any agent's where the tool only reads: nobody else's word changes something.
    """
    pairs = FixPair.objects.filter(
        project_id=project_id, tool=tool, signature=signature, successes__gt=0, successes__gte=F("failures")
    )
    found = [pair for pair in pairs.order_by("-successes", "id")[:MOST_PAIRS_LOOKED_AT] if str(pair.pk) not in without]
    if not found:
        return None
    best = max(found, key=lambda pair: reliability(pair.successes, pair.failures))
    action = CorrectiveAction.model_validate(best.action)
    learned: list[tuple[ParamChange, ...]] = []
    if action.remedy in (Remedy.FIX_AND_RETRY, Remedy.SWITCH_TOOL):
        if action.modified_params is not None:
            changed = _changes_that_worked(best, params, asked_by=asked_by) if params is not None else None
            action = action.model_copy(update={"modified_params": changed})
        learned = [changes for kept in best.learned if (changes := _trusted(kept, best, asked_by=asked_by))]
        # What worked before changes were kept is told from its calls.
        seen = () if learned else _seen_to_work(best, asked_by=asked_by)[:MOST_LEARNED]
        learned = learned or [changes for row in seen if (changes := _changes_of(row, best.action))]
    return KnownFix(
        fix_pair=str(best.pk),
        error_type=ErrorType(best.error_type),
        fix=best.fix,
        action=action,
        successes=best.successes,
        failures=best.failures,
        learned=tuple(learned),
    )


def _trusted(kept: Mapping[str, Any], pair: FixPair, *, asked_by: str) -> tuple[ParamChange, ...]:
    """The changes that are kept of one time that the pair worked; none where nobody is believed who told of it."""
    by = kept.get("by")
    is_believed = by == "" or (bool(asked_by) and (by == asked_by or is_reading(pair.tool)))
    try:
        return tuple(ParamChange.model_validate(one) for one in kept["changes"]) if is_believed else ()
    except (KeyError, TypeError, ValueError):
        # Of another version's archive.
        return ()


def _seen_to_work(pair: FixPair, *, asked_by: str) -> QuerySet[ToolFailure]:
    """The failures of this kind that were put right, as far as who tells of it is believed; the newest first."""
    rows = ToolFailure.objects.filter(project_id=pair.project_id, tool=pair.tool, signature=pair.signature, worked=True)
    if not (asked_by and is_reading(pair.tool)):
        # An outcome that somebody told names who did, also of a failure of our own run.
        seen_here = Q(reported_by_label="", run__task__execution=Execution.MANAGED.value, outcome__by__isnull=True)
        rows = rows.filter(seen_here | Q(outcome__by=asked_by) if asked_by else seen_here)
    return rows.order_by("-outcome_at", "-id")


def _worked_with(row: ToolFailure) -> tuple[str, Any]:
    """The tool and the parameters that put the failure right."""
    advised, outcome = row.action or {}, row.outcome or {}
    params = outcome.get("params")
    tool = outcome.get("tool") or advised.get("fallback_tool") or row.tool
    return tool, advised.get("modified_params") if params is None else params


def _changes_of(row: ToolFailure, action: Mapping[str, Any]) -> tuple[ParamChange, ...]:
    tool, params = _worked_with(row)
    is_same_fix = tool == (action.get("fallback_tool") or row.tool)
    return changes_between(row.params, params) if is_same_fix and isinstance(params, dict) else ()


def _changes_that_worked(pair: FixPair, params: Mapping[str, Any], *, asked_by: str) -> dict[str, Any] | None:
    """The parameters that put these very failed ones right the last time, or None where nothing is known of them."""
    last = _seen_to_work(pair, asked_by=asked_by).filter(params=dict(params)).first()
    if last is None:
        return None
    tool, worked = _worked_with(last)
    changed, is_expressible = _changes(last.params, worked)
    return changed if changed and is_expressible and tool == last.tool else None


def reliability(successes: int, failures: int) -> float:
    """The lower bound of the Wilson interval: one success of one says less than nine of ten."""
    tried = successes + failures
    if not tried:
        return 0.0
    share, spread = successes / tried, Z * Z / tried
    margin = Z * math.sqrt((share * (1 - share) + spread / 4) / tried)
    return (share + spread / 2 - margin) / (1 + spread)


def keep_outcome(
    failure: ToolFailure,
    *,
    worked: bool,
    tool: str,
    params: Mapping[str, Any] | None,
    fix: str,
    delay_s: float | None,
    by: str = "",
) -> FixPair | None:
    """Counts how a fix went: for the pair that was remembered if its advice was followed, else for what was done.

    What was left out (`tool` empty, the others None) was done as advised. Call it inside a transaction, with the
    failure's row locked; the caller saves the outcome itself. Only what worked becomes a new pair, and is offered to
    the notebook. `by` tells who told of it, where it was told.
    """
    if not failure.error_type:
        return None
    if worked:
        # Before any pair is: who takes outcomes back has several pairs in hand, one after the other.
        lock_notebook(failure.project_id)
    advised = failure.action or {}
    if failure.fix_pair_id is not None and _was_followed(failure, advised, tool=tool, params=params):
        pair = _count(FixPair.objects.get(pk=failure.fix_pair_id), worked=worked)
    else:
        action = _done(failure, advised, tool=tool, params=params, fix=fix, delay_s=delay_s)
        name = _name(failure, action)
        if not worked:
            known = FixPair.objects.filter(**name).first()
            return _count(known, worked=False) if known else None
        # A pair is shown beside other calls, whose parameters do not tell what in its words is a value.
        texts = [action["action"], *failure.symptoms]
        fix, *symptoms = without_values(texts, failure.params, params, advised.get("modified_params"))
        action["action"] = fix or action["remedy"].replace("_", " ")
        values = {"fix": action["action"], "action": action, "symptoms": symptoms}
        pair, _ = FixPair.objects.get_or_create(**name, defaults=values)
        _count(pair, worked=True, action=action)
    if worked:
        _learn(pair, failure, params=advised.get("modified_params") if params is None else params, by=by)
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
    kept = {"failure": str(failure.pk), "by": "" if is_ours else by or None, "changes": dumped}
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
    if rows.filter(successes=0).delete()[0]:
        return
    # It worked last for the last other failure that it put right.
    alike = {"project": pair.project_id, "tool": failure.tool, "signature": failure.signature, "worked": True}
    others = ToolFailure.objects.filter(**alike).exclude(pk=failure.pk).order_by("-outcome_at", "-id")
    for other in others[:MOST_PAIRS_LOOKED_AT]:
        if _counted_for(other) == pair:
            rows.update(last_worked_at=other.outcome_at)
            return


def _counted_for(failure: ToolFailure) -> FixPair | None:
    """The pair that the failure's outcome was counted for."""
    told, advised = failure.outcome or {}, failure.action or {}
    tool, params = told.get("tool") or "", told.get("params")
    if failure.fix_pair is not None and _was_followed(failure, advised, tool=tool, params=params):
        return failure.fix_pair
    fix, delay_s = told.get("fix") or "", told.get("delay_s")
    action = _done(failure, advised, tool=tool, params=params, fix=fix, delay_s=delay_s)
    return FixPair.objects.filter(**_name(failure, action)).first()


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


def _was_followed(
    failure: ToolFailure, advised: Mapping[str, Any], *, tool: str, params: Mapping[str, Any] | None
) -> bool:
    advised_tool = advised.get("fallback_tool") or failure.tool
    advised_params = advised.get("modified_params")
    is_same_call = params is None or advised_params is None or params == advised_params
    return (tool or advised_tool) == advised_tool and is_same_call


def _done(
    failure: ToolFailure,
    advised: Mapping[str, Any],
    *,
    tool: str,
    params: Mapping[str, Any] | None,
    fix: str,
    delay_s: float | None,
) -> dict[str, Any]:
    """What was done, as the corrective action that does it again."""
    tool = tool or advised.get("fallback_tool") or failure.tool
    if params is None:
        params = advised.get("modified_params")
    if delay_s is None:
        delay_s = advised.get("retry_delay_seconds")
    changed, is_expressible = _changes(failure.params, params)
    if tool != failure.tool:
        remedy = Remedy.SWITCH_TOOL
    elif changed or not is_expressible:
        remedy = Remedy.FIX_AND_RETRY
    else:
        remedy = Remedy.ASK_PERSON if advised.get("remedy") == Remedy.ASK_PERSON else Remedy.RETRY_LATER
    return CorrectiveAction(
        remedy=remedy,
        action=(fix.strip() or advised.get("action") or remedy.value.replace("_", " "))[:LONGEST_FIX],
        modified_params=changed if remedy is Remedy.FIX_AND_RETRY and changed and is_expressible else None,
        fallback_tool=tool if remedy is Remedy.SWITCH_TOOL else None,
        retry_delay_seconds=delay_s or None,
        alternative=advised.get("alternative") or "",
    ).model_dump(mode="json")


def _changes(failed: Mapping[str, Any], params: Mapping[str, Any] | None) -> tuple[dict[str, Any], bool]:
    """The parameters that were changed or added. What was left out besides cannot be told by parameters alone."""
    if params is None:
        return {}, True
    changed = {key: value for key, value in params.items() if key not in failed or failed[key] != value}
    return changed, failed.keys() <= params.keys()


def _count(pair: FixPair, *, worked: bool, action: dict[str, Any] | None = None) -> FixPair:
    """Counts by one statement, so that nothing is lost where many count at once. What worked last is what is kept."""
    rows = FixPair.objects.filter(pk=pair.pk)
    if not worked:
        rows.update(failures=F("failures") + 1)
    else:
        rows.update(successes=F("successes") + 1, last_worked_at=timezone.now(), action=action or pair.action)
    return pair
