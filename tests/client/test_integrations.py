"""Agents written with the real frameworks, asking a local model, recorded and reviewed by a desk that runs."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import pytest
from reflection_desk import Desk

from reflection_app.runs.models import Run
from reflection_app.sessions.models import Transcript, TranscriptTurn
from reflection_app.tasks.models import Task
from tests.client.conftest import Served
from tests.client.models import calling
from tests.openai_server import OpenAIServer, ScriptedAnswers
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    """Looks a flight up, fails to cancel it, and says so."""
    script = ScriptedAnswers([calling("look_up", trip="X1"), calling("cancel", trip="X1"), "It did not work."])
    with OpenAIServer(script) as server:
        yield server
    assert script.overrun == script.left == 0


def look_up(trip: str) -> str:
    """Looks a trip up."""
    return f"{trip}: to Rome"


def cancel(trip: str) -> str:
    """Cancels a trip."""
    raise TimeoutError("the airline does not answer")


def told() -> list[tuple[str, str]]:
    """Who said what, of the only session; a call is told as its tool's name."""
    rows = [turn.message for turn in TranscriptTurn.objects.order_by("seq")]
    return [
        (row["role"], row["content"] or "".join(f"→ {call['function']['name']}" for call in row["tool_calls"]))
        for row in rows
    ]


def failed_tools() -> list[tuple[str, str, Any]]:
    return [(one["tool"], one["error"], one["arguments"]) for one in Transcript.objects.get().tool_errors]


def test_a_langgraph_agent_is_recorded(served: Served, model: OpenAIServer) -> None:
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition
    from reflection_desk.integrations.langchain import SessionHandler

    tools = [tool(look_up), tool(cancel)]
    llm = ChatOpenAI(model="m", base_url=model.url, api_key="sk-x").bind_tools(tools)

    def agent(state: MessagesState) -> dict[str, list[AIMessage]]:
        return {"messages": [llm.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    compiled = graph.compile()

    asked: Any = {"messages": [("system", "You book trips."), ("user", "Cancel X1.")]}
    with served.client() as desk, desk.session(agent="airline") as session:
        compiled.invoke(asked, {"callbacks": [SessionHandler(session)]})

    roles = told()
    assert [role for role, _ in roles] == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert roles[1:5] == [
        ("user", "Cancel X1."),
        ("assistant", "→ look_up"),
        ("tool", "X1: to Rome"),
        ("assistant", "→ cancel"),
    ]
    assert roles[-1] == ("assistant", "It did not work.")
    assert failed_tools() == [("cancel", "the airline does not answer", {"trip": "X1"})]
    assert TranscriptTurn.objects.get(seq=6).message["is_error"] is True


def test_an_openai_agent_is_recorded(served: Served, model: OpenAIServer) -> None:
    from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
    from openai import AsyncOpenAI
    from reflection_desk.integrations.openai_agents import SessionHooks

    async def worked() -> None:
        async with AsyncOpenAI(base_url=model.url, api_key="sk-x") as client, served.async_client() as desk:
            agent = Agent(
                name="airline",
                instructions="You book trips.",
                model=OpenAIChatCompletionsModel("m", client),
                tools=[function_tool(look_up), function_tool(cancel)],
            )
            async with desk.session(agent="airline") as session:
                unwatched = RunConfig(tracing_disabled=True)
                await Runner.run(agent, "Cancel X1.", hooks=SessionHooks(session), run_config=unwatched)

    asyncio.run(worked())
    assert [role for role, _ in told()] == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert told()[:4] == [
        ("system", "You book trips."),
        ("user", "Cancel X1."),
        ("assistant", "→ look_up"),
        ("tool", "X1: to Rome"),
    ]
    [(failed, why, arguments)] = failed_tools()
    assert (failed, arguments) == ("cancel", '{"trip": "X1"}')
    assert "the airline does not answer" in why


async def asked_by_pydantic_ai(served: Served, model: OpenAIServer, *, cancel: Callable[[str], str]) -> None:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from reflection_desk.integrations.pydantic_ai import SessionCapability

    async with AsyncOpenAI(base_url=model.url, api_key="sk-x") as client, served.async_client() as desk:
        llm = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))
        agent = Agent(llm, instructions="You book trips.", tools=[look_up, cancel])
        async with desk.session(agent="airline") as session:
            await agent.run(["Cancel X1.", "Now."], capabilities=[SessionCapability(session)])


def test_a_pydantic_ai_agent_is_recorded(served: Served, model: OpenAIServer) -> None:
    from pydantic_ai import ModelRetry

    def cancel(trip: str) -> str:
        raise ModelRetry("the airline does not answer")

    asyncio.run(asked_by_pydantic_ai(served, model, cancel=cancel))
    rows = [turn.message for turn in TranscriptTurn.objects.order_by("seq")]
    assert [row["role"] for row in rows] == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert rows[1]["content"] == [{"type": "text", "text": "Cancel X1."}, {"type": "text", "text": "Now."}]
    assert rows[3] == {"role": "tool", "content": "X1: to Rome", "tool_call_id": "call_look_up"}
    assert rows[5]["is_error"] is True
    assert "the airline does not answer" in rows[5]["content"]
    assert rows[6]["content"] == "It did not work."
    assert failed_tools() == [("cancel", "the airline does not answer", {"trip": "X1"})]


