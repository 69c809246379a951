"""Driving the reflection protocol: a world that answers each role in turn, and readers of what was recorded."""

import json
from collections.abc import Iterator
from typing import Any

from reflection_app.loops.attempt_effects import (
    AnswerFault,
    AskPerson,
    AskReviewer,
    AwaitAttempt,
    CallTool,
    Generate,
    Generation,
)
from reflection_app.loops.effect import EffectFailed, Performed
from reflection_app.loops.effects import (
    AnyEffect,
    FindSimilarIssues,
    IssueTicket,
    ProposeEntry,
    RecordReport,
    RecordStage,
)
from reflection_app.loops.protocol.error_classes import SimilarIssue, SimilarIssues
from reflection_app.loops.protocol.reports import Proposal, Report
from reflection_app.loops.protocol.stages import Executed, Planned
from reflection_app.loops.questions import Choice, PersonsAnswer
from reflection_app.loops.requirements import CountRequirement, Requirements
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec
from reflection_app.loops.tickets import TicketDraft
from reflection_app.loops.verdicts import IssueCategory
from tests.loops.playing import NO_AUDIT, Played, noted, said
from tests.runs.critiques import critique

PAPERS = Requirements(counts=(CountRequirement(path="papers", min=5),))
REFLECTION: dict[str, Any] = {
    "expected": "five papers",
    "actual": "three papers",
    "gap": "two papers",
    "questions": ["Which terms were searched?"],
    "surface_issue": "Only three papers were collected.",
    "occurrence_process": ["1. The terms were narrow.", "2. It stopped early."],
    "root_cause": "The search was too careful.",
}
STEP = {"action": "Widen the terms", "kind": "model", "expected_outcome": "More papers"}
PLAN: dict[str, Any] = {
    "repair_steps": [STEP],
    "resources_needed": ["time"],
    "estimated_effort": "low",
    "remediation": "Count before stopping.",
    "learning_notes": "Set a number first.",
    "anti_pattern": {"pattern_name": "Stopping early", "symptoms": ["narrow terms"], "prevention": "Count."},
    "instruction": "Collect at least five papers before you stop.",
    "hint": "Begin with broad terms.",
}


def papers(count: int) -> str:
    return json.dumps({"papers": [{"title": f"p{number}"} for number in range(count)]})


def protocol_spec(**fields: Any) -> TaskSpec:
    limits = Limits(**({"token_budget": 1_000_000, "time_budget_s": 3_600} | fields.pop("limits", {})))
    return TaskSpec(
        **(
            {
                "objective": "Collect papers on agents.",
                "mode": Mode.REFLECTION_PROTOCOL,
                "agent": "academic-researcher",
                "limits": limits,
                "review_policy": NO_AUDIT,
            }
            | fields
        )
    )


def missing(score: float = 40, **more: Any) -> str:
    """A critic that misses something essential: the task is not completed."""
    issue = {"category": "completeness", "severity": "high", "description": "two papers are missing"}
    return critique(score, issues=[issue], **more)


def passing() -> str:
    return critique(90, approved=True)


def cut(text: str) -> Performed[Generation]:
    return Performed(value=Generation(text=text, model="m", finish_reason="length", fault=AnswerFault.CUT_OFF))


def cut_as_once_kept(text: str) -> Performed[Generation]:
    """As in journals that do not tell that it is no whole answer."""
    return Performed(value=Generation(text=text, model="m", finish_reason="length"))


OUTSIDE: dict[type, str] = {CallTool: "tool", AskPerson: "person", AskReviewer: "reviewer", AwaitAttempt: "agent"}


class Desk:
    """Answers by role, each in turn, the last for ever; tools, people and agents likewise.

    The reflector is told from the planner by the end of the key.
    """

    def __init__(self, *, alike: bool = False, **answers: Any) -> None:
        given = {"actor": ["draft"], "reflect": [json.dumps(REFLECTION)], "plan": [json.dumps(PLAN)]} | answers
        self.left = {name: self._in_turn(listed) for name, listed in given.items()}
        self.alike = alike

    @staticmethod
    def _in_turn(listed: Any) -> Iterator[Any]:
        items = listed if isinstance(listed, list) else [listed]
        yield from items
        while True:
            yield items[-1]

    def __call__(self, effect: AnyEffect) -> Any:
        match effect:
            case Generate(role=role, key=key):
                answer = next(self.left[self._part(key) if role == "reflector" else role])
                return said(answer) if isinstance(answer, str) else answer
            case CallTool() | AskPerson() | AskReviewer() | AwaitAttempt():
                return next(self.left[OUTSIDE[type(effect)]])
            case FindSimilarIssues(issues=issues) if self.alike and issues:
                return SimilarIssues(looked_at=3, found=(_alike(issues[0].description),))
        return noted(effect)

    @staticmethod
    def _part(key: str) -> str:
        return "plan" if "/plan" in key else "reflect"


def _alike(now: str) -> SimilarIssue:
    return SimilarIssue(
        reflection_id="ref_old",
        category=IssueCategory.COMPLETENESS,
        description="three papers too few",
        now=now,
        similarity=0.8,
    )


def answered(text: str) -> PersonsAnswer:
    return PersonsAnswer(choice=Choice.ANSWER, text=text, by="ann")


SKIPPED = PersonsAnswer(choice=Choice.SKIP)
FAILED = EffectFailed("the provider refused the call")


def stages(played: Played) -> list[str]:
    """The steps of the protocol in the order in which they were recorded."""
    return [effect.record.output.step for effect in played.of(RecordStage)]


def outputs[O](played: Played, kind: type[O]) -> list[O]:
    recorded = [effect.record.output for effect in played.of(RecordStage)]
    return [output for output in recorded if isinstance(output, kind)]


def plan_of(played: Played) -> Planned:
    return outputs(played, Planned)[0]


def repairs_of(played: Played) -> list[Executed]:
    return outputs(played, Executed)


def tickets_of(played: Played) -> list[TicketDraft]:
    return [effect.draft for effect in played.of(IssueTicket)]


def reports_of(played: Played) -> list[Report]:
    return [effect.report for effect in played.of(RecordReport)]


def proposed_by(played: Played) -> list[Proposal]:
    return [effect.proposal for effect in played.of(ProposeEntry)]


def asked_in(played: Played, key: str) -> str:
    """All that a model or an agent was told in the step `key`."""
    found = next(e for e in played.effects if isinstance(e, Generate | AwaitAttempt) and e.key == key)
    return "\n".join(message.content for message in found.messages)


def role_of(played: Played, key: str) -> str:
    return next(effect.role for effect in played.of(Generate) if effect.key == key)
