"""A run's context graph as its page draws it: an SVG made here, and the same as a list of sentences."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from unicodedata import east_asian_width

from django.urls import reverse
from django.utils.translation import gettext as _

from reflection_app.core.registry import OUTCOMES, STEP_STATES, VERDICTS
from reflection_app.loops.graph_words import Edge, EdgeKind, Graph, Node, NodeKind
from reflection_app.loops.verdicts import Outcome, Verdict
from reflection_app.runs.models import Run
from reflection_app.runs.recorded_steps import graph_of_run
from reflection_app.web.labels import in_words

# Where the nodes and edges of a run's graph lie in its drawing. Pure: from a graph to whole numbers, no drawing.
#
# A column holds one attempt and what became of it, top to bottom; columns follow from left to right and wrap into
# bands, so that a long run grows downwards and never becomes a thin strip. Every edge enters its node from above,
# beside which its words stand.

NODE_WIDTH, NODE_HEIGHT = 168, 42
ROW, COLUMN = 78, 206
MARGIN = 16
# Room above a column for the words on the edges into it.
HEAD = 30
COLUMNS_IN_A_BAND = 5
ROWS_IN_A_COLUMN = 6
# Where in a node's top edges arrive, from its left side.
ARRIVAL = 20
LONGEST_LABEL, LONGEST_DETAIL, LONGEST_CAPTION = 19, 22, 26
# Lanes between two columns, so that edges that go side by side stay apart.
LANES, LANE = 3, 5
# Of the rounded corners of a line.
RADIUS = 6

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

Points = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Box:
    """A node and its place."""

    node: Node
    x: int
    y: int
    caption: str

    @property
    def right(self) -> int:
        return self.x + NODE_WIDTH

    @property
    def bottom(self) -> int:
        return self.y + NODE_HEIGHT

    @property
    def label(self) -> str:
        return fitted(in_words(self.node.label), LONGEST_LABEL)

    @property
    def detail(self) -> str:
        return fitted(detail_of(self.node), LONGEST_DETAIL)

    @property
    def icon(self) -> str:
        node = self.node
        if node.kind is NodeKind.OUTCOME:
            return "check" if node.verdict == Outcome.SUCCEEDED else "stop"
        if node.state in STEP_STATES and STEP_STATES[node.state].icon:
            return STEP_STATES[node.state].icon
        return VERDICTS[node.verdict].icon if node.verdict in VERDICTS else ICONS[node.kind]

    @property
    def tone(self) -> str:
        """Its colour; the icon and the words say the same."""
        node = self.node
        if node.kind is NodeKind.OUTCOME:
            return OUTCOMES[node.verdict].tone if node.verdict in OUTCOMES else "warn"
        if node.state in {"started", "waiting"}:
            return STEP_STATES[node.state].tone
        if node.verdict == Verdict.REVISE:
            return "warn"
        return "bad" if node.failed else "good" if node.verdict == Verdict.PASS else "plain"

    @property
    def marks(self) -> str:
        """Classes for what a fork did."""
        marks = {"inherited": self.node.is_inherited, "best": self.node.is_best, "parting": self.node.is_parting}
        return " ".join(f"graph-{name}" for name, holds in marks.items() if holds)

    @property
    def title(self) -> str:
        return sentence_of(self.node)


@dataclass(frozen=True)
class Line:
    """The edges between two nodes as one line; `points` are its corners from start to end."""

    edges: tuple[Edge, ...]
    points: Points

    @property
    def kind(self) -> EdgeKind:
        return self.edges[-1].kind

    @property
    def words(self) -> str:
        return ", ".join(dict.fromkeys(edge_words(edge) for edge in self.edges))

    @property
    def path(self) -> str:
        """The line for an SVG path, its corners rounded."""
        (x, y), *_, end = self.points
        parts = [f"M{x} {y}"]
        for before, corner, after in zip(self.points, self.points[1:], self.points[2:], strict=False):
            (ax, ay), (bx, by) = _towards(corner, before), _towards(corner, after)
            parts.append(f"L{ax} {ay}Q{corner[0]} {corner[1]} {bx} {by}")
        return "".join((*parts, f"L{end[0]} {end[1]}"))


@dataclass(frozen=True)
class Layout:
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: int
    height: int


def lay_out(graph: Graph) -> Layout:
    """A place for every node and a line for every edge, all within `width` and `height`."""
    columns: list[list[Node]] = []
    newest = 0
    for node in graph.nodes:
        begins_another = (node.attempt or 0) > newest
        if not columns or begins_another or len(columns[-1]) == ROWS_IN_A_COLUMN:
            columns.append([])
        columns[-1].append(node)
        newest = max(newest, node.attempt or 0)
    places: dict[str, tuple[int, int]] = {}
    top = 0
    for first in range(0, len(columns), COLUMNS_IN_A_BAND):
        band = columns[first : first + COLUMNS_IN_A_BAND]
        for number, column in enumerate(band):
            for row, node in enumerate(column):
                places[node.id] = (MARGIN + number * COLUMN + LANES * LANE, top + HEAD + row * ROW)
        top += HEAD + max(len(column) for column in band) * ROW
    # The edges by the two nodes that they join, those between the same two together.
    between: dict[tuple[str, str], tuple[Edge, ...]] = {}
    for edge in graph.edges:
        if edge.source in places and edge.target in places:
            pair = (edge.source, edge.target)
            between[pair] = (*between.get(pair, ()), edge)
    boxes = {}
    for node in graph.nodes:
        labels = [edge_words(edge) for (_, target), edges in between.items() if target == node.id for edge in edges]
        caption = ", ".join(label for label in dict.fromkeys(labels) if label != EdgeKind.LED_TO)
        boxes[node.id] = Box(node, *places[node.id], caption=fitted(caption, LONGEST_CAPTION))
    lines: list[Line] = []
    arrived = Counter[str]()
    for (source, target), edges in between.items():
        lines.append(Line(edges, _route(boxes[source], boxes[target], lane=arrived[target] % LANES)))
        arrived[target] += 1
    corners = [point for line in lines for point in line.points]
    right = max([*(box.right for box in boxes.values()), *(x for x, _ in corners)], default=0)
    bottom = max([*(box.bottom for box in boxes.values()), *(y for _, y in corners)], default=0)
    return Layout(tuple(boxes.values()), tuple(lines), width=right + MARGIN, height=bottom + MARGIN)


def edge_words(edge: Edge) -> str:
    """How one thing came of the other, and of what it failed."""
    kind = in_words(edge.kind.value)
    return f"{kind}: {in_words(edge.error)}" if edge.error else kind


def detail_of(node: Node) -> str:
    """What is written below a node's label: how it stands, in words."""
    if node.state in {"started", "waiting", "abandoned"}:
        return str(STEP_STATES[node.state].words)
    score = _("score %(score)s") % {"score": f"{node.score:.0f}"} if node.score is not None else ""
    verdict = in_words(node.verdict.lower()) if node.kind is not NodeKind.OUTCOME else ""
    failed, edited = _("failed") if node.failed and not verdict else "", _("edited") if node.is_edited else ""
    words = [verdict, in_words(node.detail) or score, failed, edited]
    return " · ".join([word for word in words if word] or [_("selected") if node.is_best else ""])


