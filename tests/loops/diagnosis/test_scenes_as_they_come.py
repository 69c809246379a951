"""The design seed's scenes of failing tools with the parameters and tools that real calls have, through the loop."""

from typing import Any

from reflection_app.loops.attempt_effects import Wait
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolFailure, ToolSpec
from tests.loops.playing import NO_AUDIT, Played, play
from tests.loops.tool_playing import calls_of, failed, in_turn, worked

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}


def tool(name: str, about: str = "", *required: str, **properties: Any) -> ToolSpec:
    schema = {"type": "object", "required": list(required), "properties": properties}
    return ToolSpec(name=name, description=about, parameters=schema)


ARXIV = "mcp__arxiv-mcp-server__search_papers"
PAGED = tool(ARXIV, "Search papers.", "query", query=TEXT, categories=TEXTS, max_results=WHOLE)
LIMITED = tool("query_table", "Reads rows.", "table", table=TEXT, limit={"type": "integer", "maximum": 1000})
QUERY = {"query": "multi-agent orchestration", "categories": ["cs.AI"]}
TIMED_OUT = failed(ToolFailure.TIMED_OUT, "Timeout after 30s")


def run(spec: ToolSpec, params: dict[str, Any], answers: list[Any]) -> Played:
    """The loop with the tool's answers; the model is asked where no diagnosis has parameters."""
    task = TaskSpec(
        objective="Find what there is.",
        mode=Mode.EXTERNAL_LOOP,
        tools=(spec,),
        tool_call=ToolCall(tool=spec.name, arguments=params),
        review_policy=NO_AUDIT,
    )
    return play(task, in_turn(answers))


def test_a_search_that_times_out_again_and_again_is_never_the_same_twice() -> None:
    played = run(PAGED, QUERY | {"max_results": 2}, [TIMED_OUT, TIMED_OUT, TIMED_OUT])
    assert [call.arguments for call in calls_of(played)] == [
        QUERY | {"max_results": 2},
        QUERY | {"max_results": 1},
        QUERY | {"query": "multi-agent", "max_results": 1},
    ]
    assert [effect.delay_s for effect in played.of(Wait)] == [5, 5]


def test_a_number_beyond_the_schemas_bound_is_never_sent_again() -> None:
    played = run(LIMITED, {"table": "t", "limit": 5000}, [worked()])
    assert [call.arguments for call in calls_of(played)] == [{"table": "t", "limit": 1000}]
