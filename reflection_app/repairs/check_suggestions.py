"""Suggestions of how often a kind of task is to be checked: made from what its checks found, and decided by people."""

import logging
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from notebook_app.public import Claim
from reflection_app.adapters.live import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import AlreadyDecided, Conflict
from reflection_app.core.models import Membership, Project
from reflection_app.core.permissions import Permission, roles_that_may
from reflection_app.loops.completeness.checks import MOST_KINDS, CheckChoice, CheckState
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.values import Value
from reflection_app.repairs.check_policy import (
    DIRECTIONS,
    MOST_LOOKED_AT,
    Advice,
    CheckFact,
    Evidence,
    advise,
    has_changed,
)
from reflection_app.repairs.check_worth import WorthOfChecks, worth_of_checks
from reflection_app.repairs.models import CheckSuggestion, CompletenessCheck, SuggestionState
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Run
from reflection_app.teams.models import ABOUT_CHECKS, NotificationKind
from reflection_app.teams.notifications import notify

log = logging.getLogger(__name__)

# What checks of a kind found, from their rows.

FOUND = (CheckState.INCOMPLETE.value, CheckState.SUPPLEMENTED.value)
TOLD = (*FOUND, CheckState.COMPLETE.value)
# A run may have been checked more than once.
CHECKS_PER_RUN = 3


def checks_that_tell(project_id: UUID) -> QuerySet[CompletenessCheck]:
    """The checks by which a policy is told: of runs that plan, that are no forks, and that came to a result.

    A history that was handed in to be checked is checked whatever the policy.
    """
    rows = CompletenessCheck.objects.filter(project=project_id, state__in=TOLD, run__parent=None)
    return rows.exclude(run__mode=Mode.COMPLETENESS_CHECK.value)


def facts_of(project_id: UUID, kind: str) -> list[CheckFact]:
    """The kind's newest checked runs, oldest first: what the first check of each found, and how the last one stands."""
    rows = checks_that_tell(project_id).filter(task_kind=kind).annotate(wanted=Count("supplements"))
    names = ("run_id", "state", "cost_usd", "wanted", "run__unpriced_calls")
    newest = rows.order_by("-created_at", "-id").values_list(*names)[: MOST_LOOKED_AT * CHECKS_PER_RUN]
    by_run: dict[UUID, list[tuple[str, Decimal, int, int]]] = {}
    for run_id, *told in newest:
        by_run.setdefault(run_id, []).insert(0, (told[0], told[1], told[2], told[3]))
    facts = []
    for checks in list(by_run.values())[:MOST_LOOKED_AT]:
        is_incomplete = checks[0][0] in FOUND
        facts.append(
            CheckFact(
                is_incomplete=is_incomplete,
                is_turned=is_incomplete and checks[-1][0] != CheckState.INCOMPLETE,
                supplements=checks[0][2],
                cost_usd=sum((cost for _, cost, _, _ in checks), Decimal(0)),
                cost_known=not any(unpriced for *_, unpriced in checks),
            )
        )
    return facts[::-1]


# Looking at kinds that were checked lately.

# What nobody looked at in this time is looked at with the kind's next check.
LOOKED_BACK = timedelta(hours=1)
MOST_PROJECTS = 200
MOST_KINDS_AT_ONCE = 100


def suggest_due(now: datetime) -> int:
    """Looks at the kinds of tasks that were checked within the last hour; how many suggestions are new."""
    since = now - LOOKED_BACK
    recent = CompletenessCheck.objects.filter(project=OuterRef("pk"), created_at__gt=since)
    projects = Project.objects.filter(Exists(recent), deleted_at__isnull=True).order_by("pk")
    made = 0
    for project in projects[:MOST_PROJECTS]:
        rows = CompletenessCheck.objects.filter(project=project, created_at__gt=since).exclude(task_kind="")
        kinds = rows.order_by().values_list("task_kind", flat=True).distinct()[:MOST_KINDS_AT_ONCE]
        try:
            made += suggest_for(project, kinds)
        except Exception:
            # One project that cannot be looked at keeps no other from it.
            log.exception("no checks could be suggested for project %s", project.pk)
    return made


def suggest_for(project: Project, kinds: Iterable[str]) -> int:
    """Suggests for each kind what its checks speak for, and withdraws what they no longer do; how many are new."""
    worth = worth_of_checks(project.pk)
    return sum(suggest(project, kind, worth=worth) is not None for kind in kinds)


def suggest(project: Project, kind: str, *, worth: WorthOfChecks) -> CheckSuggestion | None:
    """The kind's new suggestion, where there is one. Tasks without a kind follow the project, and nothing is suggested.

    Of two at once one suggests: there is at most one open suggestion for a kind.
    """
    advice = _advice(project, kind, worth=worth)
    rows = CheckSuggestion.objects.filter(project=project, task_kind=kind)
    still_open = rows.filter(state=SuggestionState.OPEN).first()
    if still_open is not None:
        if advice is not None and still_open.change == advice.change:
            return None
        withdrawn = {"state": SuggestionState.WITHDRAWN, "decided_at": timezone.now()}
        rows.filter(pk=still_open.pk, state=SuggestionState.OPEN).update(**withdrawn)
    if advice is None or _was_declined(rows, advice):
        return None
    row = CheckSuggestion(
        project=project, task_kind=kind, why=advice.why.value, change=advice.change, evidence=as_json(advice.evidence)
    )
    with transaction.atomic():
        CheckSuggestion.objects.bulk_create([row], ignore_conflicts=True)
        if not CheckSuggestion.objects.filter(pk=row.pk).exists():
            return None
        _tell(row)
    return row