def test_an_error_that_pydantic_ai_lets_through_is_recorded(served: Served) -> None:
    script = ScriptedAnswers([calling("cancel", trip="X1")])
    with OpenAIServer(script) as model, pytest.raises(TimeoutError):
        asyncio.run(asked_by_pydantic_ai(served, model, cancel=cancel))
    assert TranscriptTurn.objects.get(seq=4).message["content"] == (
        "The session ended with an error: TimeoutError: the airline does not answer"
    )
    assert failed_tools() == [("cancel", "the airline does not answer", {"trip": "X1"})]


class Draft(TypedDict, total=False):
    task: str
    text: str
    review: Any


def writing_graph(node: Any) -> Any:
    """Writes, is reviewed, and writes again what was sent back."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph

    def write(state: Draft) -> Draft:
        before = state.get("review")
        return {"text": f"second, after: {before['prompt']}" if before else "first"}

    graph = StateGraph(Draft)
    graph.add_node("write", write)
    graph.add_node("review", node)
    graph.add_edge(START, "write")
    graph.add_edge("write", "review")
    graph.add_conditional_edges("review", lambda state: "write" if state["review"]["prompt"] else END)
    return graph.compile(checkpointer=InMemorySaver())


def test_a_graph_waits_for_a_reviewer_and_goes_on_with_the_decision(served: Served) -> None:
    from langgraph.types import Command
    from reflection_desk.integrations.langgraph import reviewed_by

    # The first attempt is sent back by the critic, the second passes, and no policy wants a person to see it.
    served.critic(critique(40, issues=[{"description": "Too short."}]), critique(90, approved=True))
    thread = {"configurable": {"thread_id": "a"}}
    with served.client() as desk, served.reviewer() as reviewer:
        graph = writing_graph(reviewed_by(desk, objective="task", answer="text"))
        stopped = graph.invoke({"task": "Write a haiku."}, thread)
        assert stopped["__interrupt__"][0].value["waiting_for"] == "required"
        assert len(stopped["__interrupt__"][0].value["reviews"]) == 1
        assert Run.objects.get().outcome is None
        assert stopped["review"]["attempt"] == 1
        assert (stopped["review"]["accepted"], stopped["review"]["decided_by"]) == (False, "critic")
        # Whatever it is resumed with: nobody has decided yet.
        assert graph.invoke(Command(resume={"accepted": True}), thread)["__interrupt__"]
        claim = reviewer.claim_review()
        assert claim is not None
        assert claim.review.attempt.content.startswith("second, after:")
        assert "Too short." in claim.review.attempt.content
        reviewer.decide_review(claim.review.id, lease_token=claim.lease_token, decision="approve")
        ended = graph.invoke(Command(resume=True), thread)
    assert "__interrupt__" not in ended
    assert (ended["review"]["accepted"], ended["review"]["attempt"]) == (True, 2)
    assert ended["review"]["decided_by"].startswith("key")
    assert ended["review"]["answer"].startswith("second, after:")
    assert Task.objects.count() == 1


def test_what_a_reviewer_sends_back_is_written_again(served: Served) -> None:
    from langgraph.types import Command
    from reflection_desk.integrations.langgraph import reviewed_by

    served.critic(critique(10), critique(10))
    thread: Any = {"configurable": {"thread_id": "a"}}

    async def resumed(reviewer: Desk) -> Any:
        async with served.async_client() as desk:
            graph = writing_graph(reviewed_by(desk, objective=lambda state: state["task"], answer="text"))
            await graph.ainvoke({"task": "Write a haiku."}, thread)
            # The run itself waits here, as the policy says of what the critic rejects.
            claim = await asyncio.to_thread(reviewer.claim_review)
            assert claim is not None
            reviewer.decide_review(
                claim.review.id,
                lease_token=claim.lease_token,
                decision="overrule",
                verdict="REVISE",
                reason="Name the season.",
                issues=[{"description": "No season."}],
            )
            sent_back = await graph.ainvoke(Command(resume=True), thread)
            # Another task in the same thread is a task of its own, though an answer is still wanted to the one before.
            await graph.ainvoke({"task": "Write a limerick."}, thread)
            return sent_back

    with served.reviewer() as reviewer:
        stopped = asyncio.run(resumed(reviewer))
    assert "No season." in stopped["text"]
    assert stopped["review"]["attempt"] == 1
    assert stopped["review"]["decided_by"].startswith("key")
    assert list(Task.objects.order_by("created_at").values_list("objective", flat=True)) == [
        "Write a haiku.",
        "Write a limerick.",
    ]


def test_the_missing_library_is_named() -> None:
    from reflection_desk.integrations import needing

    with pytest.raises(ImportError, match=r"install reflection-desk-client\[langgraph\]"), needing("langgraph"):
        import not_installed_anywhere  # type: ignore[import-not-found]  # noqa: F401
