"""The blocks of docs/guides/connect-an-agent.md, run as they stand there, against a server and a model."""

import ast
import asyncio
import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings

from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.sessions.models import AgentTrace, Transcript
from tests import given
from tests.api.mcp.serving import serving
from tests.client.conftest import Served
from tests.openai_server import OpenAIServer
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = (Path(settings.BASE_DIR) / "docs" / "guides" / "connect-an-agent.md").read_text()
BLOCKS: dict[str, list[str]] = {
    section.partition("\n")[0]: re.findall(r"^```\w+\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    for section in PAGE.split("\n## ")[1:]
}
ADD = "```python\ndef add(a, b):\n    return a + b\n```"


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda _: ADD) as server:
        yield server


@pytest.fixture
def environment(served: Served, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"DESK_URL": served.url, "DESK_KEY": served.key, "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-x"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def run(block: str, **names: Any) -> dict[str, Any]:
    """The names that the block leaves."""
    exec(compile(block, "connect-an-agent.md", "exec"), names)
    return names


async def awaited(block: str, **names: Any) -> dict[str, Any]:
    """The names that a block leaves which awaits at its outermost level."""
    await eval(compile(block, "connect-an-agent.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    return names


def session() -> Transcript:
    return Transcript.objects.get(ended_at__isnull=False)


def test_every_block_is_short_and_run_by_a_test_below() -> None:
    here = Path(__file__).read_text()
    for heading, blocks in BLOCKS.items():
        assert blocks, heading
        assert f'"{heading}"' in here, f"no test runs what stands under {heading!r}"
        assert all(len([line for line in block.splitlines() if line]) <= 10 for block in blocks), heading
    anchors = re.findall(r"\]\(#(.*?)\)", PAGE)
    assert anchors == [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in BLOCKS]


@pytest.mark.usefixtures("environment")
def test_a_function_that_makes_attempts() -> None:
    [block] = BLOCKS["You have a function that makes attempts"]
    best = run(block)["best"]
    assert (best.outcome, best.content) == ("succeeded", ADD)


@pytest.mark.usefixtures("environment")
def test_plain_openai() -> None:
    [block] = BLOCKS["You have plain OpenAI"]
    kept = run(block)["session"].transcript
    assert (kept.id, kept.turns) == (session().pk, 2)


@pytest.mark.usefixtures("environment")
def test_langchain_and_langgraph() -> None:
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph

    llm = ChatOpenAI(model="m")
    builder = StateGraph(MessagesState)
    builder.add_node("agent", lambda state: {"messages": [llm.invoke(state["messages"])]})
    builder.add_edge(START, "agent")
    [block] = BLOCKS["You have LangChain or LangGraph"]
    run(block, graph=builder.compile())
    assert session().turns.count() == 2


@pytest.mark.usefixtures("environment")
def test_a_graph_with_a_reviewer(served: Served) -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph

    from tests.client.test_integrations import Draft

    served.critic(critique(90, approved=True))
    builder = StateGraph(Draft)
    builder.add_node("write", lambda state: {"text": "The sea."})
    builder.add_edge(START, "write")
    first, second = BLOCKS["You have a LangGraph graph that needs a reviewer"]
    thread = {"configurable": {"thread_id": "a"}}
    names = run(first, builder=builder, END=END, checkpointer=InMemorySaver(), thread=thread)
    assert names["stopped"]["__interrupt__"]
    with served.reviewer() as reviewer:
        claim = reviewer.claim_review()
        assert claim is not None
        reviewer.decide_review(claim.review.id, lease_token=claim.lease_token, decision="approve")
    assert run(second, **names)["done"]["review"]["accepted"]


@pytest.mark.usefixtures("environment")
def test_openais_agents_sdk() -> None:
    from agents import Agent, OpenAIChatCompletionsModel
    from openai import AsyncOpenAI

    async def answered() -> Any:
        # The local model speaks the chat's interface alone.
        async with AsyncOpenAI() as client:
            agent = Agent(name="airline", model=OpenAIChatCompletionsModel("m", client))
            [block] = BLOCKS["You have OpenAI's Agents SDK"]
            return (await awaited(block, agent=agent))["result"]

    assert asyncio.run(answered()).final_output == ADD
    assert session().turns.count() == 2


@pytest.mark.usefixtures("environment")
def test_pydantic_ai() -> None:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def answered() -> Any:
        async with AsyncOpenAI() as client:
            agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)))
            [block] = BLOCKS["You have Pydantic AI"]
            return (await awaited(block, agent=agent))["result"]

    assert asyncio.run(answered()).output == ADD
    assert session().turns.count() == 2


