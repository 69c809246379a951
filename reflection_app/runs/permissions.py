"""The calls of a run that a model proposed, and how each was decided: by code, by the task's words, by a reviewer."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from reflection_app.loops.attempt_effects import AskPerson, RecordPermission
from reflection_app.loops.questions import Choice, PersonsAnswer
from reflection_app.loops.tool_permission import Permission
from reflection_app.runs.models import Run, Step, StepState


class Decided(StrEnum):
    """The decision on a call. NOT_ASKED: the run had asked too often, or ended before a reviewer answered."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    ASKED = "asked"
    NOT_ASKED = "not_asked"


@dataclass(frozen=True)
class CallDecided:
    """One call with its decision. `by` and `reason` are the reviewer's; empty where none decided."""

    permission: Permission
    state: Decided
    question_id: UUID | None = None
    by: str = ""
    reason: str = ""


def permissions_of(run: Run) -> list[CallDecided]:
    """Return every call that needed a ground, in the order of the run, with its decision; a fork has its parent's."""
    if not run.spec.get("tool_rules"):
        return []
    kinds = (RecordPermission.kind, AskPerson.kind)
    rows = Step.objects.filter(run=run, kind__in=kinds).order_by("seq")
    steps = {row[0]: row for row in rows.values_list("key", "state", "result", "question__pk")}
    return [
        _decided(Permission.model_validate(result), steps.get(f"{key.removesuffix('/permitted')}/approval"))
        for key, state, result, _question in list(steps.values())
        if key.endswith("/permitted") and state == StepState.DONE
    ]


def _decided(permission: Permission, asked: tuple[str, str, object, UUID | None] | None) -> CallDecided:
    if permission.ground is not None:
        return CallDecided(permission, Decided.ALLOWED)
    if asked is None:
        return CallDecided(permission, Decided.NOT_ASKED)
    _key, state, result, question_id = asked
    if state != StepState.DONE:
        decided = Decided.ASKED if state == StepState.WAITING else Decided.NOT_ASKED
        return CallDecided(permission, decided, question_id)
    answer = PersonsAnswer.model_validate(result)
    decided = Decided.ALLOWED if answer.choice is Choice.ALLOW else Decided.REFUSED
    return CallDecided(permission, decided, question_id, by=answer.by, reason=answer.text)
