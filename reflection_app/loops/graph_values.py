"""What goes into a run's context graph and what it is made of."""

from enum import StrEnum

from reflection_app.loops.values import Value


class RecordedStep(Value):
    """One step of a journal, with the few facts of its request and its result that the graph tells of.

    `verdict` is the one that a verdict's step records or that a person decided; of the tests that a step ran there were
    `tests_total`, of the minimum requirements that a verdict looked at `requirements_total`. `fault` is why what a
    model sent, or what was kept of it, is no whole answer. Facts that a step has nothing of are empty, and so are those
    that could not be read.
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
    """How one thing came of another. `led_to` where nothing more can be said than that it came next."""

    VALIDATED = "validated"
    FAILED = "failed"
    REFLECTED = "reflected"
    REWOUND = "rewound"
    FIXED = "fixed"
    LED_TO = "led_to"


class Node(Value):
    """One thing that happened. `state` is that of its step; `verdict` is what a check said of the attempt.

    `is_inherited`: copied from the run that this one was forked from; `is_parting`: the first that was not.
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
    """From one node to another. `error` says of a failure what it was, in a few words."""

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
