"""A step as the timeline and its own page show it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from reflection_app.loops.code_tests import TestReport
from reflection_app.loops.effects import AskReviewer, Draw, Generate, RecordVerdict, RequestAudit, RunTests
from reflection_app.loops.verdicts import Referee, Verdict
from reflection_app.repairs.views.failure_view import FailureShown
from reflection_app.runs.models.run import Step, StepState
from reflection_app.runs.views.agent_view import AGENT_STEPS, turns_words
from reflection_app.runs.views.choice_view import CHOICES, CHOOSING_ROLES
from reflection_app.runs.views.protocol_lines import QUIET_PROTOCOL_KINDS, protocol_what, repair_place
from reflection_app.runs.views.tool_view import QUIET_TOOL_KINDS, CallShown, call_of_step, place_of, what_of

QUIET_KINDS = frozenset({RecordVerdict.kind, Draw.kind, RequestAudit.kind})


@dataclass(frozen=True)
class StepLine:
    """One step of the timeline. `failure` is the diagnosis of the failed call that it is."""

    step: Step
    failure: FailureShown | None = None

    @property
    def place(self) -> str:
        return f"step-{self.step.seq}"

    @property
    def error_place(self) -> str:
        return f"{self.place}-error"

    @property
    def is_quiet(self) -> bool:
        """Bookkeeping that takes no time."""
        return self.step.kind in QUIET_KINDS | QUIET_TOOL_KINDS | QUIET_PROTOCOL_KINDS | CHOICES.keys()

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

    @property
    def what(self) -> str:
        """`answer`, `critique`, `generate`, `tests`, `review`, `verdict`, `draw`, `audit`: what the templates name.

        Steps of tools and plans, and of the six steps, have words of their own (tool_view, protocol_lines).
        """
        if named := what_of(self.step) or protocol_what(self.step):
            return named
        if self.step.kind == Generate.kind:
            roles = {"actor": "answer", "escalation": "answer", "critic": "critique", "reflector": "reflect"}
            return (roles | CHOOSING_ROLES).get(self.step.role, "generate")
        names = {RunTests.kind: "tests", AskReviewer.kind: "review", RecordVerdict.kind: "verdict", Draw.kind: "draw"}
        return (names | AGENT_STEPS | CHOICES).get(self.step.kind, "audit")

    @property
    def turns_words(self) -> str:
        """Which turns of a session were taken, or are waited for."""
        return turns_words(self.step)

    @property
    def messages(self) -> list[dict[str, Any]]:
        found = self.step.request.get("messages") if isinstance(self.step.request, dict) else None
        return found if isinstance(found, list) else []

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
        return bool(protocol_what(self.step)) and not what_of(self.step)

    @property
    def repair_place(self) -> str:
        return repair_place(self.step)

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
