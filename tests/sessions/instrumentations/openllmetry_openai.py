"""OpenLLMetry: Traceloop's decorators over its instrumentation of OpenAI's client."""

import os

import weather as job
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool, workflow

os.environ["TRACELOOP_TELEMETRY"] = "false"
Traceloop.init(app_name="weather-service", exporter=OTLPSpanExporter(), disable_batch=True)


@workflow(name="weather_flow")
def flow(question: str) -> str:
    Traceloop.set_association_properties({"session_id": "session-1"})
    return run(question)


@agent(name="Weather agent")
def run(question: str) -> str:
    return job.converse(tool(name="weather")(job.weather))


flow(job.QUESTION)