def fitted(text: str, most: int) -> str:
    """`text` cut to `most` letters' room; Chinese ones take two each."""
    room = 0
    for at, letter in enumerate(text):
        room += 2 if east_asian_width(letter) in "WF" else 1
        if room > most:
            return f"{text[: max(at - 1, 1)].rstrip()}…"
    return text


def _route(source: Box, target: Box, *, lane: int) -> Points:
    """The corners of a line from one node into the top of another: through the lanes between columns and rows."""
    x, middle = target.x + ARRIVAL, source.y + NODE_HEIGHT // 2
    aside = LANES * LANE - lane * LANE
    above = target.y - 22 + lane * 3
    is_below = target.y > source.y
    if source.x == target.x and is_below and target.y - source.y <= ROW:
        return ((x, source.bottom), (x, target.y))
    if source.x == target.x and is_below:
        left = source.x - aside
        return ((source.x, middle), (left, middle), (left, above), (x, above), (x, target.y))
    gutter = source.right + aside
    if target.x < source.x and is_below:
        # Into a lower band: between the bands, where nothing is written.
        above = target.y - HEAD - 4 - aside // 2
    return ((source.right, middle), (gutter, middle), (gutter, above), (x, above), (x, target.y))


def _towards(corner: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """The point of the line from `corner` to `other` where the rounding of the corner begins."""
    (x, y), (to_x, to_y) = corner, other
    dx, dy = to_x - x, to_y - y
    return x + max(-RADIUS, min(RADIUS, dx // 2)), y + max(-RADIUS, min(RADIUS, dy // 2))


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

    @property
    def kinds(self) -> list[str]:
        return [kind.value for kind in EdgeKind]

    @property
    def is_empty(self) -> bool:
        return len(self.graph.nodes) < 2

    @property
    def is_open(self) -> bool:
        """Whether it may grow, and there is room for it above what the run is about; the rest tells what was."""
        return self.is_live and self.layout.height <= TALLEST_OPEN

    @property
    def inherits(self) -> bool:
        return any(node.is_inherited for node in self.graph.nodes)

    @cached_property
    def sentences(self) -> list[tuple[Node, str, list[str]]]:
        """Each node that is drawn with its words and, in words, what came of it."""
        names = {node.id: sentence_of(node) for node in self.graph.nodes}
        edges: dict[str, list[Edge]] = defaultdict(list)
        for line in self.layout.lines:
            edges[line.edges[0].source] += line.edges
        return [
            (
                box.node,
                names[box.node.id],
                [f"{edge_words(edge)} → {names[edge.target]}" for edge in edges[box.node.id]],
            )
            for box in self.layout.boxes
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
