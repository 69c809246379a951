"""LangGraph through OpenLLMetry's instrumentation of LangChain."""

import weather as job
from opentelemetry.instrumentation.langchain import LangchainInstrumentor

provider = job.exporting_provider()
LangchainInstrumentor().instrument(tracer_provider=provider)
import langgraph_agent  # noqa: E402

langgraph_agent.run()
provider.shutdown()
