"""Records what instrumentations of other people export, for tests/sessions/test_recorded_traces.py.

python -m tests.sessions.record_traces [name …]

Each script in tests/sessions/instrumentations traces one job with its real library, against a model server of the
tests, in an environment of its own: the versions below are those that the payloads were recorded with. What is written
are the requests as OTLP's JSON, one a line, with nothing of the machine in it.
"""

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from reflection_app.sessions.otlp.wire import IDS, JSON
from tests.openai_server import OpenAIServer, Reply

PROJECT_DIR = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "instrumentations"
WRITTEN = PROJECT_DIR / "tests" / "sessions" / "otlp_payloads"
HOME = PROJECT_DIR / "build" / "instrumentations"
UV = PROJECT_DIR / ".tools" / "uv" / "bin" / "uv"
LIBRARIES = (
    "langchain==1.5.2",
    "langchain-openai==1.7.4",
    "langgraph==1.2.24",
    "langsmith[otel]==0.15.1",
    "mlflow-tracing==3.17.2",
    "openai==3.57.0",
    "openai-agents==0.24.0",
    "openinference-instrumentation==0.1.72",
    "openinference-instrumentation-langchain==0.1.80",
    "openinference-instrumentation-openai==0.1.66",
    "openinference-instrumentation-openai-agents==2.6.0",
    "opentelemetry-instrumentation-langchain==0.62.4",
    "opentelemetry-instrumentation-openai==0.62.4",
    "opentelemetry-instrumentation-openai-v2==2.4b0",
    "opentelemetry-sdk==1.45.1",
    "opentelemetry-util-genai==1.1b0",
    "pydantic-ai-slim[openai]==2.68.0",
    # MLflow's tracing imports it, and does not say so.
    "sqlparse==0.6.1",
    "traceloop-sdk==0.62.4",
    # OpenTelemetry's instrumentation names an argument as wrapt 2 no longer does.
    "wrapt==1.17.3",
)
LIBRARIES_BEFORE = (
    "openai==1.109.1",
    "opentelemetry-exporter-otlp-proto-http==1.38.0",
    "opentelemetry-instrumentation-openai==0.47.5",
    "opentelemetry-sdk==1.38.0",
)
BEFORE = {"openllmetry_before"}
# Those of npm, of which each version of the SDK needs an environment of its own.
PACKAGES = {
    "vercel_ai_6": ("ai@6.0.326", "@ai-sdk/openai-compatible@2", "zod@4"),
    "vercel_ai_7": ("ai@7.0.173", "@ai-sdk/otel@1.0.173", "@ai-sdk/openai-compatible@3", "zod@4"),
}
PACKAGES_OF_OPENTELEMETRY = (
    "@opentelemetry/exporter-trace-otlp-http",
    "@opentelemetry/resources",
    "@opentelemetry/sdk-trace-node",
)
SWITCHES = {
    "LANGSMITH_TRACING": "true",
    "LANGSMITH_OTEL_ENABLED": "true",
    "LANGSMITH_OTEL_ONLY": "true",
    "LANGSMITH_API_KEY": "none",
    "LANGSMITH_ENDPOINT": "http://127.0.0.1:9",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    "OTEL_SERVICE_NAME": "weather-service",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
    "TRACELOOP_TELEMETRY": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "false",
    "PYTHONPATH": "",
}
LONGEST_S = 120
# What tells of the machine, or repeats what is beside it.
LEFT_OUT = (
    "exception.stacktrace",
    "langsmith.metadata.LANGSMITH",
    "langsmith.metadata.langgraph",
    "langsmith.metadata.lc_versions",
    "langsmith.metadata.revision_id",
    "langsmith.metadata.runtime",
    "llm.headers",
    "logfire.json_schema",
    "metadata",
    "model_request_parameters",
    "process.",
    "server.",
    "thread.",
)


def answer(request: dict[str, Any]) -> Reply:
    """What the model says: it asks for both cities at once, and then tells what it was told."""
    tools = [tool["function"]["name"] for tool in request.get("tools", ())]
    if request["messages"][-1]["role"] == "tool" or not tools:
        return Reply("北京晴，21 °C；Atlantis 没有气象站。", prompt_tokens=60, completion_tokens=20)
    if "ask_forecaster" in tools:
        calls = [("ask_forecaster", json.dumps({"input": "北京 and Atlantis?"}, ensure_ascii=False))]
    else:
        calls = [("weather", json.dumps({"city": city}, ensure_ascii=False)) for city in ("北京", "Atlantis")]
    return Reply(None, tool_calls=calls, finish_reason="tool_calls", prompt_tokens=40, completion_tokens=10)


