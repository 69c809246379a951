"""Decide whether a proposed call may be made: ask a model about the task's wording first, then a reviewer.

This model did not propose the call. It sees the task and the call as data, and must quote the task. Code checks the
quote. Everything except a verifiable yes goes to the reviewer.
"""

import json

from pydantic import Field

from reflection_app.loops.answer_reading import Clipped, Lenient, Share
from reflection_app.loops.answer_schemas import SHARE, TEXT, YES_OR_NO, closed_object
from reflection_app.loops.answers import ask
from reflection_app.loops.attempt_effects import AskPerson, RecordPermission
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.framing import framed, framed_task
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.questions import Choice, Question, QuestionKind
from reflection_app.loops.tool_calls import ToolCall, ToolSpec
from reflection_app.loops.tool_permission import CallGate, Ground, Permission, asks_for_deed
from reflection_app.loops.values import user

TEMPERATURE = 0.0
MOST_REASKS = 1
LEAST_CONFIDENCE = 0.6
LONGEST_ARGUMENTS = 4_000
LONGEST_TOOL = 2_000
LONGEST_CONTEXT = 2_000
CHOICES = (Choice.ALLOW, Choice.REFUSE)


class NotPermitted(EffectFailed):
    """The call must not be made: a reviewer refused it, or the run has asked too often."""


class AskedFor(Lenient):
    asked_for: bool
    quote: Clipped = ""
    confidence: Share | None = Field(default=None)


ANSWER_SCHEMA = closed_object(asked_for=YES_OR_NO, quote=TEXT, confidence=SHARE)


async def permit(
    run: Progress, call: ToolCall, *, tool: ToolSpec, key: str, attempt: int, purpose: str
) -> Ground | None:
    """Return why the call may be made, or None in a run that started before calls were gated.

    Every decision that does not follow from the task's specification is recorded, and waits for a reviewer if needed.
    Raise NotPermitted, and the errors of every effect.
    """
    gate = run.gate
    if gate is None:
        return None
    if why := gate.refusal_of(call):
        raise NotPermitted(why)
    ground, quote = gate.ground_of(call, tool=tool), ""
    if ground is Ground.READS or ground is Ground.SUBMITTED:
        return ground
    may_be_asked_for = ground is None and not gate.is_made(call, tool=tool)
    if may_be_asked_for and (quote := await _quote_of(run, gate, call, tool=tool, key=key)):
        ground = Ground.TASK_WORDS
    decided = Permission(call=gate.prepare(call), ground=ground, quote=quote)
    recorded = await run.perform(RecordPermission(key=f"{key}/permitted", permission=decided))
    return recorded.ground or await _ask_reviewer(run, gate, call, key=key, attempt=attempt, purpose=purpose)


async def _quote_of(run: Progress, gate: CallGate, call: ToolCall, *, tool: ToolSpec, key: str) -> str:
    """Return the words of the task that ask for this call, or ""."""
    run.check_limits()
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    text = prompt(
        "tool_asked_for",
        task=framed_task(gate.objective),
        call=framed(f"{call.tool}({arguments})", name="call", most=LONGEST_ARGUMENTS),
        tool=framed(f"{tool.name}: {tool.description}", name="tool", most=LONGEST_TOOL),
    )
    request = run.model_call(
        key=f"{key}/asked-for",
        role="classifier",
        messages=(user(text),),
        temperature=TEMPERATURE,
        json_schema=ANSWER_SCHEMA,
    )
    try:
        found = await ask(run, request, schema=AskedFor, most_reasks=MOST_REASKS)
    except (EffectTimedOut, PriceUnknown):
        raise
    except EffectFailed:
        return ""
    is_sure = found.confidence is None or found.confidence >= LEAST_CONFIDENCE
    quote = found.quote.strip()
    asks = found.asked_for and is_sure and asks_for_deed(quote, objective=gate.objective, call=call, tool=tool)
    return quote if asks else ""


async def _ask_reviewer(
    run: Progress, gate: CallGate, call: ToolCall, *, key: str, attempt: int, purpose: str
) -> Ground:
    """Wait for a reviewer's decision on exactly this call. Raise NotPermitted if it is refused."""
    run.check_limits()
    context = [f"Task: {gate.objective}"]
    if purpose:
        context.append(f"Proposed for: {purpose}")
    question = Question(
        kind=QuestionKind.TOOL_CALL,
        text=f"Allow the call of {call.tool}? The task does not ask for it in its own words.",
        context=tuple(line[:LONGEST_CONTEXT] for line in context),
        choices=CHOICES,
        prepared=gate.prepare(call),
    )
    answer = await run.ask_person(AskPerson(key=f"{key}/approval", question=question, attempt=attempt))
    if answer.choice is Choice.ALLOW:
        return Ground.REVIEWER
    reason = " ".join(answer.text.split())
    why = f"{answer.by or 'A reviewer'} refused the call of {call.tool}{f': {reason}' if reason else ''}"
    gate.refused.append((call, why))
    raise NotPermitted(why)
