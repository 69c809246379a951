"""The agent that every library is traced with: asked for the weather of two cities, it calls a tool twice at once.

Imported by the scripts beside it, in an environment of their own that has nothing of the desk.
"""

import json
import os
from collections.abc import Callable
from typing import Any

MODEL_URL = os.environ["MODEL_URL"]
MODEL = "gpt-test"
SYSTEM = "You tell the weather."
QUESTION = "How is the weather in 北京 and in Atlantis?"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def weather(city: str) -> str:
    """The weather of a city."""
    if city != "北京":
        raise LookupError(f"no station in {city}")
    return "晴, 21 °C"


def exporting_provider() -> Any:
    """A tracer provider that exports each span, as it ends, to where the environment says."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": "weather-service"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider


def converse(call_tool: Callable[[str], str]) -> str:
    """A loop over OpenAI's client as people write it: the first call whole, the second as a stream."""
    from openai import OpenAI

    client = OpenAI(base_url=MODEL_URL, api_key="none")
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    asked = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
    messages.append(asked.model_dump(exclude_none=True))
    for call in asked.tool_calls or ():
        try:
            answer = call_tool(**json.loads(call.function.arguments))
        except LookupError as error:
            answer = f"Error: {error}"
        messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})
    stream = client.chat.completions.create(
        model=MODEL, messages=messages, tools=[TOOL], stream=True, stream_options={"include_usage": True}
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
