"""Labels of a run graph's nodes, derived from the kind and key of their steps."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Outcome, Referee

# Input of a run's context graph, and its parts


class RecordedStep(Value):
    """One step of a journal, with the facts of its request and result that the graph shows.

    `verdict` is the one that a verdict step records, or a reviewer's decision. `tests_total` counts the tests that a
    step ran, `requirements_total` the minimum requirements that a verdict checked. `fault` is why an answer, or the
    stored part of it, is not complete. Facts that do not apply, or could not be read, are empty.
    """

    seq: int
    key: str
    kind: str
    state: str = "done"
    role: str = ""
    attempt: int | None = None
    error: str = ""
    timed_out: bool = False
    is_inherited: bool = False
    is_edited: bool = False
    verdict: str = ""
    score: float | None = None
    referee: int | None = None
    decision: str = ""
    reviewer: str = ""
    tests_total: int = 0
    tests_failed: int = 0
    tests_broken: int = 0
    requirements_total: int = 0
    requirements_unmet: int = 0
    tool: str = ""
    tool_ok: bool | None = None
    tool_error: str = ""
    mode: str = ""
    plan_issues: int = 0
    error_class: str = ""
    completeness: str = ""
    choice: str = ""
    fault: str = ""


class NodeKind(StrEnum):
    TASK = "task"
    ATTEMPT = "attempt"
    VALIDATION = "validation"
    REFLECTION = "reflection"
    TOOL_CALL = "tool_call"
    TOOL_FAILURE = "tool_failure"
    REVIEW = "review"
    PLAN = "plan"
    ROUTE = "route"
    TURNS = "turns"
    STEP = "step"
    OUTCOME = "outcome"


class EdgeKind(StrEnum):
    """Relation between two nodes. `led_to`: only their order is known."""

    VALIDATED = "validated"
    FAILED = "failed"
    REFLECTED = "reflected"
    REWOUND = "rewound"
    FIXED = "fixed"
    LED_TO = "led_to"


class Node(Value):
    """One event. `state` is that of its step; `verdict` is the result of a check.

    `is_inherited`: copied from the run that this one was forked from. `is_parting`: the first node that was not.
    """

    id: str
    kind: NodeKind
    label: str
    detail: str = ""
    state: str = "done"
    step: int | None = None
    attempt: int | None = None
    verdict: str = ""
    score: float | None = None
    failed: bool = False
    is_best: bool = False
    is_inherited: bool = False
    is_edited: bool = False
    is_parting: bool = False


class Edge(Value):
    """A directed edge between nodes. `error` describes a failure in a few words."""

    source: str
    target: str
    kind: EdgeKind
    error: str = ""

    @property
    def label(self) -> str:
        return f"{self.kind.value}: {self.error}" if self.error else self.kind.value


class Graph(Value):
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


LONGEST = 80
REFEREES = {
    Referee.SELF: "Self-evaluation",
    Referee.CRITIC: "Critique",
    Referee.GENERATED_TESTS: "Generated tests",
    Referee.TOOL: "Check",
    Referee.TESTS: "Tests",
    Referee.PERSON: "Human verdict",
}
# Outcomes whose generic names are not clear enough.
OUTCOMES = {
    Outcome.EXHAUSTED: "Attempts exhausted",
    Outcome.TIMED_OUT: "Timed out",
    Outcome.OVER_CORRECTED: "Over-corrected",
}
# Purpose of a model call, by the last part of its key.
ASKED_FOR = {
    "critique": (NodeKind.VALIDATION, "Critique"),
    "self-evaluation": (NodeKind.VALIDATION, "Self-evaluation"),
    "reflection": (NodeKind.REFLECTION, "Reflection"),
    "make": (NodeKind.PLAN, "Plan"),
    "classify": (NodeKind.ROUTE, "Classification"),
    "tester": (NodeKind.STEP, "Tests written"),
    "repair-plan": (NodeKind.REFLECTION, "Repair plan"),
    "diagnosis": (NodeKind.REFLECTION, "Diagnosis"),
    "completeness": (NodeKind.STEP, "Completeness check"),
    "second-look": (NodeKind.STEP, "Re-check"),
    "resume": (NodeKind.STEP, "Resumed"),
}
FAULTS = {
    "empty": "no answer",
    "refused": "refused",
    "filtered": "filtered",
    "tool_call": "called a tool",
    "cut_off": "cut off",
}
CHOICES = {"answer": "answered", "try_again": "retried", "skip": "skipped", "give_up": "given up"}
ATTEMPT = re.compile(r"attempt-\d+/answer")
REPAIR = re.compile(r"/repair-(\d+)/work")
SECOND_LOOK = re.compile(r"/second-look/")
NUMBER_AT_END = re.compile(r"-\d+$")
SPACE = re.compile(r"\s+")

Words = tuple[NodeKind, str, str]


def described(step: RecordedStep) -> Words:
    """Return the node kind of a step, its label, and a short detail if there is one."""
    read = READERS.get(step.kind)
    return read(step) if read else (NodeKind.STEP, _named(step), "")


def what_failed(steps: Sequence[RecordedStep], *, verdict: str, score: float | None) -> str:
    """Return what went wrong in a failed check, from its steps; the last one that says something counts."""
    for step in reversed(steps):
        words = step.error or step.tool_error
        if not words and step.requirements_unmet:
            words = _requirements(step)
        elif not words and step.plan_issues:
            words = f"{step.plan_issues} issue{'s' * (step.plan_issues > 1)}"
        elif not words and step.tests_failed:
            words = _tests(step)
        if words:
            return shortened(words)
    return "rejected" if verdict == "REJECT" else f"score {score:g}" if score is not None else "not good enough"


def shortened(text: str) -> str:
    """Return `text` on one line, cut to the length of a label."""
    line = SPACE.sub(" ", text[: 4 * LONGEST]).strip()
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"


def end_words(outcome: str) -> str:
    """Return the label of a run's outcome."""
    known = next((words for name, words in OUTCOMES.items() if name == outcome), "")
    return known or outcome.replace("_", " ").capitalize()


