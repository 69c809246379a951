"""Bringing the answers on disk to the steps that still wait for them. The first answer to a request counts."""

import logging
import time
from pathlib import Path
from typing import Any, get_args

from django.db import DataError, InterfaceError, OperationalError
from pydantic import ValidationError

from reflection_app.loops.effects import Performing
from reflection_app.runs.events import EventType
from reflection_app.runs.following import consequences
from reflection_app.runs.journal import close_step
from reflection_app.runs.journal_writes import Change, charge_late, offer
from reflection_app.runs.models import Run, RunState, Step, StepState
from reflection_app.runs.spool import UNFINISHED, SpooledAnswer, folder, read_all, set_aside, sha256_of

log = logging.getLogger(__name__)

# Until then the process that wrote a file may be about to settle it.
SETTLED_AFTER_S = 60.0
UNFINISHED_FOR_S = 3600.0
EFFECTS: dict[str, Any] = {effect.kind: effect for effect in get_args(Performing)}


def offer_spooled() -> int:
    """Give the answers on this machine's disk to their open steps, and delete those of closed ones; how many it gave.

    Raises what the database raises where it is away.
    """
    given = 0
    for path, answer in read_all():
        try:
            given += _offer(path, answer)
        except (OperationalError, InterfaceError):
            raise
        except (DataError, ValidationError) as error:
            set_aside(path, why=str(error).splitlines()[0])
        except Exception as error:
            log.exception("the answer in %s could not be offered", path)
            set_aside(path, why=type(error).__name__)
    for left in folder().glob(f"*{UNFINISHED}"):
        if _age_s(left) > UNFINISHED_FOR_S:
            left.unlink(missing_ok=True)
    return given


def _offer(path: Path, answer: SpooledAnswer) -> bool:
    """Return True if the step now has the answer."""
    run = Run.objects.filter(pk=answer.run_id).values_list("state", "lease_token").first()
    step = Step.objects.filter(run_id=answer.run_id, seq=answer.seq).first()
    if run is None or run[0] == RunState.FINISHED or (step is not None and not step.is_open):
        if _age_s(path) > SETTLED_AFTER_S:
            _let_go(path, answer, step=step, is_there=run is not None)
        return False
    is_held = run == (RunState.RUNNING, answer.token)
    if is_held or step is None or step.key != answer.key or sha256_of(step.request) != answer.request_sha256:
        # Its worker still has it, or the next worker that performs the step on this machine finds it on disk.
        return False
    if offer([_change(step, answer)]) is None:
        return False
    path.unlink(missing_ok=True)
    log.info("step %s of run %s has the answer that was kept on disk", answer.key, answer.run_id)
    return True


def _change(step: Step, answer: SpooledAnswer) -> Change:
    """The step as completed with the answer. Raises ValidationError."""
    effect = EFFECTS[answer.kind].model_validate({**step.request, "key": step.key})
    performed = answer.performed(effect)
    step.state, step.result = StepState.DONE, answer.result
    close_step(step, answer.spent, at=answer.finished_at)
    return Change(
        step=step,
        is_new=False,
        event=EventType.STEP_FINISHED,
        payload={"step": step.seq, "key": step.key, "state": step.state},
        spent=answer.spent,
        follow=consequences(effect, performed.value, attempts={}, judgements=[]),
    )


def _let_go(path: Path, answer: SpooledAnswer, *, step: Step | None, is_there: bool) -> None:
    """Delete the file. Unless its answer is the one that the step has, what it cost is added to the run's totals."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    if is_there and (step is None or step.finished_at != answer.finished_at):
        paid = Step(run_id=answer.run_id, seq=answer.seq, key=answer.key, kind=answer.kind)
        charge_late(Change(step=paid, is_new=False, event=None, spent=answer.spent))


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
