"""The one place that imports litellm: late, because it costs seconds and 160 MB, and made quiet.

Nothing of a prompt, an answer or a key may reach a log, a callback or a network address that nobody configured.
"""

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

# These loggers print requests: prompts, addresses, sometimes headers.
TALKATIVE = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "litellm", "openai", "httpx", "httpcore", "aiohttp")

# What litellm and OpenAI's client import at a first call: a second of CPU, which on a busy machine may use up the
# call's deadline. The version is pinned.
OF_A_FIRST_CALL = (
    "openai.resources",
    "openai.lib.streaming",
    "litellm.proxy._types",
    "litellm._service_logger",
    "litellm.llms.openai.openai",
    "litellm.llms.openai.chat.gpt_transformation",
    "litellm.litellm_core_utils.default_encoding",
    "anyio._backends._asyncio",
)

_lock = threading.Lock()
_litellm: Any = None


def litellm() -> Any:
    """The litellm module, imported and made quiet at the first call."""
    global _litellm  # noqa: PLW0603 - a module is loaded once per process
    if _litellm is None:
        with _lock:
            if _litellm is None:
                _litellm = _import()
    return _litellm


def preload() -> None:
    """Import litellm and all that a first call would import. Starts no thread and opens no connection."""
    litellm()
    for name in OF_A_FIRST_CALL:
        import_module(name)


def log_nothing_of_this_task() -> None:
    """Spares the calls of the running asyncio task litellm's success and failure handlers, a third of a call's time.

    There are no callbacks that these could call. litellm does the same for calls that it makes for itself.
    """
    litellm()
    from litellm._internal_context import is_internal_call  # the version is pinned, and a test holds it to this

    is_internal_call.set(True)


# The words by which the provider said how its answer ended, in the order in which litellm translated them.
#
# litellm makes "stop" of every word that it does not know, of errors too, and not every provider's code keeps the word.
_finish_words: ContextVar[list[str] | None] = ContextVar("finish_words", default=None)


class HeardFinishReasons(dict[str, str]):
    """litellm's translations. A word that is looked up is noted for the call under way."""

    def get(self, word: Any, default: Any = None) -> Any:
        heard = _finish_words.get()
        if heard is not None:
            heard.append(str(word or ""))
        return super().get(word, default)


def text_of(content: Any) -> str:
    """Return the text of a message's content, which some servers send as a list of parts. Other parts have none."""
    parts = content if isinstance(content, list) else [content]
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


@contextmanager
def hearing_finish_words() -> Iterator[list[str]]:
    """Collect the provider's finish words of the calls that are made inside of it."""
    heard: list[str] = []
    token = _finish_words.set(heard)
    try:
        yield heard
    finally:
        _finish_words.reset(token)


async def _given(body: dict[str, Any], _type: object) -> dict[str, Any]:
    from openai._utils import is_given

    return {name: value for name, value in body.items() if is_given(value)}


MOST_UNPRICED = 1_000


def _priced_once(calculate: Callable[..., float | None]) -> Callable[..., float | None]:
    """Return litellm's cost of an answer, which does not search its price list twice for a model that is not in it.

    The search takes a fifth of a call's time.
    """
    unpriced: set[tuple[str, str, str]] = set()

    def response_cost(logging_obj: Any, result: Any, *arguments: Any, **named: Any) -> float | None:
        provider = str(logging_obj.model_call_details.get("custom_llm_provider") or "")
        asked, answered = str(named.get("litellm_model_name") or logging_obj.model), str(getattr(result, "model", ""))
        names = (provider, asked, answered)
        if names in unpriced:
            return None
        cost = calculate(logging_obj, result, *arguments, **named)
        # A cost may be missing for another reason, such as an answer without its tokens.
        if cost is None and not any(_has_price(name, provider) for name in (asked, answered)):
            if len(unpriced) >= MOST_UNPRICED:
                unpriced.clear()
            unpriced.add(names)
        return cost

    return response_cost


def _has_price(model: str, provider: str) -> bool:
    try:
        litellm().get_model_info(model, custom_llm_provider=provider or None)
    except Exception:  # noqa: BLE001 - litellm raises its own, or a plain one
        return False
    return True


def _import() -> Any:
    # Read at import: no download of the price list, and no `.env` of whatever folder the worker was started in.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    with warnings.catch_warnings():
        # Deprecations inside litellm and its clients are theirs to mend; the version is pinned.
        warnings.simplefilter("ignore", DeprecationWarning)
        # Pydantic says of litellm's own types that it does not enforce `ReadOnly`. It does so when the type of an
        # answer is first built, which litellm puts off; built here, it cannot turn up in the middle of a call.
        warnings.filterwarnings("ignore", message=".*`ReadOnly` qualifier.*", category=UserWarning)
        import litellm as module

        module.ModelResponse()
        module.ModelResponseStream()
    # litellm prepares a call on a thread and awaits the coroutine that comes back. A deadline may end the call before;
    # the coroutine holds nothing yet.
    warnings.filterwarnings("ignore", message=r"coroutine '\w+\.a(completion|sync_)\w*' was never awaited")
    # Any name that litellm does not have makes it register its own closing of connections at exit. That runs on a
    # loop of its own, which is unsafe; registered now it comes after ours and finds nothing left to close.
    hasattr(module, "no_such_name")
    module.telemetry = False
    module.suppress_debug_info = True
    module.turn_off_message_logging = True
    module.redact_messages_in_exceptions = True
    module.num_retries = 0
    # A stream whose pieces repeat is an answer like any other, as long as the limit on tokens lets it be; the small
    # local model often repeats itself.
    vars(module)["REPEATED_STREAMING_CHUNK_LIMIT"] = sys.maxsize
    for name in ("callbacks", "input_callback", "success_callback", "failure_callback", "service_callback"):
        setattr(module, name, [])
    from litellm.litellm_core_utils import core_helpers, litellm_logging
    from litellm.litellm_core_utils.llm_response_utils import convert_dict_to_response as converting
    from openai.resources.chat.completions import completions

    # The version is pinned, and tests hold it to these names.
    Logging: Any = litellm_logging.Logging  # noqa: N806 - a class
    Logging.response_cost_calculator = _priced_once(Logging.response_cost_calculator)
    # It looks for why an answer cost nothing, to log it where nothing is logged.
    Logging._record_zero_cost_diagnostic = lambda *_, **__: None  # noqa: SLF001
    # It walks through each message by its declared type, for files and renamed fields that no message of ours has.
    vars(completions)["async_maybe_transform"] = _given
    vars(core_helpers)["_FINISH_REASON_MAP"] = HeardFinishReasons(vars(core_helpers)["_FINISH_REASON_MAP"])
    read_content: Callable[[dict[str, Any]], Any] = vars(converting)["extract_reasoning_content"]
    # It refuses an answer whose content is a list.
    vars(converting)["extract_reasoning_content"] = lambda message: read_content(
        {**message, "content": text_of(message["content"])} if isinstance(message.get("content"), list) else message
    )
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return module
