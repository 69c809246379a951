"""How to ask a provider for an answer of a given form: by JSON Schema, as plain JSON, or not at all."""

import re
from typing import Any

from reflection_app.adapters.llm.litellm_import import litellm

JSON_OBJECT: dict[str, Any] = {"type": "json_object"}


def response_format(schema: dict[str, Any], *, model: str, provider: str) -> dict[str, Any] | None:
    """The strongest `response_format` that `model` of `provider` is known to take; None where it takes none.

    An OpenAI-style server whose model litellm does not know gets the schema: most such servers enforce it, and one
    that does not is found out by its 400.
    """
    module = litellm()
    if "response_format" not in (module.get_supported_openai_params(model=model, custom_llm_provider=provider) or ()):
        return None
    unknown_server = (
        provider == "openai" and f"{provider}/{model}" not in module.model_cost and model not in module.model_cost
    )
    if unknown_server or module.supports_response_schema(model=model, custom_llm_provider=provider):
        return _by_schema(schema)
    return JSON_OBJECT


def _by_schema(schema: dict[str, Any]) -> dict[str, Any]:
    # Strict mode refuses optional fields and open objects, which the schemas of the loops have.
    name = re.sub(r"\W+", "_", str(schema.get("title", "")), flags=re.ASCII).strip("_")[:64] or "answer"
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": False}}
