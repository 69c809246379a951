"""The context graph of a run: what led to what, derived from its recorded steps and from nothing else.

Nodes are what happened (an attempt, a check, a reflection, a call of a tool, a person's decision); edges say how one
thing came of another. Bookkeeping has no node of its own: a verdict belongs to the check that it was told from, and an
answer that was asked for again to the question. Steps of kinds that are not known here are nodes all the same.
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
# Asked again, or asked to go on: both belong to the question that they follow.
REASK = re.compile(r"/(?:again|more)-\d+$")
PASSED = "PASS"
# What these tell is told by the steps around them.
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
    """The graph of a run's `steps`, in their order. `parting_step` is where a fork left its parent."""
    weaver = _Weaver(best_attempt=best_attempt, parting_step=parting_step)
    for step in steps:
        weaver.add(step)
    if outcome:
        weaver.end(outcome, error=error)
    return weaver.graph()


@dataclass
class _Knot:
    """A node while its steps are still being read: the step that it began with, and those that belong to it."""

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
        """That of the last step that took time: an answer asked for again counts as it ended."""
        return self.parts[-1].state if self.parts else "done"

    @property
    def failed(self) -> bool:
        """Whether what it stands for went wrong: it broke, it was refused, or it was judged not good enough."""
        if self.state == "failed" or self.kind is NodeKind.TOOL_FAILURE:
            return True
        if self.verdict:
            return self.verdict != PASSED
        if self.kind is NodeKind.ATTEMPT and self.parts[-1].fault:
            return True
        return bool(self.step and self.step.tests_failed) or any(part.plan_issues for part in self.parts)

    @property
    def began_an_answer(self) -> bool:
        """Whether it is an attempt that came in several parts, or none; what is kept of it comes after."""
        return self.kind is NodeKind.ATTEMPT and any(part.fault for part in self.parts)

    @property
    def is_open(self) -> bool:
        return self.state in {"started", "waiting"}

    @property
    def makes_attempt(self) -> bool:
        return self.kind is NodeKind.ATTEMPT or any(part.kind == "keep_attempt" for part in self.parts)

    @property
    def passed(self) -> bool:
        """Whether it is a check that found nothing wrong."""
        if self.failed or self.is_open or self.kind not in CHECKS:
            return False
        return bool(self.verdict or self.kind is NodeKind.TOOL_CALL or (self.step and self.step.tests_total))

    def error(self) -> str:
        """What went wrong, in a few words."""
        return what_failed(self.parts, verdict=self.verdict, score=self.score)


class _Weaver:
    """Reads steps in order and knows, at each, what they can have come from."""

    def __init__(self, *, best_attempt: int | None, parting_step: int | None) -> None:
        self._best, self._parting = best_attempt, parting_step
        self._knots: list[_Knot] = [_Knot(id=TASK, kind=NodeKind.TASK, label="Task")]
        self._by_key: dict[str, _Knot] = {}
        self._edges: list[tuple[_Knot, _Knot, EdgeKind]] = []
        self._last = self._knots[0]
        self._attempt = 0
        # The check that an attempt or a call failed by, until one after it has passed.
        self._failure: _Knot | None = None
        # Whether a ticket was issued since the last attempt: the next one was rewound to.
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
        if kind is NodeKind.VALIDATION:  # a check comes of its attempt, everything else of what was before it
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
        # An audit is looked at some other time: nothing follows from it.
        if step.kind != "request_audit":
            self._last = knot

    def _known(self, step: RecordedStep) -> _Knot | None:
        """The node that the step belongs to, where it is none of its own."""
        asked_more = REASK.search(step.key)
        if asked_more and step.key[: asked_more.start()] in self._by_key:
            return self._by_key[step.key[: asked_more.start()]]
        newest = reversed([knot for knot in self._knots if knot.attempt == step.attempt])
        match step.kind:
            case "record_verdict":
                # A call of a tool is judged where it is the attempt; in a plan it is one of many.
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
            # The step may have no node of its own; then the next one is where the two runs part.
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
            # The word is chosen now that all is known: what a check found of what came before it.
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
        """From each check that failed to the attempt, or the call, that first passed after it."""
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
    """Whether `check` can have made good what failed: a later attempt, or the same tool called again."""
    if failure.attempt is not None and check.attempt is not None and failure.attempt < check.attempt:
        return True
    tools = [knot.step.tool for knot in (failure, check) if knot.step]
    return failure.kind in CALLS and check.kind in CALLS and len(set(tools)) == 1
