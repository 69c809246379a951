"""A run's context graph as its page draws it: an SVG made here, and the same as a list of sentences."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse
from django.utils.translation import gettext as _

from reflection_app.loops.graph_values import Edge, EdgeKind, Graph, Node, NodeKind
from reflection_app.runs.models.run import Run
from reflection_app.runs.recorded_steps import graph_of_run
from reflection_app.runs.views.graph_layout import (
    ARRIVAL,
    NODE_HEIGHT,
    NODE_WIDTH,
    Box,
    Layout,
    Line,
    detail_of,
    edge_words,
    lay_out,
)
from reflection_app.web.labels import in_words

# More than these nobody follows with their eyes; the newest are drawn.
MOST_DRAWN = 240
# In pixels. A taller drawing would push task and answer off the first screen: the reader opens it.
TALLEST_OPEN = 340
ICONS = {
    NodeKind.TASK: "inbox",
    NodeKind.ATTEMPT: "pen",
    NodeKind.VALIDATION: "scale",
    NodeKind.REFLECTION: "chat",
    NodeKind.TOOL_CALL: "tool",
    NodeKind.TOOL_FAILURE: "warning",
    NodeKind.REVIEW: "person",
    NodeKind.PLAN: "plan",
    NodeKind.ROUTE: "question",
    NodeKind.TURNS: "chat",
    NodeKind.STEP: "info",
    NodeKind.OUTCOME: "stop",
}
STATE_ICONS = {"started": "running", "waiting": "clock", "abandoned": "cross", "failed": "warning"}
VERDICT_ICONS = {"PASS": "check", "REVISE": "repeat", "REJECT": "stop"}
OUTCOME_TONES = {"succeeded": "good", "unverified": "plain", "cancelled": "plain", "rejected": "bad", "failed": "bad"}


@dataclass(frozen=True)
class DrawnNode:
    """A node as it looks. Its icon and its words say what its colour says."""

    box: Box

    @property
    def node(self) -> Node:
        return self.box.node

    @property
    def icon(self) -> str:
        node = self.node
        if node.kind is NodeKind.OUTCOME:
            return "check" if node.verdict == "succeeded" else "stop"
        return STATE_ICONS.get(node.state) or VERDICT_ICONS.get(node.verdict) or ICONS[node.kind]

    @property
    def tone(self) -> str:
        node = self.node
        if node.kind is NodeKind.OUTCOME:
            return OUTCOME_TONES.get(node.verdict, "warn")
        if node.state in {"started", "waiting"}:
            return {"started": "accent", "waiting": "wait"}[node.state]
        if node.verdict == "REVISE":
            return "warn"
        return "bad" if node.failed else "good" if node.verdict == "PASS" else "plain"

    @property
    def marks(self) -> str:
        """Classes for what a fork did."""
        marks = {"inherited": self.node.is_inherited, "best": self.node.is_best, "parting": self.node.is_parting}
        return " ".join(f"graph-{name}" for name, holds in marks.items() if holds)

    @property
    def title(self) -> str:
        return sentence_of(self.node)

    @property
    def icon_x(self) -> int:
        return self.box.x + 10

    @property
    def icon_y(self) -> int:
        return self.box.y + (NODE_HEIGHT - 16) // 2

    @property
    def text_x(self) -> int:
        return self.box.x + 34

    @property
    def label_y(self) -> int:
        return self.box.y + (18 if self.box.detail else 26)

    @property
    def detail_y(self) -> int:
        return self.box.y + 33

    @property
    def caption_x(self) -> int:
        return self.box.x + ARRIVAL + 7

    @property
    def caption_y(self) -> int:
        return self.box.y - 8


@dataclass(frozen=True)
class RunGraph:
    """The drawing of a graph, and what stands beside it. `left_out` steps of a very long run are not in it."""

    graph: Graph
    left_out: int
    is_live: bool
    # The address of the run's steps, to which a step's number is added.
    steps_at: str

    width_of_node = NODE_WIDTH
    height_of_node = NODE_HEIGHT

    @cached_property
    def layout(self) -> Layout:
        nodes = self.graph.nodes[-MOST_DRAWN:]
        return lay_out(Graph(nodes=nodes, edges=self.graph.edges))

    @property
    def not_drawn(self) -> int:
        return self.left_out + len(self.graph.nodes) - len(self.layout.boxes)

    @cached_property
    def nodes(self) -> list[DrawnNode]:
        return [DrawnNode(box) for box in self.layout.boxes]

    @property
    def lines(self) -> tuple[Line, ...]:
        return self.layout.lines

    @property
    def kinds(self) -> list[str]:
        return [kind.value for kind in EdgeKind]

    @property
    def is_empty(self) -> bool:
        return len(self.graph.nodes) < 2

    @property
    def is_open(self) -> bool:
        """Whether there is something to follow, and room for it above what the run is about."""
        if self.layout.height > TALLEST_OPEN:
            return False
        attempts = {node.attempt for node in self.graph.nodes if node.attempt}
        return self.is_live or len(attempts) > 1 or any(node.failed for node in self.graph.nodes)

    @property
    def inherits(self) -> bool:
        return any(node.is_inherited for node in self.graph.nodes)

    @cached_property
    def sentences(self) -> list[tuple[Node, str, list[str]]]:
        """Each node that is drawn with its words and, in words, what came of it."""
        names = {node.id: sentence_of(node) for node in self.graph.nodes}
        edges: dict[str, list[Edge]] = defaultdict(list)
        for line in self.lines:
            edges[line.edges[0].source] += line.edges
        return [
            (
                drawn.node,
                names[drawn.node.id],
                [f"{edge_words(edge)} → {names[edge.target]}" for edge in edges[drawn.node.id]],
            )
            for drawn in self.nodes
        ]


def draw(run: Run) -> RunGraph:
    graph, left_out = graph_of_run(run)
    first = reverse("step", args=(run.project.slug, run.pk, 1))
    steps_at = first.removesuffix("1/")
    return RunGraph(graph=graph, left_out=left_out, is_live=not run.is_finished, steps_at=steps_at)


def sentence_of(node: Node) -> str:
    """The node in one line: what it is, of which attempt, and how it stands."""
    of_attempt = (
        _(" of attempt %(number)s") % {"number": node.attempt}
        if node.attempt and node.kind is not NodeKind.ATTEMPT
        else ""
    )
    origin = (
        _(", from the parent run") if node.is_inherited else _(", first step that differs") if node.is_parting else ""
    )
    detail = detail_of(node)
    return f"{in_words(node.label)}{of_attempt}{f' ({detail})' if detail else ''}{origin}"
