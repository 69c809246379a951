"""Work that agents pull: the next run that waits for an attempt, held by a lease so that two never make the same one.

Who claims nothing hands in attempts as ever. While an agent holds a run, nobody else hands in; a hold that ran out and
that nobody took over is renewed by whoever had it, since its work is paid for. The run's lock comes first.
"""

from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import Field

from reflection_app.adapters.live import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import AgentLeaseLost, HeldByAgent, RunFinished
from reflection_app.core.models import ApiKey, Project
from reflection_app.core.rights import key_revoked
from reflection_app.loops.task_spec import Execution, Mode
from reflection_app.loops.values import Value
from reflection_app.runs.models import NOT_OF_THE_DESK, AgentLease, Run, RunState

SHORTEST_LEASE_S = 5.0
LONGEST_LEASE_S = 3_600.0
MOST_NAMED = 50

Name = Annotated[str, Field(min_length=1, max_length=120)]
Names = Annotated[tuple[Name, ...], Field(max_length=MOST_NAMED)]


class WorkInput(Value):
    """Filters for the work to claim, and the duration of the lease. Without filters, any work matches."""

    agents: Names = Field(default=(), description="only tasks for one of these agents")
    kinds: Names = Field(default=(), description="only tasks of one of these kinds")
    modes: Annotated[tuple[Mode, ...], Field(max_length=len(Mode))] = Field(
        default=(), description="only runs of one of these loops"
    )
    holder: str = Field(default="", max_length=120, description="display name of the agent")
    lease_s: float | None = Field(
        default=None,
        ge=SHORTEST_LEASE_S,
        le=LONGEST_LEASE_S,
        allow_inf_nan=False,
        description="duration of the lease in seconds without a heartbeat or an attempt",
    )


class TokenInput(Value):
    """The token returned with the work."""

    lease_token: UUID


def work_for(project: Project, data: WorkInput) -> QuerySet[Run]:
    """The runs that wait for an attempt of such an agent and that nobody holds, the longest waiting first."""
    is_free = Q(agent_lease=None) | Q(agent_lease__until__lte=timezone.now())
    runs = Run.objects.filter(
        NOT_OF_THE_DESK, is_free, project=project, state=RunState.WAITING_AGENT, task__execution=Execution.EXTERNAL
    ).exclude(mode=Mode.INLINE_REFLECTION)
    chosen = {"task__agent__in": data.agents, "task__kind__in": data.kinds, "mode__in": data.modes}
    return runs.filter(**{name: values for name, values in chosen.items() if values}).order_by("created_at", "id")


@transaction.atomic
def claim_work(project: Project, data: WorkInput, *, actor: Actor) -> AgentLease | None:
    """The hold on the next such run; None where there is none. Two callers never get the same one.

    A run that another caller has locked is passed over; what it holds by the time that the lock is ours is looked at
    again, for the rows were found as they were before.
    """
    passed_over: list[UUID] = []
    while True:
        runs = work_for(project, data).exclude(pk__in=passed_over)
        run = runs.select_for_update(skip_locked=True, of=("self",)).first()
        if run is None:
            return None
        lease = _hold(run, data, actor=actor)
        if lease is not None:
            return lease
        passed_over.append(run.pk)


def _hold(run: Run, data: WorkInput, *, actor: Actor) -> AgentLease | None:
    now, lasts_s = timezone.now(), data.lease_s or settings.AGENT_LEASE_S
    known = AgentLease.objects.filter(run=run).first()
    if known is not None and known.until > now:
        return None
    values = {
        "token": uuid4(),
        "holder": data.holder,
        "holder_label": actor.label,
        "lasts_s": lasts_s,
        "until": now + timedelta(seconds=lasts_s),
        "taken_at": now,
    }
    lease = AgentLease(run=run, **values)
    if known is None:
        lease.save(force_insert=True)
    # Whoever had it may renew it at this very moment.
    elif not AgentLease.objects.filter(run=run, until__lte=now).update(**values):
        return None
    told = {"holder": data.holder} | ({"taken_over_from": known.name} if known else {})
    audit(run.project_id, actor, "run.claimed_by_agent", target=run, after=told)
    transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    return lease


def keep_work(run: Run, *, token: UUID) -> datetime:
    """The new end of the hold. Raises RunFinished, or AgentLeaseLost where the token no longer holds the run."""
    now_is = Run.objects.only("state", "outcome").get(pk=run.pk)
    if now_is.is_finished:
        raise RunFinished(
            _("The run has already ended (%(outcome)s). Nothing was changed.") % {"outcome": now_is.outcome}
        )
    lease = AgentLease.objects.filter(run=run, token=token).first()
    until = timezone.now() + timedelta(seconds=lease.lasts_s) if lease else None
    # Whoever takes it over at this moment changes the token first, or comes too late.
    if until is None or not AgentLease.objects.filter(run=run, token=token).update(until=until):
        raise _lost(run)
    return until


@transaction.atomic
def release_work(run: Run, *, token: UUID, actor: Actor) -> None:
    """Gives the run back, for the next agent that asks. Raises AgentLeaseLost."""
    if not AgentLease.objects.filter(run=run, token=token).delete()[0]:
        raise _lost(run)
    audit(run.project_id, actor, "run.released_by_agent", target=run)
    transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))


@receiver(key_revoked, dispatch_uid="release-work-of-key")
def _release_work_of_key(*, key: ApiKey, actor: Actor, **_signal: Any) -> None:
    # A key is known by its label, which is unique in its project.
    held = AgentLease.objects.filter(run__project=key.project_id, holder_label=Actor(api_key=key).label)
    runs = Run.objects.select_for_update(of=("self",)).filter(agent_lease__in=held).order_by("pk")
    for run in list(runs):
        if AgentLease.objects.filter(run=run, holder_label=Actor(api_key=key).label).delete()[0]:
            audit(run.project_id, actor, "run.released_by_agent", target=run, before={"holder": key.name})
            transaction.on_commit(partial(ring, run.pk, project_id=run.project_id))


def check_hold(run: Run, *, token: UUID | None) -> None:
    """Lets whoever holds the locked run, or anybody where nobody does, hand in. The hold of `token` begins anew.

    Raises HeldByAgent.
    """
    lease = AgentLease.objects.filter(run=run).first()
    if lease is None:
        return
    now = timezone.now()
    if lease.token == token:
        AgentLease.objects.filter(run=run, token=token).update(until=now + timedelta(seconds=lease.lasts_s))
    elif lease.until > now:
        raise HeldByAgent(_held_in_words(lease))


def holder_of(run: Run) -> AgentLease | None:
    """The hold on the run that is in force."""
    return AgentLease.objects.filter(run=run, until__gt=timezone.now()).first()


def _lost(run: Run) -> AgentLeaseLost:
    lease = holder_of(run)
    if lease is not None:
        return AgentLeaseLost(_held_in_words(lease))
    return AgentLeaseLost(
        _("Your lock on this run expired and no agent has locked it since. Nothing was changed. Claim work again.")
    )


def _held_in_words(lease: AgentLease) -> str:
    return _("%(who)s has locked this run until %(time)s UTC and submits its next attempt. Nothing was changed.") % {
        "who": lease.name,
        "time": f"{lease.until:%H:%M:%S}",
    }
