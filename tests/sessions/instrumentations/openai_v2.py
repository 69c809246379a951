"""OpenTelemetry's own instrumentation of OpenAI's client, by the GenAI conventions; content in the spans."""

import weather as job
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

provider = job.exporting_provider()
OpenAIInstrumentor().instrument(tracer_provider=provider)
tracer = provider.get_tracer("weather")


def call_tool(city: str) -> str:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}
    with tracer.start_as_current_span("execute_tool weather", attributes=attributes):
        return job.weather(city)


with tracer.start_as_current_span(
    "invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Weather agent"}
):
    job.converse(call_tool)
provider.shutdown()
