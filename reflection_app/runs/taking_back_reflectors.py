"""Taking back that a run was looked back at, because its end is taken back: the next end begins anew."""

from uuid import UUID

from django.db import transaction

from notebook_app.public import unlearn
from reflection_app.adapters.doorbell import ring
from reflection_app.loops.ends import Ended, Outcome
from reflection_app.runs.ending import end_run
from reflection_app.runs.models.run import Run
from reflection_app.sessions.models.reflector import LookBackDue, Reflector
from reflection_app.sessions.reflector_proposals import evidence_of


def take_back_reflectors(run: Run) -> None:
    """Takes back what the forks that look back at `run` proposed, as far as nobody decided on it, and their rows.

    The caller's transaction has locked `run`. The forks are cancelled once it is committed: their workers may hold
    them while they wait for this one. One that is not cancelled, or goes on before, finds nothing to keep anything on.
    """
    LookBackDue.objects.filter(run_id=run.pk).delete()
    both = list(Reflector.objects.select_for_update(of=("self",)).filter(run=run).order_by("pk"))
    if not both:
        return
    for reflector in both:
        unlearn(run.project_id, refs=evidence_of(reflector))
    Reflector.objects.filter(pk__in=[reflector.pk for reflector in both]).delete()
    forks = [reflector.fork_id for reflector in both]
    transaction.on_commit(lambda: cancel_forks(forks), robust=True)


def cancel_forks(forks: list[UUID]) -> None:
    """Ends those of the forks that have not ended as cancelled, each by itself."""
    for fork_id in forks:
        with transaction.atomic():
            fork = Run.objects.select_for_update(of=("self",)).get(pk=fork_id)
            if not fork.is_finished:
                end_run(fork, Ended(outcome=Outcome.CANCELLED))
        ring(fork.pk, project_id=fork.project_id)
