"""How a model call can fail. Every message is redacted before it gets here and can be shown to people."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class ModelError(Exception):
    """The model call failed, after `tries` requests."""

    def __init__(self, message: str, *, tries: int = 1) -> None:
        super().__init__(message)
        self.tries = tries


class ModelUnavailable(ModelError):
    """The model could not be reached or was overloaded, also after retries; the same call may work later."""

    def __init__(self, message: str, *, tries: int = 1, retry_after_s: float | None = None) -> None:
        super().__init__(message, tries=tries)
        self.retry_after_s = retry_after_s


class ModelTimedOut(ModelError):
    """The call's deadline came before an answer."""


class ModelRefused(ModelError):
    """The provider turned the call down for good: the key, the name, the length or the content; a retry cannot help."""


class TextRefused(ModelRefused):
    """The provider does not take this text: it is too long, or of a kind that it does not read."""


class NoModelConfigured(ModelError):
    """No model is configured for this role."""


class ScriptExhausted(ModelError):
    """The scripted model has no answer for this step."""


class ScriptInvalid(ModelError):
    """The scripted model's script is missing, misnamed or malformed."""


# Text from providers and exceptions made safe to store and show: no keys, no credentials, no endless pages.

LONGEST_MESSAGE = 600
# A provider may repeat the whole prompt. Of its message no more is searched.
LONGEST_SEARCHED = 20_000
HIDDEN = "[redacted]"

# Shorter values would also match ordinary words in a message.
SHORTEST_SECRET = 8
LONGEST_SECRET = 2_000
SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_ID)?$", re.IGNORECASE)

PATTERNS = (
    # The header's whole value, whatever its scheme.
    (
        re.compile(r"(?i)(authorization|x-api-key|api-key)([\"']?\s*[:=]\s*[\"']?)(bearer\s+|basic\s+)?[^\s\"',}]+"),
        r"\1\2" + HIDDEN,
    ),
    (re.compile(r"(?i)\b(bearer|basic)\s+[a-z0-9._~+/=*-]{6,}"), r"\1 " + HIDDEN),
    # OpenAI answers a wrong key with its first and last letters and stars between them.
    (re.compile(r"\b(sk|pk|rk)-[\w*.…-]{4,}"), HIDDEN),
    (re.compile(r"\b(gsk_|xai-|hf_|AIza|AKIA|ghp_|r8_)[\w*-]{8,}"), HIDDEN),
    (re.compile(r"(?i)([?&](?:api[_-]?key|key|token|access_token|signature)=)[^&\s\"']+"), r"\1" + HIDDEN),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30}://)[^\s/@\"']+@"), r"\1" + HIDDEN + "@"),
)


def redact(text: str) -> str:
    """`text` without secrets: those in this process's environment, and all that look like one; cut if long."""
    # The values of secret-looking variables, longest first so that one inside another leaves no rest.
    values = {value.strip() for name, value in os.environ.items() if SECRET_NAME.search(name)}
    environment_secrets = sorted((value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True)
    # Cut before it is searched. A secret at the cut is no longer whole and may stay unseen, so what is within the
    # length of one from there is left out.
    longest = max([LONGEST_SECRET, *map(len, environment_secrets)])
    is_cut = len(text) > LONGEST_MESSAGE + 2 * longest
    text = text[: LONGEST_MESSAGE + 2 * longest]
    for secret in environment_secrets:
        text = text.replace(secret, HIDDEN)
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    text = text[: max(0, len(text) - longest)] if is_cut else text
    return text[:LONGEST_MESSAGE] + "…" if is_cut or len(text) > LONGEST_MESSAGE else text


# When to try again, decided without doing it: what the server asked for, else exponential backoff with jitter.

MOST_TRIES = 8
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0
NUMBER = re.compile(r"\d+(\.\d+)?")


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """The seconds that the server asks to wait: `retry-after-ms`, else `Retry-After` in seconds or as a date.

    None where it asks for nothing that can be read; a date in the past is no wait.
    """
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = lowered.get("retry-after-ms", "")
    if NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    asked = lowered.get("retry-after", "")
    if NUMBER.fullmatch(asked):
        return float(asked)
    try:
        when = parsedate_to_datetime(asked)
    except (ValueError, OverflowError, TypeError):
        return None
    # "-0000" in a date means UTC of unknown origin and comes back without a zone.
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())


def backoff_s(tries: int, *, chance: float) -> float:
    """The wait after the `tries`-th failed try: doubling up to 8 s, of which `chance` (0 to 1) decides the upper half.

    The jitter keeps workers that failed together from coming back together.
    """
    full = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (tries - 1))
    return full * (0.5 + chance / 2)


# What went wrong in one try, read from litellm's exceptions: whether a retry can help, and what to tell people.

# How litellm says, as an error 500, that it could not make sense of an answer with status 200.
UNREADABLE = "received_args="
TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
# OpenAI answers 429 also to an empty account, where no wait helps.
EMPTY_ACCOUNT = ("insufficient_quota", "exceeded your current quota", "billing_hard_limit")
NO_KEY = re.compile(r"api_key client option must be set|missing (\w+ )?(api[ _]key|credentials)", re.IGNORECASE)
# What litellm appends to its own failures: a stack, and a link to report it.
APPENDED = re.compile(r"\n[ \t]*+(?:Traceback |This looks like a bug in LiteLLM)")
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
    try:
        status = int(getattr(error, "status_code", 0) or 0)
    except (TypeError, ValueError):
        status = 0
    # The provider's words without the class names that litellm puts before them.
    words = APPENDED.split(str(getattr(error, "message", "") or error)[:LONGEST_SEARCHED])[0]
    for sign in ("Exception - ", "Error: "):
        words = words.rpartition(sign)[2] if sign in words else words
    words = words.strip() or type(error).__name__
    said = redact(words if words.endswith((".", "!", "?")) else f"{words}.")
    if UNREADABLE in said:
        return unreadable(model)
    if status in {401, 403} or NO_KEY.search(said):
        status = status if status in {401, 403} else 401
        provider = model.split("/", 1)[0].lower() if "/" in model else "openai"
        variable = KEY_VARIABLES.get(provider, f"{provider.upper()}_API_KEY")
        hint = f"Check {variable} in the worker's environment."
        return Fault(status, transient=False, message=f"{model} refused the key ({status}): {said} {hint}")
    if "LLM Provider NOT provided" in said:
        hint = "Write it as provider/name, such as openai/gpt-4o-mini or openai/<name> for an OpenAI-style server."
        return Fault(400, transient=False, message=f"{model!r} names no provider that litellm knows. {hint}")
    if status == 404:
        return Fault(status, transient=False, message=f"{model} was not found (404): {said} Check the model's name.")
    transient = status == 0 or status in TRANSIENT_STATUSES or status >= 500
    if any(sign in said.lower() for sign in EMPTY_ACCOUNT):
        transient = False
    # litellm keeps the provider's headers here; the `response` that its exceptions carry is made up.
    kept = (getattr(error, "litellm_response_headers", None), getattr(error, "headers", None))
    headers: Mapping[str, str] | None = next((one for one in kept if isinstance(one, Mapping) and one), None)
    if headers is None:
        headers = dict(getattr(getattr(error, "response", None), "headers", None) or {})
    return Fault(
        status,
        transient=transient,
        message=f"{model} answered {status or 'nothing'}: {said}",
        retry_after_s=retry_after_s(headers, now=datetime.now(UTC)) if transient else None,
    )
