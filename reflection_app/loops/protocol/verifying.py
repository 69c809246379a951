"""Verify repair steps by the minimum requirements, not by anyone's claim."""

from collections.abc import Sequence

from reflection_app.loops.protocol.stages import Executed, RepairKind, RepairStatus, RepairStep
from reflection_app.loops.requirements import RequirementsReport

NOTHING_TO_SEE = "it names no minimum requirement that code can check"
MOST_NAMED = 5
LONGEST_NAMED = 200


def verified(
    step: RepairStep, *, before: RequirementsReport | None, after: RequirementsReport | None, is_only: bool
) -> tuple[RepairStatus, str]:
    """Return the status of a step that wrote something, judged by the revised output, and the reason.

    It is completed if the requirements in `mends` are now met. A plan's only step without `mends` must fix all of them.
    """
    unmet = [result.name for result in before.unmet] if before is not None else []
    named = {_folded(name) for name in step.mends}
    targets = [name for name in unmet if _folded(name) in named or (is_only and not named)]
    if not targets:
        return RepairStatus.WRITTEN, NOTHING_TO_SEE
    left = {result.name for result in after.unmet} if after is not None else set()
    if still := [name for name in targets if name in left]:
        return RepairStatus.FAILED, f"it does not hold yet: {_listed(still)}"
    return RepairStatus.COMPLETED, f"it holds now: {_listed(targets)}"


def verified_at_last(
    done: Sequence[Executed], *, before: RequirementsReport | None, after: RequirementsReport | None, planned: int
) -> list[Executed]:
    """Return the items of `done` whose status changed now that a revised output exists.

    Only steps by the model can change. Successful calls, answers of people, and failures keep their status.
    """
    changed = []
    for one in done:
        if one.repair.kind is RepairKind.MODEL and one.status in {RepairStatus.WRITTEN, RepairStatus.COMPLETED}:
            status, why = verified(one.repair, before=before, after=after, is_only=planned == 1)
            if status not in {one.status, RepairStatus.WRITTEN}:
                changed.append(one.model_copy(update={"status": status, "why": why}))
    return changed


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(name[:LONGEST_NAMED] for name in names[:MOST_NAMED]) + more
