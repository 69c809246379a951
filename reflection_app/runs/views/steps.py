"""Steps, tool calls and choices as the timeline and their own page show them."""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from desk_sandbox.code_tests import TestReport
from reflection_app.core.registry import STEP_ICONS, STEP_STATES
from reflection_app.loops.attempt_effects import CallTool, Generate, RecordVerdict, RunTests
from reflection_app.loops.completeness.supplementing import PART
from reflection_app.loops.verdicts import Referee, Verdict
from reflection_app.repairs.models import ToolFailure
from reflection_app.runs.models import Attempt, Step, StepState

# What a step of each kind is, by the names that templates and STEP_ICONS know.

# Tickets, the six steps, questions, diagnoses and completeness checks.
PROTOCOL_NAMES = {
    "issue_ticket": "ticket",
    "record_stage": "stage",
    "find_similar_issues": "similar",
    "record_report": "report",
    "propose_entry": "proposal",
    "propose_instruction": "instruction",
    "ask_person": "question",
    "record_permission": "permission",
    "wait": "wait",
    "recall_fix": "known_fix",
    "recall_lessons": "lessons",
    "record_tool_failure": "diagnosis",
    "record_fix_outcome": "fix_outcome",
    "inspect_files": "files",
    "compare_supplements": "likeness",
    "render_pages": "render_pages",
    "estimate_supplements": "estimates",
    "draw_check": "check_lots",
    "record_completeness": "completeness",
    "record_supplements": "supplements",
    "record_second_look": "second_look",
}
NAMES = PROTOCOL_NAMES | {
    "call_tool": "call",
    "keep_attempt": "kept",
    "record_plan": "plan",
    "record_plan_step": "outcome",
    "run_tests": "tests",
    "ask_reviewer": "review",
    "record_verdict": "verdict",
    "draw": "draw",
    "request_audit": "audit",
    "await_attempt": "handed_in",
    "await_turns": "turns",
    "record_reflection": "reflection",
    "record_pick": "pick",
    "choose_loop": "route",
}
# Of calls of models.
PROTOCOL_ROLES = {"diagnoser": "diagnose", "completeness": "check_completeness", "vision": "look"}
PROTOCOL_PARTS = {"plan": "plan_repairs", "work": "repair", "resume": "resume", "asked-for": "asked_for"}
ROLES = {
    "actor": "answer",
    "escalation": "answer",
    "critic": "critique",
    "reflector": "reflect",
    "tester": "write_tests",
    "classifier": "classify",
}
OF_PROTOCOL = {*PROTOCOL_NAMES.values(), *PROTOCOL_ROLES.values(), *PROTOCOL_PARTS.values(), "look_again"}
# Who is asked within a plan's step without doing it.
ASKED_BESIDE = frozenset({"diagnoser", "classifier"})
# Bookkeeping: it takes no time, and what it tells is shown elsewhere on the page.
QUIET = frozenset(
    {"verdict", "draw", "audit", "kept", "plan", "outcome", "pick", "route", *PROTOCOL_NAMES.values()}
) - {
    "ticket",
    "question",
    "completeness",
    "files",
}


def what_of(step: Step) -> str:
    """Return what the step is, by its name in templates."""
    if step.kind != Generate.kind:
        return NAMES.get(step.kind, "")
    before, part = ["", *step.key.split("/again-")[0].split("/")][-2:]
    if step.role == "planner":
        return "revising" if part.startswith("revise") else "planning"
    if part.startswith("arguments"):
        return "arguments"
    if "/step-" in step.key and step.role not in ASKED_BESIDE:
        return "working"
    if step.role in PROTOCOL_ROLES:
        return "look_again" if "/second-look/" in step.key else PROTOCOL_ROLES[step.role]
    is_protocols = step.role == "reflector" or before.startswith("repair-") or part == "asked-for"
    if is_protocols and part in PROTOCOL_PARTS:
        return PROTOCOL_PARTS[part]
    return ROLES.get(step.role, "generate")


# What an outside agent brings to a run, as the run's page shows it. All of it is a stranger's text.


@dataclass(frozen=True)
class ArtifactLine:
    """Something handed in beside an attempt. `link` is only ever an https address."""

    name: str
    media_type: str
    content: str
    uri: str

    @property
    def link(self) -> str:
        try:
            parts = urlsplit(self.uri)
        except ValueError:
            return ""
        return self.uri if parts.scheme == "https" and parts.hostname else ""

    @property
    def size(self) -> int:
        return len(self.content.encode(errors="surrogatepass"))


def artifacts_of(attempt: Attempt) -> list[ArtifactLine]:
    found: list[Any] = attempt.artifacts if isinstance(attempt.artifacts, list) else []
    return [
        ArtifactLine(*(str(one.get(name) or "") for name in ("name", "media_type", "content", "uri")))
        for one in found
        if isinstance(one, dict)
    ]


def self_check_of(attempt: Attempt) -> list[tuple[str, Any]]:
    """What the agent said of its own attempt, without the answer to whether it is content, which stands apart."""
    check = attempt.self_check if isinstance(attempt.self_check, dict) else {}
    return [(name.replace("_", " "), value) for name, value in check.items() if name != "is_satisfactory"]


# Calls of tools as pages show them: which tool, with what, and what it said. Read from steps and from attempts.

LONGEST_READ = 1_000_000