@contextmanager
def sink() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a collector, and the requests that it has been sent, as OTLP's JSON."""
    taken: list[dict[str, Any]] = []

    class Taking(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            if self.headers.get("Transfer-Encoding") == "chunked":
                body = b"".join(iter(self._chunk, b""))
            else:
                body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.headers["Content-Type"] == JSON:
                taken.append(json.loads(body))
            else:
                message = ExportTraceServiceRequest.FromString(body)
                taken.append(_with_hex_ids(MessageToDict(message)))
            self.send_response(200)
            self.send_header("Content-Type", self.headers["Content-Type"])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _chunk(self) -> bytes:
            chunk = self.rfile.read(int(self.rfile.readline(), 16))
            self.rfile.readline()
            return chunk

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", taken
    finally:
        server.shutdown()


def _with_hex_ids(value: Any) -> Any:
    """What protobuf writes as base64 as OTLP has it."""
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64decode(item).hex() if name in IDS and isinstance(item, str) else _with_hex_ids(item)
        for name, item in value.items()
    }


def _cleaned(value: Any, *, model_url: str) -> Any:
    if isinstance(value, str):
        return value.replace(model_url, "http://model/v1").replace(str(PROJECT_DIR), "/desk")
    if isinstance(value, list):
        kept = (item for item in value if not (isinstance(item, dict) and str(item.get("key")).startswith(LEFT_OUT)))
        return [_cleaned(item, model_url=model_url) for item in kept]
    if not isinstance(value, dict):
        return value
    cleaned = {name: _cleaned(item, model_url=model_url) for name, item in value.items()}
    if "resource" in cleaned:
        service = [one for one in cleaned["resource"].get("attributes", ()) if one["key"] == "service.name"]
        cleaned["resource"] = {"attributes": service}
    return cleaned


def _command_of(script: Path) -> tuple[list[str], Path]:
    """How the script is run, and where; its environment is made where it is missing."""
    if script.suffix == ".mjs":
        home = HOME / script.stem
        made_of, wanted = home / "made-of", (*PACKAGES[script.stem], *PACKAGES_OF_OPENTELEMETRY)
        make = [["npm", "install", "--silent", "--no-save", *wanted]]
        command = ["node", str(home / script.name)]
    else:
        home = HOME / ("python_before" if script.stem in BEFORE else "python")
        made_of, wanted = home / "made-of", LIBRARIES_BEFORE if script.stem in BEFORE else LIBRARIES
        python = str(home / "bin" / "python")
        make = [[str(UV), "venv", "-q", str(home)], [str(UV), "pip", "install", "-q", "--python", python, *wanted]]
        command = [python, str(script)]
    if not made_of.exists() or made_of.read_text() != "\n".join(wanted):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        for line in make:
            subprocess.run(line, check=True, cwd=home)
        made_of.write_text("\n".join(wanted))
    if script.suffix == ".mjs":
        # Node looks for packages from where a script is.
        shutil.copy(script, home)
    return command, home


def record(script: Path) -> None:
    """Runs the script and writes what it exported."""
    command, home = _command_of(script)
    with OpenAIServer(answer) as model, sink() as (address, requests):
        switches = SWITCHES | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": address, "MODEL_URL": model.url}
        subprocess.run(command, cwd=home, env=os.environ | switches, check=True, timeout=LONGEST_S)
        cleaned = [_cleaned(request, model_url=model.url) for request in requests]
    path = WRITTEN / f"{script.stem}.jsonl"
    path.write_text("".join(json.dumps(request, ensure_ascii=False) + "\n" for request in cleaned))
    print(path.name, len(requests), "requests,", path.stat().st_size, "bytes")


def main() -> None:
    found = sorted(path for path in SCRIPTS.iterdir() if path.suffix in {".py", ".mjs"})
    for script in found:
        if script.stem not in PARTS and (not sys.argv[1:] or script.stem in sys.argv[1:]):
            record(script)


# Imported by the others.
PARTS = {"weather", "langgraph_agent"}

if __name__ == "__main__":
    main()
