"""LangGraph through OpenInference's instrumentation of LangChain."""

import langgraph_agent
import weather as job
from openinference.instrumentation import using_session
from openinference.instrumentation.langchain import LangChainInstrumentor

provider = job.exporting_provider()
LangChainInstrumentor().instrument(tracer_provider=provider)
with using_session("session-1"):
    langgraph_agent.run()
provider.shutdown()