@dataclass(frozen=True)
class CallShown:
    """One call. `ok` is None while nothing came back; `diagnosis` says why it failed, `ground` why it was allowed."""

    tool: str
    arguments: Any
    ok: bool | None = None
    result: str = ""
    error: str = ""
    failure: str = ""
    is_shortened: bool = False
    diagnosis: ToolFailure | None = None
    ground: str = ""


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
        ground=str(asked.get("ground") or ""),
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


@dataclass(frozen=True)
class StepLine:
    """One step of the timeline. `failure` is the diagnosis of the failed call that it is."""

    step: Step
    failure: ToolFailure | None = None

    @property
    def place(self) -> str:
        return f"step-{self.step.seq}"

    @property
    def is_quiet(self) -> bool:
        """Bookkeeping that takes no time."""
        return self.what in QUIET

    @property
    def is_reask(self) -> bool:
        return "/again-" in self.step.key

    @property
    def goes_on(self) -> bool:
        """Whether it asked for the rest of an answer that was cut off."""
        return "/more-" in self.step.key

    @property
    def _sent(self) -> dict[str, Any]:
        sent = self.step.result if self.step.kind == Generate.kind else None
        return sent if isinstance(sent, dict) else {}

    @property
    def fault(self) -> str:
        """Why what the model sent is no whole answer."""
        return str(self._sent.get("fault") or "")

    @property
    def refusal(self) -> str:
        return str(self._sent.get("refusal") or "")

    @property
    def called(self) -> str:
        """The tools that it called in place of answering."""
        return ", ".join(str(name) for name in self._sent.get("tool_calls") or ())

    @cached_property
    def what(self) -> str:
        """The name that templates know it by."""
        return what_of(self.step)

    @property
    def icon(self) -> str:
        """Of a step that goes on or broke off, how it stands; else what it is."""
        if self.step.state in {StepState.STARTED, StepState.FAILED, StepState.ABANDONED}:
            return STEP_STATES[self.step.state].icon
        return STEP_ICONS.get(self.what, "chat")

    @property
    def turns_words(self) -> str:
        """Which turns of a session were taken, `turns 6 to 10`, or for which is waited."""
        result = self.step.result if isinstance(self.step.result, dict) else {}
        seqs = [turn["seq"] for turn in result.get("turns", ())]
        if len(seqs) > 1:
            return _("turns %(first)s to %(last)s") % {"first": seqs[0], "last": seqs[-1]}
        if not seqs and result.get("is_end"):
            return _("end")
        number = seqs[0] if seqs else self.step.request["after"] + self.step.request["count"]
        return _("turn %(number)s") % {"number": number}

    @property
    def messages(self) -> list[dict[str, Any]]:
        found = self.step.request.get("messages") if isinstance(self.step.request, dict) else None
        return found if isinstance(found, list) else []

    @property
    def pictures_shown(self) -> int:
        """How many pictures went along with what was asked."""
        return sum(len(message.get("pictures", ())) for message in self.messages)

    @property
    def text(self) -> str:
        """What the model said."""
        result = self.step.result
        return str(result.get("text", "")) if isinstance(result, dict) else ""

    @property
    def judgement(self) -> dict[str, Any]:
        """The verdict that was recorded, which in a fork may be a person's in place of the one that was asked for."""
        if self.step.kind == RecordVerdict.kind and isinstance(self.step.result, dict):
            return self.step.result
        found = self.step.request.get("judgement") if isinstance(self.step.request, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def referee(self) -> str:
        """Who gave the verdict; nothing where none of ours did."""
        given, told = self.judgement.get("referee"), self.judgement
        if given == Referee.TESTS and told.get("requirements") and not told.get("tests"):
            return "requirements"
        return next((referee.label for referee in Referee if referee == given), "")

    @property
    def is_void(self) -> bool:
        """Whether it keeps that all tests are broken, which is no verdict."""
        told = self.judgement
        is_unsure = told.get("referee") == Referee.TESTS and told.get("confidence") == 0
        return self.step.kind == RecordVerdict.kind and is_unsure and told.get("verdict") != Verdict.PASS

    @property
    def was_drawn(self) -> bool:
        result = self.step.result
        return isinstance(result, dict) and result["value"] < result["share"]

    @property
    def report(self) -> TestReport | None:
        is_report = self.step.kind == RunTests.kind and self.step.result
        return TestReport.model_validate(self.step.result) if is_report else None

    @cached_property
    def call(self) -> CallShown | None:
        """The call of a tool that this step is."""
        call = call_of_step(self.step)
        return replace(call, diagnosis=self.failure) if call else None

    @property
    def is_of_protocol(self) -> bool:
        """Whether its words are those of the six steps, of questions or of diagnoses."""
        return self.what in OF_PROTOCOL

    @property
    def repair_place(self) -> str:
        """Which repair step it belongs to, as a number counted from 1; empty for none."""
        parts = self.step.key.split("/")
        return next((part.removeprefix("repair-") for part in parts if part.startswith("repair-")), "")

    @property
    def record(self) -> Any:
        """What a step that only keeps something has kept."""
        return self.step.result if self.step.kind not in {Generate.kind, RunTests.kind} and not self.call else None

    @property
    def plan_place(self) -> str:
        return place_of(self.step)

    @property
    def plan_issues(self) -> int:
        """How many faults a checked plan has."""
        result = self.step.result
        return len(result.get("issues", ())) if isinstance(result, dict) else 0

    @property
    def is_running(self) -> bool:
        return self.step.state == StepState.STARTED
