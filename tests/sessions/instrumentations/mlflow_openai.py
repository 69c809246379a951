"""MLflow's tracing: automatic for OpenAI's client, by decorators for the agent and its tool; exported by OTLP."""

import mlflow
import weather as job
from mlflow.entities import SpanType

mlflow.openai.autolog()


@mlflow.trace(name="Weather agent", span_type=SpanType.AGENT)
def run(question: str) -> str:
    mlflow.update_current_trace(metadata={"mlflow.trace.session": "session-1"})
    return job.converse(mlflow.trace(name="weather", span_type=SpanType.TOOL)(job.weather))


run(job.QUESTION)
mlflow.flush_trace_async_logging()