@pytest.mark.usefixtures("environment")
def test_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    [block] = BLOCKS["You have anything that sends OpenTelemetry"]
    for line in block.splitlines():
        name, _, value = shlex.split(line)[0].partition("=")
        monkeypatch.setenv(name, os.path.expandvars(value))
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    with provider.get_tracer("agent").start_as_current_span("invoke_agent airline") as span:
        span.set_attribute("gen_ai.operation.name", "invoke_agent")
        span.set_attribute("gen_ai.agent.name", "airline")
    provider.shutdown()
    assert AgentTrace.objects.get().spans_received == 1


def curl(command: str) -> Any:
    """What the command would be answered. Read here, so that the machine needs no curl."""
    words = shlex.split(os.path.expandvars(command))
    assert words[:2] == ["curl", "-s"]
    options = list(zip(words[3::2], words[4::2], strict=True))
    headers = dict(value.split(": ", 1) for option, value in options if option == "-H")
    bodies = [value for option, value in options if option == "-d"]
    answer = httpx.request("POST" if bodies else "GET", words[2], headers=headers, content="".join(bodies), timeout=60)
    assert answer.is_success, answer.text
    return answer.json()


@pytest.mark.usefixtures("environment")
def test_http(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.critic(critique(90, approved=True))
    [block] = BLOCKS["You have n8n, Dify, or anything that speaks HTTP"]
    submitting, waiting = re.findall(r"^curl .*?(?<!\\)$", block, re.MULTILINE | re.DOTALL)
    task = curl(submitting.replace("\\\n", " "))
    monkeypatch.setenv("RUN_ID", task["run"]["id"])
    assert curl(waiting)["id"] == str(Run.objects.get().pk)


@pytest.mark.usefixtures("environment")
def test_the_readme_of_the_client(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    served.critic(critique(90, approved=True))
    readme = (Path(settings.BASE_DIR) / "client" / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    function, recorded, pulled, rows, awaiting = blocks
    names = run(function, my_agent=lambda messages: ADD)
    assert capsys.readouterr().out.startswith("succeeded 100.0 ```python")
    assert run(recorded, **names)["session"].transcript.turns == 2
    # For ever; here until there is no work.
    assert run(pulled.replace('coder-1")', 'coder-1", until_idle=True)'), **names)["desk"] is names["desk"]
    assert len(run(rows.replace('"2026-11-01"', "None"), **names)["frame"]) == 0
    asyncio.run(awaited(awaiting))
    assert "run.finished" in capsys.readouterr().out


@pytest.mark.exhaustive("starts a web server of its own, which MCP needs")
def test_mcp(tmp_path: Path) -> None:
    [block] = BLOCKS["You have an agent with MCP"]
    project: Project = given.project()
    _key, secret = given.api_key(project)
    with serving(tmp_path) as server:
        told = block.replace("http://127.0.0.1:8000", server.origin).replace("rd_…", secret)
        asyncio.run(list_tools(**json.loads(told)["mcpServers"]["reflection-desk"]))


async def list_tools(*, type: str, url: str, headers: dict[str, str]) -> None:  # noqa: A002 - the configuration's name
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    assert type == "http"
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        assert "submit_task" in {tool.name for tool in (await client.list_tools()).tools}
