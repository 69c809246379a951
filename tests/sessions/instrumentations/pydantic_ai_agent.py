"""Pydantic AI's own spans, by the GenAI conventions."""

import weather as job
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = job.exporting_provider()
model = OpenAIChatModel(job.MODEL, provider=OpenAIProvider(base_url=job.MODEL_URL, api_key="none"))
Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
agent = Agent(model, name="Weather agent", system_prompt=job.SYSTEM)


@agent.tool_plain
def weather(city: str) -> str:
    """The weather of a city."""
    try:
        return job.weather(city)
    except LookupError as error:
        raise ModelRetry(str(error)) from error


agent.run_sync(job.QUESTION, conversation_id="session-1")
provider.shutdown()
