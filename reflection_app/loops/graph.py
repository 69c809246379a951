"""Context graph of a run: causes and effects, derived from its recorded steps alone.

Nodes are events: an attempt, a check, a reflection, a tool call, a reviewer's decision. Edges say how one event
followed from another. Bookkeeping has no node: a verdict belongs to its check, and a repeated request to the first one.
Steps of unknown kinds are nodes too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reflection_app.loops.graph_words import (
    FAULTS,
    Edge,
    EdgeKind,
    Graph,
    Node,
    NodeKind,
    RecordedStep,
    described,
    end_words,
    shortened,
    what_failed,
)
from reflection_app.loops.texts import word_set

TASK, OUTCOME = "task", "outcome"
# Repeated requests and continuations belong to the request they follow.
REASK = re.compile(r"/(?:again|more)-\d+$")
PASSED = "PASS"
# Steps without a node: the steps around them carry the same information.
QUIET = word_set(
    "draw record_pick record_plan_step record_reflection find_similar_issues record_report propose_entry "
    "propose_instruction wait recall_fix record_tool_failure record_fix_outcome record_supplements "
    "compare_supplements estimate_supplements draw_check"
)
CHECKS = frozenset({NodeKind.VALIDATION, NodeKind.TOOL_CALL, NodeKind.TOOL_FAILURE})
CALLS = frozenset({NodeKind.TOOL_CALL, NodeKind.TOOL_FAILURE})


def graph_of(
    steps: Sequence[RecordedStep],
    *,
    outcome: str = "",
    error: str = "",
    best_attempt: int | None = None,
    parting_step: int | None = None,
) -> Graph:
    """Return the graph of a run's `steps`, given in order. `parting_step` is where a fork left its parent."""
    weaver = _Weaver(best_attempt=best_attempt, parting_step=parting_step)
    for step in steps:
        weaver.add(step)
    if outcome:
        weaver.end(outcome, error=error)
    return weaver.graph()


@dataclass
class _Knot:
    """A node under construction: the step it began with, and all steps that belong to it."""

    id: str
    kind: NodeKind
    step: RecordedStep | None = None
    parts: list[RecordedStep] = field(default_factory=list)
    label: str = ""
    detail: str = ""
    verdict: str = ""
    score: float | None = None

    @property
    def attempt(self) -> int | None:
        return self.step.attempt if self.step else None

    @property
    def state(self) -> str:
        """State of the last step: a repeated request counts with its final state."""
        return self.parts[-1].state if self.parts else "done"

    @property
    def failed(self) -> bool:
        """True if the event went wrong: an error, a refusal, or a negative verdict."""
        if self.state == "failed" or self.kind is NodeKind.TOOL_FAILURE:
            return True
        if self.verdict:
            return self.verdict != PASSED
        if self.kind is NodeKind.ATTEMPT and self.parts[-1].fault:
            return True
        return bool(self.step and self.step.tests_failed) or any(part.plan_issues for part in self.parts)

    @property
    def began_an_answer(self) -> bool:
        """True if it is an attempt made in several parts or without a complete answer. Its text is stored later."""
        return self.kind is NodeKind.ATTEMPT and any(part.fault for part in self.parts)

    @property
    def is_open(self) -> bool:
        return self.state in {"started", "waiting"}

    @property
    def makes_attempt(self) -> bool:
        return self.kind is NodeKind.ATTEMPT or any(part.kind == "keep_attempt" for part in self.parts)

    @property
    def passed(self) -> bool:
        """True if it is a check that found nothing wrong."""
        if self.failed or self.is_open or self.kind not in CHECKS:
            return False
        return bool(self.verdict or self.kind is NodeKind.TOOL_CALL or (self.step and self.step.tests_total))

    def error(self) -> str:
        """Return a short description of what went wrong."""
        return what_failed(self.parts, verdict=self.verdict, score=self.score)


