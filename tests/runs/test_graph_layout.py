from itertools import combinations

from hypothesis import given, settings

from reflection_app.loops.graph import graph_of
from reflection_app.loops.graph_words import RecordedStep
from reflection_app.runs.views.graph import NODE_HEIGHT, NODE_WIDTH, Box, fitted, lay_out
from tests.loops.test_graph import any_steps


@settings(max_examples=60)
@given(made=any_steps)
def test_no_two_nodes_overlap_and_all_lies_within_the_drawing(made: list[RecordedStep]) -> None:
    layout = lay_out(graph_of(made, outcome="exhausted"))
    for one, other in combinations(layout.boxes, 2):
        assert _apart(one, other)
    for box in layout.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.right <= layout.width
        assert box.bottom <= layout.height
    for line in layout.lines:
        assert all(0 <= x <= layout.width and 0 <= y <= layout.height for x, y in line.points)


@settings(max_examples=60)
@given(made=any_steps)
def test_lines_join_the_nodes_of_their_edges(made: list[RecordedStep]) -> None:
    layout = lay_out(graph_of(made, outcome="exhausted"))
    boxes = {box.node.id: box for box in layout.boxes}
    for line in layout.lines:
        source, target = boxes[line.edges[0].source], boxes[line.edges[0].target]
        assert _touches(source, line.points[0])
        assert _touches(target, line.points[-1])


def test_a_long_run_grows_downwards() -> None:
    made = [
        RecordedStep(seq=number, key=f"attempt-{number}/answer", kind="generate", attempt=number)
        for number in range(1, 61)
    ]
    layout = lay_out(graph_of(made))
    assert layout.width < 1100
    assert layout.height < 2000


def test_chinese_letters_take_two_places() -> None:
    assert fitted("说明说明", 8) == "说明说明"
    assert fitted("说明说明书", 8) == "说明说…"
    assert fitted("a label", 3) == "a…"


def _apart(one: Box, other: Box) -> bool:
    return abs(one.x - other.x) >= NODE_WIDTH or abs(one.y - other.y) >= NODE_HEIGHT


def _touches(box: Box, point: tuple[int, int]) -> bool:
    return box.x <= point[0] <= box.right and box.y <= point[1] <= box.bottom
