"""Cancelling a run, whoever has it."""

from django.db import transaction
from django.utils.translation import gettext as _

from reflection_app.adapters.doorbell import ring
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import RunFinished
from reflection_app.loops.ends import Ended, Outcome
from reflection_app.runs.ending import end_run
from reflection_app.runs.models.run import Run


@transaction.atomic
def cancel_run(run: Run, *, actor: Actor) -> Run:
    """The run, ended as cancelled with its best attempt so far. Raises RunFinished where it had ended already.

    A worker in the middle of a step finds its lease gone at its next write and stops.
    """
    locked = Run.objects.select_for_update(of=("self",)).select_related("task").get(pk=run.pk)
    if locked.is_finished:
        raise RunFinished(
            _("The run has ended already (%(outcome)s); nothing was changed.") % {"outcome": locked.outcome}
        )
    before = locked.state
    end_run(locked, Ended(outcome=Outcome.CANCELLED))
    audit(locked.project_id, actor, "run.cancelled", target=locked, before={"state": before})
    transaction.on_commit(lambda: ring(locked.pk, project_id=locked.project_id))
    return locked
