"""Six calls of a model as six nodes of LangGraph, checkpointed in PostgreSQL, and the same six by litellm alone.

Run by bench_peers with the Python of the peers' own environment, and so without anything of this project. The first
line that comes in names the database, the model's address and the calls; each further line asks for a round, which is
answered by a line with its times.
"""

import asyncio
import json
import operator
import sys
import time
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import litellm
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph


class Said(TypedDict):
    answers: Annotated[list[str], operator.add]


async def call(given: dict[str, Any], request: dict[str, Any]) -> str:
    answer = await litellm.acompletion(
        model=given["model"],
        messages=request["messages"],
        temperature=request["temperature"],
        max_tokens=1000,
        timeout=given["timeout_s"],
        api_base=given["url"],
        api_key="none",
    )
    return str(answer.choices[0].message.content)


def graph_of(given: dict[str, Any]) -> StateGraph:
    graph, before = StateGraph(Said), START
    for number, request in enumerate(given["requests"]):

        async def node(_state: Said, request: dict[str, Any] = request) -> dict[str, list[str]]:
            return {"answers": [await call(given, request)]}

        graph.add_node(f"call-{number}", node)
        graph.add_edge(before, f"call-{number}")
        before = f"call-{number}"
    graph.add_edge(before, END)
    return graph


async def main() -> None:
    given = json.loads(sys.stdin.readline())
    async with AsyncPostgresSaver.from_conn_string(given["database"]) as saver:
        await saver.setup()
        compiled = graph_of(given).compile(checkpointer=saver)
        for _ in sys.stdin:
            thread = {"configurable": {"thread_id": str(uuid4())}}
            began, began_cpu = time.perf_counter(), time.process_time()
            said = await compiled.ainvoke({"answers": []}, thread, durability="sync")
            run, run_cpu = time.perf_counter() - began, time.process_time() - began_cpu
            assert len(said["answers"]) == len(given["requests"])
            began, began_cpu = time.perf_counter(), time.process_time()
            for request in given["requests"]:
                await call(given, request)
            bare, bare_cpu = time.perf_counter() - began, time.process_time() - began_cpu
            taken = {"run_ms": run, "bare_ms": bare, "run_cpu_ms": run_cpu, "bare_cpu_ms": bare_cpu}
            print(json.dumps({name: 1_000 * seconds for name, seconds in taken.items()}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
