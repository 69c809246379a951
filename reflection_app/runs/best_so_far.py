"""The best attempt by what is recorded, which also knows what people said of attempts in audits."""

from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Subquery
from pydantic import ValidationError

from reflection_app.loops.best_attempt import best_attempt
from reflection_app.loops.effects import RecordPick
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.verdicts import Judgement, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.runs.models.attempt import VOID, Attempt, Verdict
from reflection_app.runs.models.run import Run, Step, StepState


class Best(NamedTuple):
    id: UUID | None
    number: int | None


def best_of(run: Run) -> Best:
    """The attempt to keep if the run ended now, by the rule that loops use; Nones where there is no attempt.

    One that was cut off is kept only where there is no whole one.
    """
    picks = Step.objects.filter(run=run, kind=RecordPick.kind, state=StepState.DONE).order_by("-seq")
    picked = Subquery(picks.values("result__attempt")[:1])
    rows = Verdict.objects.filter(attempt__run=run).exclude(VOID).annotate(pick=picked).order_by("created_at", "id")
    # Only what the rule reads: a verdict whose details no longer parse must not keep its run from ending.
    names = (
        "attempt_id",
        "attempt__number",
        "referee",
        "verdict",
        "score",
        "requirements",
        "pick",
        "attempt__is_cut_off",
    )
    listed = list(rows.values_list(*names))
    judged = [row for row in listed if not row[-1]]
    if not judged and listed and not Attempt.objects.filter(run=run, is_cut_off=False).exists():
        judged = listed
    if not judged:
        made = Attempt.objects.filter(run=run).order_by("is_cut_off", "number").values_list("id", "number")
        pick = picks.values_list("result__attempt", flat=True).first()
        kept = (made.filter(number=pick).first() if pick is not None else None) or made.first()
        return Best(*kept) if kept else Best(None, None)
    ids = {number: attempt_id for attempt_id, number, *_ in judged}
    judgements = [
        Judgement(
            attempt=number,
            referee=Referee(referee),
            verdict=VerdictName(verdict),
            score=score,
            requirements=_requirements(requirements),
        )
        for _, number, referee, verdict, score, requirements, *_ in judged
    ]
    number = best_attempt(ids, judgements, pick=judged[0][-2])
    return Best(ids[number], number) if number is not None else Best(None, None)


def _requirements(kept: Any) -> RequirementsReport | None:
    try:
        return RequirementsReport.model_validate(kept) if kept else None
    except ValidationError:
        return None
