"""OpenInference: the instrumentation of OpenAI's client, with the agent's and the tool's spans by its decorators."""

import weather as job
from openinference.instrumentation import OITracer, TraceConfig, using_session
from openinference.instrumentation import TracerProvider as _  # noqa: F401 - the tracer below is OpenInference's
from openinference.instrumentation.openai import OpenAIInstrumentor

provider = job.exporting_provider()
OpenAIInstrumentor().instrument(tracer_provider=provider)
tracer = OITracer(provider.get_tracer("weather"), TraceConfig())


@tracer.agent(name="Weather agent")
def run(question: str) -> str:
    return job.converse(tracer.tool(name="weather")(job.weather))


with using_session("session-1"):
    run(job.QUESTION)
provider.shutdown()
