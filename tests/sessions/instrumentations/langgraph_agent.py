"""The agent as LangChain makes one, on LangGraph; the scripts beside this one trace it each in its way."""

from typing import Any

import weather as job
from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    try:
        return job.weather(city)
    except LookupError as error:
        raise ToolException(str(error)) from error


weather.handle_tool_error = True


def run() -> Any:
    """What the agent answers, asked in the thread session-1."""
    model = ChatOpenAI(model=job.MODEL, base_url=job.MODEL_URL, api_key="none", stream_usage=True)
    agent = create_agent(model, tools=[weather], system_prompt=job.SYSTEM, name="weather_agent")
    question = {"messages": [{"role": "user", "content": job.QUESTION}]}
    return agent.invoke(question, config={"metadata": {"thread_id": "session-1"}})
