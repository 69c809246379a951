"""OpenAI's Agents SDK through OpenInference: one agent is the tool of another."""

import asyncio

import weather as job
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_export_api_key
from openai import AsyncOpenAI
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

set_tracing_export_api_key("none")
provider = job.exporting_provider()
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
model = OpenAIChatCompletionsModel(job.MODEL, AsyncOpenAI(base_url=job.MODEL_URL, api_key="none"))
forecaster = Agent("Forecaster", instructions=job.SYSTEM, tools=[function_tool(job.weather)], model=model)
asking = forecaster.as_tool("ask_forecaster", "Asks who knows the weather.")
guide = Agent("Guide", instructions="You help travellers.", tools=[asking], model=model)
asyncio.run(Runner.run(guide, job.QUESTION))
provider.shutdown()
