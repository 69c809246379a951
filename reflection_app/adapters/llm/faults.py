"""What went wrong in one try, read from litellm's exceptions: whether a retry can help, and what to tell people."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from reflection_app.adapters.llm.redact import redact
from reflection_app.adapters.llm.retry import retry_after_s

# How litellm says, as an error 500, that it could not make sense of an answer with status 200.
UNREADABLE = "received_args="
TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
# OpenAI answers 429 also to an empty account, where no wait helps.
EMPTY_ACCOUNT = ("insufficient_quota", "exceeded your current quota", "billing_hard_limit")
NO_KEY = re.compile(r"api_key client option must be set|missing (\w+ )?(api[ _]key|credentials)", re.IGNORECASE)
# What litellm appends to its own failures: a stack, and a link to report it.
APPENDED = re.compile(r"\n\s*(?:Traceback |This looks like a bug in LiteLLM)")
KEY_VARIABLES = {
    "local": "LOCAL_MODEL_KEY",
    "bedrock": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "vertex_ai": "GOOGLE_APPLICATION_CREDENTIALS",
    "together_ai": "TOGETHERAI_API_KEY",
    "perplexity": "PERPLEXITYAI_API_KEY",
}


@dataclass(frozen=True)
class Fault:
    """One failed try. `status` is the HTTP status, 0 where no answer came."""

    status: int
    transient: bool
    message: str
    retry_after_s: float | None = None


def unreadable(model: str) -> Fault:
    """An answer was given, and no text can be read out of it: asking again would be paid for again."""
    return Fault(200, transient=False, message=f"{model} answered in a form that cannot be read.")


def read_fault(error: Exception, *, model: str) -> Fault:
    """The fault that litellm's `error` tells of, with a redacted message that names the model and the remedy."""
    status = _status(error)
    said = redact(_said(error))
    lowered = said.lower()
    if UNREADABLE in said:
        return unreadable(model)
    if status in {401, 403} or NO_KEY.search(said):
        status = status if status in {401, 403} else 401
        return Fault(status, transient=False, message=f"{model} refused the key ({status}): {said} {_key_hint(model)}")
    if "LLM Provider NOT provided" in said:
        hint = "Write it as provider/name, such as openai/gpt-4o-mini or openai/<name> for an OpenAI-style server."
        return Fault(400, transient=False, message=f"{model!r} names no provider that litellm knows. {hint}")
    if status == 404:
        return Fault(status, transient=False, message=f"{model} was not found (404): {said} Check the model's name.")
    transient = status == 0 or status in TRANSIENT_STATUSES or status >= 500
    if any(sign in lowered for sign in EMPTY_ACCOUNT):
        transient = False
    return Fault(
        status,
        transient=transient,
        message=f"{model} answered {status or 'nothing'}: {said}",
        retry_after_s=retry_after_s(_headers(error), now=datetime.now(UTC)) if transient else None,
    )


def _status(error: Exception) -> int:
    raw = getattr(error, "status_code", 0)
    try:
        return int(raw or 0)
    except (TypeError, ValueError):
        return 0


def _headers(error: Exception) -> Mapping[str, str]:
    # litellm keeps the provider's headers here; the `response` that its exceptions carry is made up.
    for headers in (getattr(error, "litellm_response_headers", None), getattr(error, "headers", None)):
        if isinstance(headers, Mapping) and headers:
            return headers
    return dict(getattr(getattr(error, "response", None), "headers", None) or {})


def _said(error: Exception) -> str:
    """The provider's words without the class names that litellm puts before them."""
    words = APPENDED.split(str(getattr(error, "message", "") or error))[0]
    for sign in ("Exception - ", "Error: "):
        words = words.rpartition(sign)[2] if sign in words else words
    words = words.strip() or type(error).__name__
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _key_hint(model: str) -> str:
    provider = model.split("/", 1)[0].lower() if "/" in model else "openai"
    return f"Check {KEY_VARIABLES.get(provider, f'{provider.upper()}_API_KEY')} in the worker's environment."
