"""What completeness checks are worth: runs that were checked beside runs held out by lot, by the lessons' engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Case, CharField, Max, Min, QuerySet, StringAgg, When
from django.db.models import Value as Literal
from django.utils import timezone

from notebook_app.public import Claim, Measured, Outcomes, claims_among
from reflection_app.loops.attempts import ended_well
from reflection_app.loops.completeness.sampling import CheckArm, CheckLots
from reflection_app.loops.effects import DrawCheck
from reflection_app.loops.verdicts import Judgement, Outcome, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models import CheckDraw
from reflection_app.runs.following import StepCommit, follows_from
from reflection_app.runs.models import VOID, Run, Verdict
from reflection_app.tasks.models import Task

# Outcomes as the looks read them: G and W are successes with a check and without.
LETTERS = Case(
    When(arm=CheckArm.CHECKED.value, succeeded=True, then=Literal("G")),
    When(arm=CheckArm.CHECKED.value, then=Literal("g")),
    When(succeeded=True, then=Literal("W")),
    default=Literal("w"),
    output_field=CharField(),
)


@follows_from(DrawCheck)
def write_draw(_effect: DrawCheck, lots: CheckLots, commit: StepCommit) -> None:
    """Keeps what the lots made of the run, in the transaction that keeps the step.

    A fork that inherited the step has no row of its own: the draw was its parent's.
    """
    run = commit.run
    commit.batch.insert(
        CheckDraw(
            project_id=run.project_id,
            run=run,
            step=commit.step,
            task_kind=Task.objects.values_list("kind", flat=True).get(runs=run.pk),
            arm=lots.arm.value,
            share=lots.share,
            holdout_share=lots.holdout_share,
            is_counted=not (run.is_scripted or run.parent_id or run.is_finished),
        )
    )


def settle_check(run: Run) -> None:
    """Records how the run ended for its draw, as its rows tell it now; of a run that goes on again it is taken back.

    Call it where the caller's transaction locked `run`. An outcome that is corrected keeps its place in time, so that
    looks which have passed are not moved by it.
    """
    drawn = CheckDraw.objects.filter(run=run)
    if not drawn.exists():
        return
    kept = run.best_attempt
    judgements = []
    if kept is not None:
        rows = Verdict.objects.filter(attempt=kept).exclude(VOID).order_by("created_at", "id")
        judgements = [
            Judgement(attempt=kept.number, referee=Referee(referee), verdict=VerdictName(verdict), score=score)
            for referee, verdict, score in rows.values_list("referee", "verdict", "score")
        ]
    outcome = Outcome(run.outcome) if run.outcome else None
    succeeded = ended_well(judgements, outcome=outcome, kept=kept.number if kept else None)
    if succeeded is None:
        drawn.update(succeeded=None, settled_at=None)
    else:
        drawn.filter(settled_at__isnull=True).update(settled_at=timezone.now())
        drawn.update(succeeded=succeeded)


@dataclass(frozen=True)
class Worth:
    """The hold-out of a kind of task with what may be said of it among the other kinds, or of all kinds together."""

    measured: Measured
    claim: Claim


@dataclass(frozen=True)
class WorthOfChecks:
    overall: Worth
    by_kind: Mapping[str, Worth]


NOTHING = Outcomes(lowest_share=0.0, highest_share=0.0)


def worth_of_checks(project_id: UUID) -> WorthOfChecks:
    """What checks are worth in all and for each kind of task that had a hold-out."""
    counted = CheckDraw.objects.filter(
        project=project_id,
        is_counted=True,
        succeeded__isnull=False,
        holdout_share__gt=0,
        holdout_share__lt=1,
        arm__in=(CheckArm.CHECKED.value, CheckArm.HELD_OUT.value),
    )
    overall = Measured(_outcomes(counted, by="project_id").get(project_id, NOTHING))
    kinds = {kind: Measured(found) for kind, found in sorted(_outcomes(counted, by="task_kind").items())}
    claims = claims_among(list(kinds.values()))
    worths = {kind: Worth(one, claim) for (kind, one), claim in zip(kinds.items(), claims, strict=True)}
    return WorthOfChecks(Worth(overall, overall.alone), worths)


def _outcomes(rows: QuerySet[CheckDraw], *, by: str) -> dict[Any, Outcomes]:
    """The outcomes of each group in their order, and between which shares was drawn."""
    found = (
        rows.values(by)
        .annotate(
            letters=StringAgg(LETTERS, delimiter=Literal(""), order_by=("settled_at", "id")),
            lowest=Min("holdout_share"),
            highest=Max("holdout_share"),
        )
        .order_by()
    )
    return {row[0]: Outcomes(*row[1:]) for row in found.values_list(by, "letters", "lowest", "highest")}
