"""LangGraph through LangSmith's own exporter of OpenTelemetry."""

import langgraph_agent
import weather as job
from langsmith import Client

provider = job.exporting_provider()
langgraph_agent.run()
Client().flush()
from langchain_core.tracers.langchain import wait_for_all_tracers  # noqa: E402

wait_for_all_tracers()
provider.shutdown()
