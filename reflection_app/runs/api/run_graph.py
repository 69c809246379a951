"""The context graph of a run over REST."""

from uuid import UUID

from pydantic import ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_run_for
from reflection_app.api.answer import Answer
from reflection_app.api.desk_view import DeskView
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.permissions import Permission
from reflection_app.loops.graph_values import Edge, EdgeKind, Node, NodeKind
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Verdict
from reflection_app.runs.models.run import StepState
from reflection_app.runs.recorded_steps import graph_of_run


class NoQuery(Value):
    """This call takes no parameters."""


class NodeAnswer(Answer):
    """One thing that happened in the run, or its task or its outcome."""

    id: str = Field(examples=["step-3"])
    kind: NodeKind
    label: str = Field(examples=["Attempt 1"])
    detail: str | None = Field(description="a few words more", examples=["1 of 3 tests"])
    state: StepState
    step: int | None = Field(description="the seq of the step that it stands for; of several, the first")
    attempt: int | None
    verdict: Verdict | None
    score: float | None
    failed: bool = Field(description="whether it broke, or judged its attempt not good enough")
    is_best: bool = Field(description="whether it is the attempt that is kept")
    is_inherited: bool = Field(description="whether it was copied from the run that this one was forked from")
    is_edited: bool = Field(description="whether a person wrote its result in a fork")
    is_parting: bool = Field(description="whether a fork and its parent part here")


class EdgeAnswer(Answer):
    """How one node came of another. `label` is the kind and, of a failure, what it was."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    source: str = Field(alias="from", examples=["step-1"])
    target: str = Field(alias="to", examples=["step-2"])
    kind: EdgeKind
    label: str = Field(examples=["failed: 1 of 3 tests"])


class GraphAnswer(Answer):
    """What led to what in a run, derived from its steps."""

    nodes: list[NodeAnswer]
    edges: list[EdgeAnswer]
    steps_left_out: int = Field(description="how many of the first steps of a very long run are not in the graph")


class RunGraph(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get("get_run_graph", summary="The context graph of a run", answer=GraphAnswer, problems=(404,))
    def get(self, request: Request, run_id: UUID) -> Response:
        read_query(request, NoQuery)
        graph, left_out = graph_of_run(get_run_for(self.project, run_id))
        answer = GraphAnswer(
            nodes=[node_answer(node) for node in graph.nodes],
            edges=[edge_answer(edge) for edge in graph.edges],
            steps_left_out=left_out,
        )
        return Response(answer.model_dump(mode="json"))


def node_answer(node: Node) -> NodeAnswer:
    known = node.verdict in {verdict.value for verdict in Verdict}
    values = node.model_dump() | {
        "detail": node.detail or None,
        "state": StepState(node.state),
        "verdict": Verdict(node.verdict) if known else None,
    }
    return NodeAnswer(**values)


def edge_answer(edge: Edge) -> EdgeAnswer:
    return EdgeAnswer(source=edge.source, target=edge.target, kind=edge.kind, label=edge.label)
