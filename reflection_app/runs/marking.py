"""Marks that come in with issues: each is looked for in the text that it is of, and put right or refused."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from reflection_app.core.errors import InvalidInput
from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.marks import Mark, MarkedText, MarkRefused
from reflection_app.loops.verdicts import Issue
from reflection_app.runs.models import Attempt, Step, StepState


def output_of(step: Step) -> str:
    """What the tool put out, or what went wrong where it put out nothing."""
    said: dict[str, Any] = step.result if isinstance(step.result, dict) else {}
    return str(said.get("content") or said.get("error") or "")


def marked_text(mark: Mark, run_id: UUID, *, attempt: int) -> str:
    """The text that the mark is of, of the judged `attempt` unless it names another. Raises MarkRefused."""
    if mark.text is MarkedText.ATTEMPT:
        if mark.step is not None:
            raise MarkRefused("A step goes with the text “output”, not with an attempt's own text.")
        number = mark.attempt or attempt
        content = Attempt.objects.filter(run=run_id, number=number).values_list("content", flat=True).first()
        if content is None:
            raise MarkRefused(f"The run has no attempt {number}.")
        return content
    if mark.step is None:
        raise MarkRefused("Name the step whose output is marked.")
    if mark.attempt is not None:
        raise MarkRefused("An output is named by its step alone; leave the attempt out.")
    calls = Step.objects.filter(run=run_id, kind=CallTool.kind, state=StepState.DONE)
    step = calls.filter(seq=mark.step).only("result").first()
    if step is None:
        raise MarkRefused(f"Step {mark.step} of the run called no tool that put anything out.")
    return output_of(step)


def with_marks_in_place(issues: Sequence[Issue], run_id: UUID, *, attempt: int) -> tuple[Issue, ...]:
    """The issues, each mark where its passage stands. Raises InvalidInput, which names each that stands nowhere."""
    found, errors = [], []
    for number, issue in enumerate(issues):
        if issue.mark is None:
            found.append(issue)
            continue
        mark = issue.mark
        if mark.attempt == attempt:
            mark = mark.model_copy(update={"attempt": None})
        try:
            placed = mark.within(marked_text(mark, run_id, attempt=attempt))
        except MarkRefused as refused:
            errors.append({"field": f"issues.{number}.mark", "message": str(refused)})
        else:
            found.append(issue.model_copy(update={"mark": placed}))
    if errors:
        first = int(errors[0]["field"].split(".")[1]) + 1
        message = _("Issue %(number)s: %(message)s") % {"number": first, "message": errors[0]["message"]}
        raise InvalidInput(message, errors=errors)
    return tuple(found)
