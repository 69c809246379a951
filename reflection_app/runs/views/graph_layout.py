"""Where the nodes and edges of a run's graph lie in its drawing. Pure: from a graph to whole numbers, no drawing.

A column holds one attempt and what became of it, top to bottom; columns follow from left to right and wrap into bands,
so that a long run grows downwards and never becomes a thin strip. Every edge enters its node from above, beside which
its words stand.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from django.utils.translation import gettext as _

from reflection_app.loops.graph_values import Edge, EdgeKind, Graph, Node, NodeKind
from reflection_app.web.labels import in_words

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
    columns = _columns(graph.nodes)
    places = _places(columns)
    between = _between(graph.edges, places=places)
    boxes = {node.id: Box(node, *places[node.id], caption=_caption(node.id, between)) for node in graph.nodes}
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
        return {"started": _("running"), "waiting": _("waiting"), "abandoned": _("stopped")}[node.state]
    score = _("score %(score)s") % {"score": f"{node.score:.0f}"} if node.score is not None else ""
    verdict = in_words(node.verdict.lower()) if node.kind is not NodeKind.OUTCOME else ""
    failed, edited = _("failed") if node.failed and not verdict else "", _("edited") if node.is_edited else ""
    words = [verdict, in_words(node.detail) or score, failed, edited]
    return " · ".join([word for word in words if word] or [_("kept") if node.is_best else ""])


def fitted(text: str, most: int) -> str:
    """`text` cut to `most` letters' room; Chinese ones take two each."""
    room = 0
    for at, letter in enumerate(text):
        room += 2 if east_asian_width(letter) in "WF" else 1
        if room > most:
            return f"{text[: max(at - 1, 1)].rstrip()}…"
    return text


def _columns(nodes: Sequence[Node]) -> list[list[Node]]:
    columns: list[list[Node]] = []
    newest = 0
    for node in nodes:
        begins_another = (node.attempt or 0) > newest
        if not columns or begins_another or len(columns[-1]) == ROWS_IN_A_COLUMN:
            columns.append([])
        columns[-1].append(node)
        newest = max(newest, node.attempt or 0)
    return columns


def _places(columns: Sequence[Sequence[Node]]) -> dict[str, tuple[int, int]]:
    places: dict[str, tuple[int, int]] = {}
    top = 0
    for first in range(0, len(columns), COLUMNS_IN_A_BAND):
        band = columns[first : first + COLUMNS_IN_A_BAND]
        for number, column in enumerate(band):
            for row, node in enumerate(column):
                places[node.id] = (MARGIN + number * COLUMN + LANES * LANE, top + HEAD + row * ROW)
        top += HEAD + max(len(column) for column in band) * ROW
    return places


def _between(edges: Sequence[Edge], *, places: dict[str, tuple[int, int]]) -> dict[tuple[str, str], tuple[Edge, ...]]:
    """The edges by the two nodes that they join, those between the same two together."""
    between: dict[tuple[str, str], tuple[Edge, ...]] = {}
    for edge in edges:
        if edge.source in places and edge.target in places:
            pair = (edge.source, edge.target)
            between[pair] = (*between.get(pair, ()), edge)
    return between


def _caption(node_id: str, between: dict[tuple[str, str], tuple[Edge, ...]]) -> str:
    labels = [edge_words(edge) for (_, target), edges in between.items() if target == node_id for edge in edges]
    said = [label for label in dict.fromkeys(labels) if label != EdgeKind.LED_TO]
    return fitted(", ".join(said), LONGEST_CAPTION)


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


def _towards(corner: tuple[int, int], other: tuple[int, int], *, radius: int = 6) -> tuple[int, int]:
    """The point of the line from `corner` to `other` where the rounding of the corner begins."""
    (x, y), (to_x, to_y) = corner, other
    dx, dy = to_x - x, to_y - y
    return x + max(-radius, min(radius, dx // 2)), y + max(-radius, min(radius, dy // 2))
