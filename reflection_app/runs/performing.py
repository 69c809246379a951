"""Performing effects: the part outside of any transaction, with no database connection held."""

import time
from collections.abc import Callable
from decimal import ROUND_UP, Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from reflection_app.adapters.llm import (
    Completion,
    CompletionRequest,
    ModelError,
    ModelTimedOut,
    ModelUnavailable,
    complete,
    model_for,
)
from reflection_app.adapters.partial_text import writing
from reflection_app.adapters.sandbox import SandboxUnavailable, run_tests
from reflection_app.adapters.tools import call_tool
from reflection_app.adapters.watching import is_watched
from reflection_app.loops.attempt_effects import fault_of
from reflection_app.loops.effects import (
    AnyEffect,
    CallTool,
    EffectFailed,
    EffectTimedOut,
    Generate,
    Generation,
    Performed,
    Performing,
    RecallLessons,
    RunTests,
    Spent,
)
from reflection_app.loops.progress import SHORTEST_CALL_S
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.runs.journal import attempt_of
from reflection_app.runs.lessons import recall_lessons
from reflection_app.sessions.looked_back_at import call_on_session


class TryLater(Exception):
    """The effect could not be performed now; the run is tried again later."""

    def __init__(self, message: str, *, duration_s: float, tries: int = 1, after_s: float | None = None) -> None:
        super().__init__(message)
        self.duration_s = duration_s
        self.tries = tries
        self.after_s = after_s


def model_of(effect: AnyEffect, *, spec: TaskSpec) -> str:
    """The name of the model that `effect` will ask, or nothing where it asks none. Raises EffectFailed."""
    if not isinstance(effect, Generate):
        return ""
    try:
        return model_for(effect.role, spec.models)
    except ModelError as error:
        raise EffectFailed(str(error)) from None


def perform(
    effect: Performing, *, run_id: UUID, model: str, seq: int, tries: int = 1, used_s: float = 0.0
) -> Performed[Any]:
    """The effect's fresh result, as step `seq` of the run; earlier tries have used `used_s` of its time.

    Raises EffectFailed (for good), TryLater, or SandboxFailed.
    """
    connection.close()  # back to the pool: others need it while this thread waits
    if isinstance(effect, RunTests):
        return _run_tests(effect)
    if isinstance(effect, CallTool):
        return _call_tool(effect, run_id=run_id)
    if isinstance(effect, RecallLessons):
        return recall_lessons(effect, run_id=run_id)
    with writing(run_id, step=seq, tries=tries, role=effect.role, attempt=attempt_of(effect)) as show:
        on_text = show if settings.LLM_STREAMING and is_watched(run_id) else None
        return _generate(effect, model=model, left_s=effect.timeout_s - used_s, on_text=on_text)


def _run_tests(effect: RunTests) -> Performed[Any]:
    began = time.monotonic()
    try:
        report = run_tests(effect.code, tests=effect.tests, deadline_s=effect.timeout_s, wanted=effect.wanted)
    except SandboxUnavailable as error:
        raise EffectFailed(f"code is not run without a sandbox: {error}") from None
    return Performed(value=report, spent=Spent(duration_s=time.monotonic() - began))


def _call_tool(effect: CallTool, *, run_id: UUID) -> Performed[Any]:
    began = time.monotonic()
    result = call_on_session(effect, run_id=run_id) or call_tool(effect, run_id=run_id)
    return Performed(value=result, spent=Spent(duration_s=time.monotonic() - began))


def _generate(effect: Generate, *, model: str, left_s: float, on_text: Callable[[str], None] | None) -> Performed[Any]:
    if left_s < SHORTEST_CALL_S:
        raise EffectTimedOut("the run's time was up before the model answered")
    own_limit_s = settings.LLM_TIMEOUT_S
    request = CompletionRequest(
        model=model,
        messages=effect.messages,
        key=effect.key,
        temperature=effect.temperature,
        top_p=effect.top_p,
        max_tokens=min(effect.max_tokens, settings.LLM_MAX_TOKENS * effect.room),
        timeout_s=min(left_s, own_limit_s),
        json_schema=effect.json_schema,
    )
    began = time.monotonic()
    try:
        completion = complete(request, on_text=on_text)
    except ModelTimedOut as error:
        if left_s <= own_limit_s:
            spent = Spent(duration_s=time.monotonic() - began, tries=error.tries)
            raise EffectTimedOut(f"the run's time was up: {error}", spent=spent) from None
        raise TryLater(str(error), duration_s=time.monotonic() - began, tries=error.tries) from None
    except ModelUnavailable as error:
        took_s, asked_s = time.monotonic() - began, error.retry_after_s
        # Waiting costs a run no time, yet who gave it seconds does not want it back in an hour.
        if asked_s is not None and asked_s > left_s - took_s:
            left = f"the run has {max(0.0, left_s - took_s):.0f} s left"
            reason = f"the model's provider asked to wait {asked_s:.0f} s, and {left}: {error}"
            raise EffectFailed(reason, spent=Spent(duration_s=took_s, tries=error.tries)) from None
        raise TryLater(str(error), duration_s=took_s, tries=error.tries, after_s=asked_s) from None
    except ModelError as error:
        spent = Spent(duration_s=time.monotonic() - began, tries=error.tries)
        raise EffectFailed(str(error), spent=spent) from None
    return Performed(
        value=Generation(
            text=storable(completion.text),
            model=storable(completion.model),
            finish_reason=storable(completion.finish_reason),
            refusal=completion.refusal,
            tool_calls=completion.tool_calls,
            fault=fault_of(
                completion.text,
                finish_reason=completion.finish_reason,
                refusal=completion.refusal,
                tool_calls=completion.tool_calls,
            ),
        ),
        spent=_spent(completion, duration_s=time.monotonic() - began),
    )


def _spent(completion: Completion, *, duration_s: float) -> Spent:
    return Spent(
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        # As many places as are kept: a replay must not see another sum than the first run of the loop did.
        cost_usd=completion.cost_usd.quantize(Decimal("1e-8"), rounding=ROUND_UP),
        cost_known=completion.cost_known,
        duration_s=duration_s,
        is_estimated=completion.is_estimated,
        cached_tokens=completion.cached_tokens,
        reasoning_tokens=completion.reasoning_tokens,
        tries=completion.tries,
    )