def _advice(project: Project, kind: str, *, worth: WorthOfChecks) -> Advice | None:
    if not kind or (facts := facts_of(project.pk, kind)) == []:
        return None
    rows = checks_that_tell(project.pk).filter(task_kind=kind)
    total = rows.aggregate(total=Count("run", distinct=True))["total"]
    found = worth.by_kind.get(kind)
    return advise(
        facts,
        policy=project.get_completeness(kind),
        total=total,
        holdout=found.measured if found else None,
        claim=found.claim if found else Claim.OPEN,
    )


def _was_declined(rows: QuerySet[CheckSuggestion], advice: Advice) -> bool:
    """Whether a person declined just this direction, on evidence that has not changed much since."""
    same = [why.value for why, direction in DIRECTIONS.items() if direction is advice.direction]
    newest = rows.filter(why__in=same, state__in=(SuggestionState.ACCEPTED, SuggestionState.DECLINED))
    last = newest.order_by("-decided_at").first()
    if last is None or last.state != SuggestionState.DECLINED:
        return False
    return not has_changed(evidence_in(last), advice.evidence)


def _tell(row: CheckSuggestion) -> None:
    """The event, on the newest run that the suggestion rests on, and word to those who may accept it."""
    newest = checks_that_tell(row.project_id).filter(task_kind=row.task_kind).order_by("-created_at", "-id")
    run = Run.objects.select_for_update(of=("self",)).filter(pk__in=newest.values("run")[:1]).first()
    if run is not None:
        told = {"suggestion": str(row.pk), "task_kind": row.task_kind, "why": row.why, "change": row.change}
        add_event(run, EventType.CHECKS_SUGGESTED, **told)
        run.save(update_fields=["last_event_seq"])
        transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    roles = roles_that_may(Permission.CHANGE_SETTINGS)
    people = Membership.objects.filter(project=row.project_id, role__in=roles).values_list("user", flat=True)
    notify(
        NotificationKind.CHECKS_SUGGESTED,
        users=list(people),
        project_id=row.project_id,
        about=ABOUT_CHECKS,
        about_id=row.pk,
        actor=Actor(),
        title=row.task_kind,
    )


def as_json(evidence: Evidence) -> dict[str, Any]:
    return asdict(evidence) | {"cost_each_usd": str(evidence.cost_each_usd)}


def evidence_in(row: CheckSuggestion) -> Evidence:
    """What the suggestion rests on, as it was then."""
    return Evidence(**row.evidence | {"cost_each_usd": Decimal(row.evidence["cost_each_usd"])})


# Deciding on them. What is accepted is the kind's setting from the next run on.


class SuggestionDecision(StrEnum):
    ACCEPT = "accept"
    DECLINE = "decline"


class SuggestionInput(Value):
    decision: SuggestionDecision


STATES = {
    SuggestionDecision.ACCEPT: SuggestionState.ACCEPTED,
    SuggestionDecision.DECLINE: SuggestionState.DECLINED,
}


@transaction.atomic
def decide_suggestion(row: CheckSuggestion, data: SuggestionInput, *, actor: Actor) -> CheckSuggestion:
    """The decided suggestion; accepted, its change stands in the settings of the kind, beside what else they say.

    Raises AlreadyDecided where somebody was first or the figures no longer speak for it, and Conflict where the project
    has settings for as many kinds as it can.
    """
    # Whoever changes the settings at once waits here, and so does another who decides.
    project = Project.objects.select_for_update().get(pk=row.project_id)
    state = STATES[data.decision]
    decided = {"decided_by": actor.user, "decided_by_label": actor.label, "decided_at": timezone.now()}
    changed = CheckSuggestion.objects.filter(pk=row.pk, state=SuggestionState.OPEN).update(state=state, **decided)
    row.refresh_from_db()
    if not changed:
        if row.state == SuggestionState.WITHDRAWN:
            raise AlreadyDecided(_("The figures no longer speak for this; the suggestion was withdrawn."))
        raise AlreadyDecided(
            _("%(name)s has decided: %(state)s. Nothing was changed.")
            % {"name": row.decided_by_label, "state": row.get_state_display().lower()}
        )
    before: dict[str, Any] = project.completeness_by_kind.get(row.task_kind, {})
    after = before
    if state == SuggestionState.ACCEPTED:
        after = _with_change(project, row)
    audit(
        project.pk,
        actor,
        "check_suggestion.decided",
        target=row,
        before={"state": SuggestionState.OPEN.value, "kind": row.task_kind, "settings": before},
        after={"state": state.value, "kind": row.task_kind, "settings": after},
    )
    return row


def _with_change(project: Project, row: CheckSuggestion) -> dict[str, Any]:
    by_kind = project.get_completeness_by_kind()
    if row.task_kind not in by_kind and len(by_kind) >= MOST_KINDS:
        raise Conflict(_("At most %(most)s kinds of tasks can have settings of their own.") % {"most": MOST_KINDS})
    own = by_kind.get(row.task_kind, CheckChoice())
    choice = CheckChoice.model_validate(own.chosen | row.change)
    after = choice.model_dump(mode="json", exclude_none=True)
    project.completeness_by_kind = dict(sorted((project.completeness_by_kind | {row.task_kind: after}).items()))
    project.save(update_fields=["completeness_by_kind"])
    return after