class _Weaver:
    """Builds the graph from steps in order, tracking the events that each step may follow from."""

    def __init__(self, *, best_attempt: int | None, parting_step: int | None) -> None:
        self._best, self._parting = best_attempt, parting_step
        self._knots: list[_Knot] = [_Knot(id=TASK, kind=NodeKind.TASK, label="Task")]
        self._by_key: dict[str, _Knot] = {}
        self._edges: list[tuple[_Knot, _Knot, EdgeKind]] = []
        self._last = self._knots[0]
        self._attempt = 0
        # The last failed check, until a later one passes.
        self._failure: _Knot | None = None
        # True if a ticket was issued since the last attempt; the next attempt is then a rewind.
        self._is_sent_back = False

    def add(self, step: RecordedStep) -> None:
        if step.kind == "issue_ticket":
            self._is_sent_back = True
        if step.kind in {*QUIET, "issue_ticket"} or (step.kind == "record_stage" and not step.error_class):
            return
        known = self._known(step)
        if known is not None:
            known.parts.append(step)
            if step.kind == "record_verdict":
                known.verdict, known.score = step.verdict, step.score
            known.detail = step.completeness or known.detail
            if known.kind is NodeKind.ATTEMPT:
                known.detail = FAULTS.get(step.fault, "")
            return
        kind, label, detail = described(step)
        knot = _Knot(f"step-{step.seq}", kind, step, [step], label, detail)
        if step.kind == "record_verdict":
            knot.verdict, knot.score = step.verdict, step.score
        self._by_key[step.key] = knot
        self._note_failure()
        before = self._last
        if kind is NodeKind.VALIDATION:  # a check follows from its attempt, everything else from the event before it
            own = (k for k in reversed(self._knots) if k.kind is NodeKind.ATTEMPT and k.attempt == knot.attempt)
            before = next(own, before)
        self._knots.append(knot)
        begins_another = knot.attempt is not None and knot.attempt > self._attempt > 0
        is_revised = before.kind is NodeKind.REVIEW and before.step is not None and before.step.verdict == "REVISE"
        edge = EdgeKind.LED_TO
        if kind is NodeKind.REFLECTION:
            edge = EdgeKind.REFLECTED
        elif begins_another and (self._failure is not None or self._is_sent_back or is_revised):
            self._is_sent_back = False
            edge = EdgeKind.REWOUND
        elif kind is NodeKind.PLAN and before.kind is NodeKind.PLAN:
            edge = EdgeKind.REWOUND
        self._edges.append((before, knot, edge))
        self._attempt = max(self._attempt, knot.attempt or 0)
        # An audit is reviewed at another time, so nothing follows from it.
        if step.kind != "request_audit":
            self._last = knot

    def _known(self, step: RecordedStep) -> _Knot | None:
        """Return the existing node that the step belongs to, or None if it gets its own."""
        asked_more = REASK.search(step.key)
        if asked_more and step.key[: asked_more.start()] in self._by_key:
            return self._by_key[step.key[: asked_more.start()]]
        newest = reversed([knot for knot in self._knots if knot.attempt == step.attempt])
        match step.kind:
            case "record_verdict":
                # A tool call is judged only if it is the attempt; in a plan it is one of many.
                judged = {NodeKind.VALIDATION, *CALLS} if step.key.endswith("/verdict") else {NodeKind.VALIDATION}
                check = next((knot for knot in newest if knot.kind in judged), None)
                return check if check and not check.verdict else None
            case "record_completeness" | "record_second_look":
                return next((knot for knot in newest if knot.step and knot.step.role == "completeness"), None)
            case "record_plan":
                return next((knot for knot in newest if knot.kind is NodeKind.PLAN), None)
            case "keep_attempt":
                return next((knot for knot in newest if knot.kind in CALLS or knot.began_an_answer), None)
        return None

    def _note_failure(self) -> None:
        if self._last.kind in CHECKS and (self._last.failed or self._last.passed):
            self._failure = self._last if self._last.failed else None

    def end(self, outcome: str, *, error: str) -> None:
        self._note_failure()
        knot = _Knot(OUTCOME, NodeKind.OUTCOME, label=end_words(outcome), detail=shortened(error), verdict=outcome)
        self._knots.append(knot)
        self._edges.append((self._last, knot, EdgeKind.LED_TO))

    def graph(self) -> Graph:
        nodes = []
        parting = self._parting
        for knot in self._knots:
            # If that step has no node of its own, the runs part at the next node.
            parts_here = parting is not None and any(part.seq >= parting for part in knot.parts)
            if parts_here:
                parting = None
            nodes.append(
                Node(
                    id=knot.id,
                    kind=knot.kind,
                    label=knot.label,
                    detail=knot.detail,
                    state=knot.state,
                    step=knot.step.seq if knot.step else None,
                    attempt=knot.attempt,
                    verdict=knot.verdict,
                    score=knot.score,
                    failed=knot.failed and knot.kind is not NodeKind.OUTCOME,
                    is_best=knot.makes_attempt and knot.attempt == self._best,
                    is_inherited=bool(knot.parts) and all(part.is_inherited for part in knot.parts),
                    is_edited=any(part.is_edited for part in knot.parts),
                    is_parting=parts_here,
                )
            )
        edges = []
        for before, knot, led in self._edges:
            # The edge kind is final only now that the results of all checks are known.
            kind, error = led, ""
            if led is EdgeKind.LED_TO and knot.kind in CHECKS:
                if knot.failed:
                    kind, error = EdgeKind.FAILED, knot.error()
                elif knot.passed and (before.kind is NodeKind.ATTEMPT or knot.kind is NodeKind.VALIDATION):
                    kind = EdgeKind.VALIDATED
            elif led is EdgeKind.LED_TO and before.state == "failed":
                kind, error = EdgeKind.FAILED, before.error()
            edges.append(Edge(source=before.id, target=knot.id, kind=kind, error=error))
        return Graph(nodes=tuple(nodes), edges=(*edges, *self._fixes()))

    def _fixes(self) -> list[Edge]:
        """Return an edge from each failed check to the attempt, or call, that first passed after it."""
        fixes: list[Edge] = []
        failure: _Knot | None = None
        for knot in self._knots:
            if knot.kind not in CHECKS or knot.is_open:
                continue
            if knot.failed:
                failure = knot
            elif failure is not None and knot.passed and _is_another_go(failure, knot):
                fixed = knot
                if failure.attempt != knot.attempt:
                    own = (k for k in self._knots if k.kind is NodeKind.ATTEMPT and k.attempt == knot.attempt)
                    fixed = next(own, knot)
                fixes.append(Edge(source=failure.id, target=fixed.id, kind=EdgeKind.FIXED))
                failure = None
        return fixes


def _is_another_go(failure: _Knot, check: _Knot) -> bool:
    """Return True if `check` can have fixed the failure: a later attempt, or the same tool called again."""
    if failure.attempt is not None and check.attempt is not None and failure.attempt < check.attempt:
        return True
    tools = [knot.step.tool for knot in (failure, check) if knot.step]
    return failure.kind in CALLS and check.kind in CALLS and len(set(tools)) == 1