def _attempt(step: RecordedStep) -> Words:
    handed_in = "submitted" if step.kind == "await_attempt" and step.state == "done" else ""
    edited = "edited" if step.kind == "keep_attempt" and step.key.endswith("/edited") else ""
    return NodeKind.ATTEMPT, f"Attempt {step.attempt or ''}".strip(), handed_in or edited or FAULTS.get(step.fault, "")


def _call(step: RecordedStep) -> Words:
    failed = step.tool_ok is False or step.state == "failed"
    return NodeKind.TOOL_FAILURE if failed else NodeKind.TOOL_CALL, shortened(step.tool) or "Tool", ""


def _generated(step: RecordedStep) -> Words:
    if ATTEMPT.fullmatch(step.key):
        return _attempt(step)
    last = step.key.rpartition("/")[2]
    match step.role:
        case "reflector":
            last = "repair-plan" if last == "plan" else "reflection"
        case "diagnoser":
            last = "diagnosis"
        case "tester" | "completeness":
            last = "second-look" if SECOND_LOOK.search(step.key) else step.role
    if repair := REPAIR.search(step.key):
        return NodeKind.STEP, f"Repair step {repair[1]}", ""
    if last.startswith("revise-"):
        return NodeKind.PLAN, "Plan, revised", ""
    kind, label = ASKED_FOR.get(last, (NodeKind.STEP, ""))
    return kind, label or _named(step), ""


def _named(step: RecordedStep) -> str:
    """Return a label for an unknown step: the last part of its key, else its role or kind."""
    last = NUMBER_AT_END.sub("", step.key.rpartition("/")[2])
    words = (last or step.role or step.kind).replace("-", " ").replace("_", " ")
    return shortened(words).capitalize() or "Step"


def _tests(step: RecordedStep) -> str:
    if not step.tests_total:
        return ""
    if step.tests_failed:
        counted = step.tests_total - step.tests_broken
        return f"{step.tests_failed} of {counted} test{'s' if counted > 1 else ''}"
    if step.tests_broken:
        return f"{step.tests_broken} of {step.tests_total} tests broken"
    return f"all {step.tests_total} passed" if step.tests_total > 1 else "1 passed"


def _requirements(step: RecordedStep) -> str:
    if not step.requirements_total:
        return ""
    if step.requirements_unmet:
        return f"{step.requirements_unmet} of {step.requirements_total} requirements"
    return f"all {step.requirements_total} requirements met"


def _referee(step: RecordedStep) -> str:
    if step.referee == Referee.TESTS and step.requirements_total:
        return "Minimum requirements"
    return next((words for referee, words in REFEREES.items() if referee == step.referee), "Verdict")


def _decision(step: RecordedStep) -> str:
    if not step.decision:
        return ""
    word = {"approve": "agreed", "overrule": "overruled"}.get(step.decision, step.decision)
    return shortened(f"{word}: {step.verdict.lower()}" if step.verdict else word)


READERS: dict[str, Callable[[RecordedStep], Words]] = {
    "generate": _generated,
    "keep_attempt": _attempt,
    "await_attempt": _attempt,
    "call_tool": _call,
    "run_tests": lambda step: (NodeKind.VALIDATION, "Tests", _tests(step)),
    "inspect_files": lambda _step: (NodeKind.VALIDATION, "Files", "opened"),
    "record_verdict": lambda step: (NodeKind.VALIDATION, _referee(step), _requirements(step)),
    "ask_reviewer": lambda step: (NodeKind.REVIEW, "Review", _decision(step)),
    "recall_lessons": lambda _step: (NodeKind.STEP, "Lessons", ""),
    "request_audit": lambda _step: (NodeKind.REVIEW, "Random check", ""),
    "await_turns": lambda _step: (NodeKind.TURNS, "Turns", ""),
    "record_plan": lambda _step: (NodeKind.PLAN, "Plan", ""),
    "record_stage": lambda step: (NodeKind.REFLECTION, "Classified", shortened(step.error_class)),
    "ask_person": lambda step: (NodeKind.REVIEW, "Question", CHOICES.get(step.choice, "")),
    "record_completeness": lambda step: (NodeKind.STEP, "Completeness", shortened(step.completeness)),
    "record_second_look": lambda step: (NodeKind.STEP, "Re-check", shortened(step.completeness)),
    "choose_loop": lambda step: (NodeKind.ROUTE, "Loop chosen", shortened(step.mode.replace("_", " "))),
}
