"""OpenLLMetry as it was: messages in numbered attributes (gen_ai.prompt.0.content)."""

import weather as job
from opentelemetry.instrumentation.openai import OpenAIInstrumentor

provider = job.exporting_provider()
OpenAIInstrumentor().instrument(tracer_provider=provider)
job.converse(job.weather)
provider.shutdown()
