"""Calls of tools as pages show them: which tool, with what, and what it said. Read from steps and from attempts."""

import json
from dataclasses import dataclass
from typing import Any

from reflection_app.loops.completeness.supplementing import PART
from reflection_app.loops.effects import CallTool, Generate, KeepAttempt, RecordPlan, RecordPlanStep
from reflection_app.repairs.views.failure_view import FailureShown
from reflection_app.runs.models.run import Step

QUIET_TOOL_KINDS = frozenset({KeepAttempt.kind, RecordPlan.kind, RecordPlanStep.kind})
LONGEST_READ = 1_000_000


@dataclass(frozen=True)
class CallShown:
    """One call. `ok` is None while nothing came back; `diagnosis` says why it failed."""

    tool: str
    arguments: Any
    ok: bool | None = None
    result: str = ""
    error: str = ""
    failure: str = ""
    is_shortened: bool = False
    diagnosis: FailureShown | None = None


# Who is asked within a plan's step without doing it: its failed calls are told of in words of their own.
ASKED_BESIDE = frozenset({"diagnoser"})


def what_of(step: Step) -> str:
    """What a step of a tool loop or a plan is, in the words that templates know; empty for all others."""
    kinds = {CallTool.kind: "call", KeepAttempt.kind: "kept", RecordPlan.kind: "plan", RecordPlanStep.kind: "outcome"}
    if step.kind in kinds:
        return kinds[step.kind]
    part = step.key.split("/again-")[0].rsplit("/", 1)[-1]
    if step.role == "planner":
        return "revising" if part.startswith("revise") else "planning"
    if part.startswith("arguments"):
        return "arguments"
    is_work = step.kind == Generate.kind and step.role not in ASKED_BESIDE
    return "working" if is_work and "/step-" in step.key else ""


def place_of(step: Step) -> str:
    """Which step of a plan a step of the journal belongs to, as a number counted from 1; empty for none."""
    parts = without_part(step.key).split("/")
    return parts[1].removeprefix("step-") if len(parts) > 2 and parts[1].startswith("step-") else ""


def is_of_supplements(step: Step) -> bool:
    """Whether the step belongs to the supplementary plan of its attempt."""
    return step.key != without_part(step.key)


def without_part(key: str) -> str:
    """The key as a step of the attempt's own plan has it."""
    attempt, _, rest = key.partition(f"{PART}/")
    return f"{attempt}/{rest}" if rest and "/" not in attempt else key


def call_of_step(step: Step) -> CallShown | None:
    """The call that the step is, or None where it is none."""
    if step.kind != CallTool.kind or not isinstance(step.request, dict):
        return None
    asked, said = step.request, step.result if isinstance(step.result, dict) else {}
    return CallShown(
        tool=str(asked.get("tool", "")),
        arguments=asked.get("arguments", {}),
        ok=said.get("ok"),
        result=str(said.get("content", "")),
        error=str(said.get("error", "")),
        failure=_failure(said.get("failure"), said.get("status")),
        is_shortened=bool(said.get("is_shortened")),
    )


def call_of_attempt(content: str) -> CallShown | None:
    """The call that an attempt of the tool loop holds; None where it is no such thing, as an agent may hand in."""
    try:
        told = json.loads(content) if len(content) <= LONGEST_READ else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not isinstance(told.get("tool"), str) or "arguments" not in told:
        return None
    return CallShown(
        tool=told["tool"],
        arguments=told["arguments"],
        ok=True if "result" in told else False if "error" in told else None,
        result=str(told.get("result", told.get("said", ""))),
        error=str(told.get("error", "")),
        failure=_failure(told.get("failure"), None),
        is_shortened=bool(told.get("is_shortened")),
    )


def is_tool_run(spec: dict[str, Any]) -> bool:
    """Whether a run's attempts are calls of tools."""
    is_external_loop = spec.get("mode") == "external_loop"
    return is_external_loop and bool(spec.get("tools")) and not (spec.get("tests") or spec.get("output_schema"))


def _failure(name: Any, status: Any) -> str:
    words = str(name or "").replace("_", " ")
    return f"{words} {status}" if status else words
