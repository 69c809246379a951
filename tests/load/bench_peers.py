"""Prints what the desk costs beside what others would take: LangGraph for a run, MLflow for taking traces.

A run is six calls of a model, each answer kept before the next call: by the desk as bench_step measures it, by litellm
alone, and by LangGraph with its checkpointer in the same PostgreSQL server (`durability="sync"`), one node a call,
against the same model server. "Added" is the time over litellm alone, measured in the same process just afterwards.

Traces have five spans each and come over OTLP from four clients; the desk and MLflow (SQLite), with two web processes
each, are asked in turns. The peers have an environment of their own, build/peers, which is made here.

.venv/bin/python -m tests.load.bench_peers [ROUNDS] [SECONDS]
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import psycopg

from tests.load.bench_step import MODEL
from tests.load.engines import django_on_own_engines
from tests.load.machine import cpu_s, describe_machine
from tests.load.model_server import model_server
from tests.load.peers.environment import mlflow_server, peers_environment

CLIENTS, TURNS = 4, 3
WEB_PROCESSES = 2
SPANS = ("invoke_agent", "chat", "execute_tool", "execute_tool", "chat")
PLACE_OF_TRACE = b"trace-goes-here!"


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 24
    peers = peers_environment()
    if peers is None:
        print("THE PEERS COULD NOT BE INSTALLED: nothing is compared", file=sys.stderr)
        return
    print(describe_machine())
    with tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        data = Path(folder) / "data"
        with (
            model_server() as url,
            django_on_own_engines(
                {"LLM_MODEL": MODEL, "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none"}, data=Path(folder) / "engines"
            ),
        ):
            compare_runs(rounds, peers=peers, url=url)
        compare_traces(seconds, peers=peers, data=data, folder=Path(folder))
    print(describe_machine())


def compare_runs(rounds: int, *, peers: Path, url: str) -> None:
    from django.db import connection

    from reflection_app.adapters.llm.provider import READ_WITHIN_S
    from tests import given
    from tests.load.bench_step import TASK, take

    project = given.project()
    first = [take(given.submitted_run(project, **TASK).pk) for _ in range(5)][-1]
    server = connection.get_connection_params()
    with psycopg.connect(host=server["host"], user=server["user"], dbname="postgres", autocommit=True) as postgres:
        postgres.execute("CREATE DATABASE peers")
    sent = {
        "model": MODEL,
        "url": url,
        "timeout_s": READ_WITHIN_S,
        "requests": first.requests,
        "database": f"postgresql://{server['user']}@/peers?host={server['host']}",
    }
    ours: list[Mapping[str, float]] = []
    theirs: list[Mapping[str, float]] = []
    with langgraph(peers, sent) as another_round:
        for _ in range(5):
            another_round()
        for _ in range(rounds):
            ours.append(vars(take(given.submitted_run(project, **TASK).pk)))
            theirs.append(another_round())
    print(f"{rounds} runs of {first.calls} calls each, in turns; medians")
    added, added_cpu = report_runs("the desk", ours)
    peers_added, peers_added_cpu = report_runs("LangGraph", theirs)
    print(
        f"added, desk / LangGraph: {added / peers_added:.2f} of the time, {added_cpu / peers_added_cpu:.2f} of the CPU"
    )


@contextmanager
def langgraph(peers: Path, sent: dict[str, Any]) -> Iterator[Callable[[], dict[str, float]]]:
    script = Path(__file__).parent / "peers" / "langgraph_run.py"
    command = (str(peers / "python"), str(script))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked: IO[str] = process.stdin
        answered: IO[str] = process.stdout

        def another_round() -> dict[str, float]:
            asked.write("another\n")
            taken: dict[str, float] = json.loads(answered.readline())
            return taken

        asked.write(json.dumps(sent) + "\n")
        yield another_round


def report_runs(name: str, taken: list[Mapping[str, float]]) -> tuple[float, float]:
    """What was added to litellm's own time, and to its CPU, in milliseconds."""

    def median(of: Callable[[Mapping[str, float]], float]) -> float:
        return statistics.median(of(one) for one in taken)

    added = median(lambda one: one["run_ms"] - one["bare_ms"])
    added_cpu = median(lambda one: one["run_cpu_ms"] - one["bare_cpu_ms"])
    run, bare = median(lambda one: one["run_ms"]), median(lambda one: one["bare_ms"])
    print(
        f"{name:10} {run:7.1f} ms, litellm alone {bare:7.1f} ms: {run / bare:.2f} times; "
        f"added {added:6.1f} ms, {added_cpu:6.1f} ms of CPU"
    )
    return added, added_cpu


