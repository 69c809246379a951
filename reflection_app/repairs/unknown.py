"""Whether an attempt says that its author does not know: read by its meaning, with what the record adds to that."""

import logging
import time
from collections.abc import Sequence
from uuid import UUID

import numpy as np

from judgement.does_not_know import read
from judgement.linear import Numbers
from reflection_app.adapters.llm import ModelError, embed, screening_model
from reflection_app.core.connections import released
from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.effects import FindSimilarIssues
from reflection_app.loops.protocol.error_classes import SaidUnknown
from reflection_app.loops.protocol.executing import says_something
from reflection_app.runs.models import Step, StepState

log = logging.getLogger(__name__)

READ_WITHIN_S = 20.0
MOST_CALLS = 50


def read_unknown(effect: FindSimilarIssues, *, run_id: UUID) -> SaidUnknown | None:
    """What the attempt was read to say; None where nothing could be read by its meaning, and plain words have to do."""
    nothing = found_nothing(run_id)
    with released():
        return read_by_meaning(effect.written, task=effect.task, found_nothing=nothing)


def read_by_meaning(written: Sequence[str], *, task: str, found_nothing: tuple[str, ...] = ()) -> SaidUnknown | None:
    """What was written, read by its meaning; None where there is no model, or it gave no vectors in time."""
    model = screening_model()
    if model is None or not any(text.strip() for text in written):
        return None
    until = time.monotonic() + READ_WITHIN_S

    def vectors(texts: Sequence[str], as_query: bool) -> Numbers:
        # One at a time, so that questions of people wait behind one text and not behind all.
        each = []
        for text in texts:
            left_s = max(0.01, until - time.monotonic())
            each += embed([text], model=model, as_query=as_query, timeout_s=left_s)
        return np.array(each)

    try:
        reading = read(written, task=task, embed=vectors)
    except ModelError as error:
        log.warning("an attempt is read by its words alone: %s", error)
        return None
    quote = reading.quote if reading.says_it(found_nothing=bool(found_nothing)) else ""
    return SaidUnknown(quote=quote, found_nothing=found_nothing)


def found_nothing(run_id: UUID) -> tuple[str, ...]:
    """The tools whose last call in the run worked and found nothing: an empty list, or a word that there is none."""
    calls = Step.objects.filter(run=run_id, kind=CallTool.kind, state=StepState.DONE).order_by("-seq")
    last: dict[str, bool] = {}
    for request, result in calls.values_list("request", "result")[:MOST_CALLS]:
        came = result or {}
        content = str(came.get("content", ""))
        # A tool that does something, and says nothing of it, was not looking for anything.
        is_empty = bool(came.get("ok")) and bool(content.strip()) and not says_something(content)
        last.setdefault(str((request or {}).get("tool", "")), is_empty)
    return tuple(sorted(tool for tool, is_empty in last.items() if is_empty))