def compare_traces(seconds: float, *, peers: Path, data: Path, folder: Path) -> None:
    from tests.end_to_end.desk import PROJECT, running_desk

    desk_environment = {
        "LLM_MODEL": "openai/none",
        "OPENAI_API_KEY": "none",
        "WEB_PROCESSES": str(WEB_PROCESSES),
        # MLflow has no such limit.
        "API_REQUESTS_PER_MINUTE": "0",
    }
    with (
        running_desk(data, desk_environment) as desk,
        mlflow_server(peers, folder / "mlflow", workers=WEB_PROCESSES) as (address, mlflow_pid),
    ):
        key = desk.manage("create_api_key", "traces", "--project", PROJECT)
        servers = {
            "the desk": (f"http://{desk.host}", {"Authorization": f"Bearer {key}"}, desk.process.pid),
            "MLflow": (address, {"x-mlflow-experiment-id": "0"}, mlflow_pid),
        }
        taken = dict.fromkeys(servers, 0)
        spent_s = dict.fromkeys(servers, 0.0)
        for url, headers, _ in servers.values():
            send_traces(f"{url}/v1/traces", headers, 2.0)
        for _ in range(TURNS):
            for name, (url, headers, pid) in servers.items():
                before = cpu_s(pid)
                taken[name] += send_traces(f"{url}/v1/traces", headers, seconds / TURNS)
                spent_s[name] += cpu_s(pid) - before
    print(f"traces of {len(SPANS)} spans from {CLIENTS} clients, {seconds:g} s each in {TURNS} turns")
    for name, traces in taken.items():
        each_ms = 1_000 * spent_s[name] / traces
        print(f"{name:10} {traces / seconds:7.1f} traces a second, {each_ms:6.1f} ms of CPU a trace (all processes)")
    ours, theirs = taken["the desk"], taken["MLflow"]
    print(f"traces a second, desk / MLflow: {ours / theirs:.2f}")


def send_traces(url: str, headers: Mapping[str, str], seconds: float) -> int:
    """How many traces were taken in that time, each acknowledged before its client sends the next."""
    body, until = trace_body(), time.monotonic() + seconds

    def send(_number: int) -> int:
        taken = 0
        with httpx.Client(headers={"Content-Type": "application/x-protobuf", **headers}, timeout=30) as client:
            while time.monotonic() < until:
                answer = client.post(url, content=body.replace(PLACE_OF_TRACE, os.urandom(16)))
                assert answer.status_code == 200, answer.text
                taken += 1
        return taken

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(send, range(CLIENTS)))


def trace_body() -> bytes:
    """An agent's trace as an exporter sends it: two calls of a model and two of tools, with their words."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    service = request.resource_spans.add()
    service.resource.attributes.add(key="service.name").value.string_value = "shop"
    told = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Cancel my trip. " * 20}]}])
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "It is cancelled. " * 20}]}])
    texts = {"gen_ai.agent.name": "booker", "gen_ai.tool.name": "cancel", "gen_ai.request.model": "gpt-x"}
    texts |= {"gen_ai.input.messages": told, "gen_ai.output.messages": said, "gen_ai.tool.call.result": "done"}
    spans, now_ns = service.scope_spans.add().spans, time.time_ns()
    for number, operation in enumerate(SPANS, start=1):
        span = spans.add(
            trace_id=PLACE_OF_TRACE, span_id=number.to_bytes(8), name=f"{operation} booker", kind=1,
            parent_span_id=b"" if number == 1 else (1).to_bytes(8),
            start_time_unix_nano=now_ns + number * 1_000_000, end_time_unix_nano=now_ns + number * 2_000_000,
        )  # fmt: skip
        for name, text in (texts | {"gen_ai.operation.name": operation}).items():
            span.attributes.add(key=name).value.string_value = text
    return bytes(request.SerializeToString())


if __name__ == "__main__":
    main()
